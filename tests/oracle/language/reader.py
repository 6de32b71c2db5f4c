"""Reads a whole page, as Streamlit's AppTest ran it, into a flat list of statements: all that is seen or read aloud.

What this file does not know becomes a statement of its raw content, which nobody claims. Markdown is read as it will
look: escapes are gone. Looks (widths, margins, which font) are left out; what means something (bars, colours of series,
scales, texts that appear on hovering) is not.
"""

import html
import io
import json
import re
import zlib
from base64 import b64decode
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np
from PIL import Image
from streamlit.testing.v1 import AppTest

from tests.oracle.language import looks
from tests.oracle.language.statement import Statement

_TEXTS = ("markdown", "caption", "header", "subheader", "title", "info", "warning", "success", "error", "code", "latex")
_QUIET = ("divider", "spinner", "empty")  # say nothing


def read(app: AppTest) -> list[Statement]:
    """All statements of the page, in order: first the sidebar's, then those of the page itself."""
    return [s for block in (app.sidebar, app.main) for s in _block(block, "frame")]


def read_block(block: Any, part: str) -> list[Statement]:
    """The statements of one container."""
    return list(_block(block, part))


def blocks(node: Any) -> Iterator[Any]:
    """A container or element and everything in it, in order."""
    yield node
    for child in getattr(node, "children", {}).values():
        yield from blocks(child)


def _block(node: Any, part: str) -> Iterator[Statement]:
    for child in node.children.values():
        key = getattr(child, "key", None) or ""
        inside = key.removeprefix("part_") if key.startswith("part_") else part
        if not hasattr(child, "children"):
            if part == "see" and child.type == "header" and child.value == "Check":
                part = "check"  # it stands beside See, in its container
            yield from _element(child, part)
            continue
        if child.type in ("expander", "popover", "status", "tab"):
            yield Statement("fold", _markdown(child.label if hasattr(child, "label") else child.proto.label), inside)
        for statement in _block(child, inside):
            if part == "see" and statement.part == "check":
                part = "check"  # what follows Check's heading, beside See
            yield statement


def _element(element: Any, part: str) -> Iterator[Statement]:
    kind, proto = element.type, element.proto
    if kind in _QUIET:
        return
    if kind == "html":
        for what, content in _html(proto.body):
            yield Statement(what, content, part)
    elif kind in ("markdown", "caption") and (rows := _markdown_table(element.value)):
        yield Statement("table", rows, part)
    elif kind == "latex":
        yield Statement(kind, element.value.strip("$\n"), part)
    elif kind in _TEXTS:
        yield Statement(kind, element.value if kind == "code" else _markdown(element.value), part)
    elif kind == "bidi_component":
        name = proto.component_name.rpartition(".")[2]
        if name not in ("keys", "cookie", "go", "painted"):  # they listen, keep or tell something, and show nothing
            yield Statement(name, _component(name, received(proto)), part)
    elif kind == "plotly_chart":
        yield Statement("plot", _plot(proto), part)
    elif kind == "dataframe":
        data = element.value
        yield Statement("dataframe", {"columns": list(data.columns), "values": data.to_numpy(dtype=float)}, part)
    elif kind == "page_link":
        yield Statement("link", {"label": _markdown(proto.label), "page": proto.page}, part)
    elif kind == "progress":
        says = _markdown(proto.text)
        yield Statement(kind, {"value": proto.value, "text": says} if says else proto.value, part)
    elif kind == "iframe":
        yield Statement(*_frame(proto), part)
    elif kind == "audio":  # what one hears is held by tests/pages/test_own_sound.py
        yield Statement(kind, {}, part)
    elif kind == "imgs":
        yield Statement("image", [_markdown(image.caption) for image in proto.imgs], part)
    elif proto is not None and hasattr(proto, "label"):
        yield Statement("control", _control(element), part)
    else:
        yield Statement(kind, str(proto), part)
    if kind in _TEXTS and getattr(proto, "help", ""):
        yield Statement("help", _markdown(proto.help), part)


# --- text ------------------------------------------------------------------------------------------------------------


def _markdown(text: str) -> str:
    """Markdown without its escapes; formulas and code stay as they are written. Signs that only visitors write, and
    that are not escaped, are told as RAW.
    """
    parts = re.split(r"((?<!\\)\$\$?[^$]*(?<!\\)\$\$?|`[^`]*`)", text.replace("\u2060", ""))
    return "".join(part if n % 2 else _SIGN.sub(_unescaped, part) for n, part in enumerate(parts))


RAW = "‹not escaped›"
_SIGN = re.compile(r"\\([!-/:-@\[-`{-~])|([\"@{}~])")


def _unescaped(sign: re.Match[str]) -> str:
    return sign[1] or RAW + sign[2]


def _markdown_table(text: str) -> list[list[str]]:
    """The rows of a Markdown table; nothing if the text is something else."""
    lines = text.splitlines()
    if len(lines) < 3 or not re.fullmatch(r"\|(:?-+:?\|)+", lines[1]):
        return []
    return [
        [_markdown(cell.strip()) for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        for n, line in enumerate(lines)
        if n != 1
    ]


# --- controls --------------------------------------------------------------------------------------------------------


def _control(element: Any) -> dict[str, Any]:
    """What a control is called, what it offers, what it is set to. Only what there is of these."""
    proto = element.proto
    found: dict[str, Any] = {"type": element.type, "label": _markdown(proto.label)}
    if getattr(proto, "help", ""):
        found["help"] = _markdown(proto.help)
    if getattr(proto, "placeholder", ""):
        found["placeholder"] = proto.placeholder
    if getattr(proto, "disabled", False):
        found["disabled"] = True
    if getattr(proto, "options", None):
        options = [getattr(one, "content", one) for one in proto.options]
        plain = element.type in ("selectbox", "multiselect", "select_slider")  # these show options as they are
        found["options"] = options if plain else [_markdown(one) for one in options]
    elif element.type in ("slider", "number_input"):
        ends = {"low": ("min", "has_min"), "high": ("max", "has_max")}
        found |= {end: getattr(proto, name) for end, (name, has) in ends.items() if getattr(proto, has, True)}
    if element.type not in ("button", "download_button", "link_button"):
        value = element.value
        if "options" in found:
            value = [str(one) for one in value] if isinstance(value, list) else value if value is None else str(value)
            if isinstance(getattr(element, "index", None), int):
                value = found["options"][element.index]
        found["value"] = value
    return found


# --- HTML ------------------------------------------------------------------------------------------------------------


def _html(body: str) -> Iterator[tuple[str, Any]]:
    if body.lstrip().startswith("<style>") and body.rstrip().endswith("</style>"):
        return
    for begins, read_one in _FORMS.items():
        if re.match(begins, body):
            yield read_one(body)
            return
    yield "html", body


def _text(fragment: str) -> str:
    """HTML as text: a line break is a line end, tags are gone."""
    plain = re.sub(r"<[^>]*>", "", fragment.replace("<br>", "\n"))
    return html.unescape(plain).replace("\u00a0", " ").strip("\n")


def _label(body: str) -> str:
    found = re.match(r'<\w+[^>]* aria-label="(.*?)"', body, re.DOTALL)
    return html.unescape(found[1]) if found else ""


def _course_line(body: str) -> tuple[str, Any]:
    """The words, and for each lesson whether it is done and whether one is there."""
    bars = [sorted(marks.split()) for marks in re.findall(r'<i class="([^"]*)"></i>', body)]
    return "course", {"words": _text(body), "bars": bars}


def _with_addresses(body: str) -> str:
    """HTML in which a link is written as in Markdown, with where it leads."""
    return re.sub(r'<a href="([^"]*)" target="_blank" rel="noopener">(.*?)</a>', r"[\2](\1)", body)


def _table(body: str) -> tuple[str, Any]:
    rows = re.findall(r"<tr>(.*?)</tr>", _with_addresses(body), re.DOTALL)
    return "table", [[_text(cell) for cell in re.findall(r"<t[hd]>(.*?)</t[hd]>", row, re.DOTALL)] for row in rows]


def _word_table(body: str) -> tuple[str, Any]:
    """A grid of words: texts, and how dark each cell is."""
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    title = re.search(r"<caption>(.*?)</caption>", body, re.DOTALL)
    return "word_grid", {
        "title": _text(title[1]) if title else "",
        "rows": [[_text(cell) for cell in row] for row in cells],
        "shades": np.array([_property(row, "p") for row in rows[1:]]),
    }


def _property(fragment: str, name: str) -> list[float]:
    return [float(value) for value in re.findall(rf"--{name}:(-?[\d.]+)", fragment)]


def _bars(body: str) -> tuple[str, Any]:
    """A list of bars, of words with their probabilities, or of strips of ticks: names, numbers, and what is drawn."""
    items = re.findall(r"<li>(.*?)</li>", body, re.DOTALL)
    found: dict[str, Any] = {
        "label": _label(body),
        "rows": [[_text(t) for t in re.findall(r"<span[^>]*>([^<].*?)</span>", item, re.DOTALL)] for item in items],
    }
    if shares := _property(body, "p"):
        found["bars"] = shares
    if strips := re.findall(r"mask-image:url\('data:image/png;base64,(.*?)'\)", body):
        found["strips"] = np.array([_alpha(b64decode(strip)) for strip in strips])
    return "bars", found


def _alpha(png: bytes) -> np.ndarray:
    """How opaque each pixel of a line is, 0 to 255."""
    return np.asarray(Image.open(io.BytesIO(png)).getchannel("A"), dtype=float)[0]


def _columns(body: str) -> tuple[str, Any]:
    """A column chart: the columns of each series as drawn, ends as shares of the height, and every text."""
    items = re.findall(r"<li[^>]*>(.*?)</li>", body, re.DOTALL)
    marks = [re.findall(r'<i class="(bar|line) s(\d)" style="(.*?)"></i>', item) for item in items]
    series = re.findall(r'<span class="s(\d)">(.*?)</span>', body.partition("</figcaption>")[0])
    drawn = {}
    for n, name in series:
        mine = [style for item in marks for _, m, style in item if m == n]
        drawn[_text(name)] = np.array([[float(v) for v in re.findall(r"--(?:from|to|at):([\d.]+)", s)] for s in mine])
        # Each stands in the place that its series has beside the others.
        assert all(f"--n:{n};" in style for style in mine)
    caption = re.search(r"<figcaption>(.*?) <span|<figcaption>(.*?)</figcaption>", body, re.DOTALL)
    return "columns", {
        "label": _label(body),
        "axis": _text(next(filter(None, caption.groups()), "")) if caption else "",
        "series": drawn,
        "names": [_text(name) for item in items for name in re.findall(r"<span>(.*?)</span>", item, re.DOTALL)],
        "says": [_text(says) for item in items for says in re.findall(r"<b>(.*?)</b>", item, re.DOTALL)],
        "ticks": [[float(at), _text(text)] for at, text in re.findall(r'<u style="--at:([\d.]+)">(.*?)</u>', body)],
        "along": _property(" ".join(re.findall(r"<li style=\"(.*?)\"", body)), "p"),
    }


def read_curves(body: str) -> tuple[str, Any]:
    """Lines over an axis: names and words with their places, and each path of the picture in shares of its sides."""
    (coded,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', body)
    svg = b64decode(coded).decode()
    side = float(re.findall(r'viewBox="0 0 (\d+) \1"', svg)[0])
    drawn = []
    for d, rest in re.findall(r'<path d="([^"]*)"(.*?)/>', svg):
        points = np.array(re.findall(r"(-?[\d.]+),(-?[\d.]+)", d), dtype=float).reshape(-1, 2) / side
        drawn.append(
            {"moves": re.sub(r"-?[\d.]+,-?[\d.]+", "", d), "points": np.stack([points[:, 0], 1 - points[:, 1]], 1)}
            | dict(re.findall(r' ([\w-]+)="([^"]*)"', rest))
        )
    legend, words = body.partition("</figcaption>")[0], r'="--at:([\d.-]+)">(.*?)</'
    return "curves", {
        "label": _label(body),
        "legend": [
            [_text(name), colour, manner]
            for manner, colour, name in re.findall(r'<span(?: class=(\w+))? style="--line:(.*?)">(.*?)</span>', legend)
        ],
        "axes": [_text(text) for text in re.findall(r"<p>(.*?)</p>", body, re.DOTALL)],
        "beside": [[float(at), _text(text)] for at, text in re.findall("<u style" + words, body)],
        "below": [[float(at), _text(text)] for at, text in re.findall("<s style" + words, body)],
        "drawn": drawn,
    }


def _growing_curve(body: str) -> tuple[str, Any]:
    """A curve of a training: the band that is drawn has its points in its middle, and the area below it ends there."""
    area, band = re.findall(r'clip-path:polygon\((.*?)\)"', body)
    on = [[float(n) for n in re.findall(r"(-?[\d.]+)%", point)] for point in band.split(",")]
    points = on[: len(on) // 2]
    assert points == on[: len(on) // 2 - 1 : -1]
    half = len(points)
    assert re.findall(r"% ([+-] [\d.]+px)", band) == ["- 1.5px"] * half + ["+ 1.5px"] * half  # 3 px thick
    below = [[float(n) for n in re.findall(r"[\d.]+", point)] for point in area.split(",")]
    assert below == [*points, [points[-1][0], 100.0], [0.0, 100.0]]
    return "growing_curve", {
        "label": _label(body),
        "axis": _text(re.findall("<figcaption>(.*?)</figcaption>", body, re.DOTALL)[0]),
        "beside": [[float(at), _text(text)] for at, text in re.findall(r'<u style="--at:([\d.-]+)">(.*?)</u>', body)],
        "points": [[across / 100, 1 - down / 100] for across, down in points],
    }


def _paragraph(body: str) -> tuple[str, Any]:
    found = re.fullmatch(r'<p class="tw-(\w+)"[^>]*>(.*?)</p>', body.strip(), re.DOTALL)
    if not found:
        return "html", body
    underlined = re.fullmatch("(.*)<u[^>]*>(.*)</u>(.*)", found[2], re.DOTALL)
    return found[1], list(map(html.unescape, underlined.groups())) if underlined else _text(found[2])


def _opens(body: str) -> tuple[str, Any]:
    """A line of text, and what stands below it when it is opened."""
    line, more = re.findall("<summary>(.*?)</summary><p>(.*?)</p></details>", body, re.DOTALL)[0]
    return "opens", {"line": _text(re.sub("<q[^>]*>(.*?)</q>", r"“\1”", line)), "more": _text(more)}


_BOX = re.compile(
    r"<em>(?P<sign>.*?)</em>"
    r'|<span class="(?P<colour>\w+)"><s style="--w:(?P<width>[\d.]+);--h:(?P<height>[\d.]+)"><b>(?P<text>.*?)'
    r"(?:<sup>(?P<raised>.*?)</sup>)?</b>(?P<parts>.*?)</s>(?:<small>(?P<under>.*?)</small>)?</span>",
    re.DOTALL,
)


def _flow(body: str) -> tuple[str, Any]:
    """Rows of boxes, and of signs between them."""

    def item(found: re.Match[str]) -> Any:
        if found["sign"] is not None:
            return _text(found["sign"])
        texts = {name: _text(found[name] or "") for name in ("text", "raised", "under")}
        parts = [_text(part) for part in re.findall(r"<i>(.*?)</i>", found["parts"], re.DOTALL)]
        size = [float(found["width"]), float(found["height"])]
        return {**texts, "colour": found["colour"], "parts": parts, "size": size}

    rows = re.findall(r"<div>(.*?)</div>", body, re.DOTALL)
    assert all(not _BOX.sub("", row) for row in rows)
    return "flow", {"label": _label(body), "rows": [[item(found) for found in _BOX.finditer(row)] for row in rows]}


def _triangle(body: str) -> tuple[str, Any]:
    """A table whose cells have a colour each, by what they are."""
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    title = re.search(r"<caption>(.*?)</caption>", body, re.DOTALL)
    cells = [re.findall(r"<(?:th scope=\"(\w+)\"|td class=\"(\w+)\")>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return "triangle", {
        "title": _text(title[1]) if title else "",
        "rows": [[[scope or colour, _text(text)] for scope, colour, text in row] for row in cells],
    }


def _picture(body: str) -> tuple[str, Any]:
    """What stands for it where it cannot be seen."""
    return "picture", html.unescape(re.findall(r' alt="(.*?)"', body)[0])


_FORMS: dict[str, Callable[[str], tuple[str, Any]]] = {
    r"<img ": _picture,
    r'<table class="tw-table"': _table,
    r'<table class="tw-words"': _word_table,
    r'<ol class="tw-(bars|pieces)"': _bars,
    r'<figure class="tw-columns': _columns,
    r'<figure class="tw-plot': read_curves,
    r'<figure class="tw-curve"': _growing_curve,
    r'<figure class="tw-flow"': _flow,
    r'<table class="tw-triangle"': _triangle,
    r'<p class="tw-course"': _course_line,
    r'<details class="tw-doubt"': _opens,
    r'<p class="tw-': _paragraph,
}


# --- components and charts -------------------------------------------------------------------------------------------


def received(proto: Any) -> dict[str, Any]:
    """What a component gets in the browser: JSON, or a line of it and behind that numbers as bytes."""
    line, _, numbers = proto.bytes.partition(b"\n")
    data: dict[str, Any] = json.loads(line or proto.json)
    return data | ({"numbers": numbers} if line else {})


def _component(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """What a component draws, arrays unpacked; `seen` numbers clicks and shows nothing."""
    found = {key: value for key, value in data.items() if key != "seen"}
    if name == "matrix":
        shape = len(data["rows"]), len(data["columns"])
        found["values"] = np.frombuffer(b64decode(data["values"]), "<f4").reshape(shape).astype(float)
        if data["hidden"] is not None:
            found["hidden"] = np.frombuffer(b64decode(data["hidden"]), np.uint8).reshape(shape).astype(bool)
    for block in data.get("blocks", ()):  # of the map of the machine
        if small := block.get("picture"):
            pixels = np.frombuffer(b64decode(small["pixels"]), np.uint8)
            small["pixels"] = pixels.reshape(small["height"], small["width"]).astype(float)
    if name == "stage":
        _unpack_stage(found)
    if name == "scene":
        found["frames"] = [frame | {"answer": _answer(frame["answer"])} for frame in found["frames"]]
    if name == "head_grid":
        flat = np.frombuffer(b64decode(data["maps"]), np.uint8)
        found["maps"] = flat.reshape(data["layers"], -1, data["height"], data["width"]) / 255
        del found["height"], found["width"]
    return found


def _answer(text: str) -> str:
    """What a scene says, without the joiners about the asterisks that it quotes. All others mark what is bold, in
    pairs, close to the words: one that does not is told as RAW.
    """
    marks = re.sub("\u2060\\*\u2060", "", text).split("**")
    is_well = len(marks) % 2 and all(one == one.strip() for one in marks[1::2]) and not any("*" in one for one in marks)
    return text.replace("\u2060", "") if is_well else RAW + text


def _unpack_stage(found: dict[str, Any]) -> None:
    """The numbers of the stage by name; change of sign, power and first digit, then two digits, where 100 more says
    that the number is a little less. A sign changes against that of the tensor before, if it is as large. Its id and
    times show nothing.
    """
    first, others = np.frombuffer(zlib.decompress(found["numbers"]), np.uint8).reshape(2, -1).astype(float)
    sizes = (100 * (first % 10) + others % 100) * 10 ** (first // 10 % 12 - 9)
    numbers = np.where(first < 240, np.where(first < 120, sizes, -sizes), np.where(first < 241, np.nan, np.inf))
    places = {name: (start, int(np.prod(shape))) for name, shape, start in found["tensors"]}
    end = before = 0
    for start, size in sorted(places.values(), key=lambda place: (place[0], -place[1])):
        if start >= end:  # no part of another
            if size == before:
                numbers[start : start + size] *= np.where(numbers[start - size : start] < 0, -1, 1)
            end, before = start + size, size
    by_name = {}
    for name, shape, start in found.pop("tensors"):
        by_name[name] = numbers[start : start + places[name][1]].reshape(shape)
    found["numbers"] = by_name
    del found["id"]
    for moment in found["moments"]:
        del moment["seconds"]


def _frame(proto: Any) -> tuple[str, Any]:
    """A page within the page: of BertViz what it is given to draw, and what its script writes beside it."""
    given = re.search(r"const params = (\{.*\});", proto.srcdoc)
    if not given:
        return "iframe", {"alt": proto.alt, "srcdoc": proto.srcdoc, "src": proto.src}
    found = json.loads(given[1])
    (maps,) = found["attention"]
    drawing = proto.srcdoc.rpartition(given[1])[2]
    constants = {name: json.loads(value) for name, value in re.findall(r"const (COLOURS|MARKED) = (.*?);", drawing)}
    return "bertviz", {
        "alt": proto.alt,
        "name": maps["name"],
        "weights": np.array(maps["attn"]),
        "rows": maps["left_text"],
        "columns": maps["right_text"],
        "layers": found["include_layers"],
        "opens_on": found.get("layer"),
        "heads": found.get("include_heads"),
        "marked": constants.get("MARKED"),
        "colours": constants.get("COLOURS"),
        "writes": sorted(set(re.findall(r"\.text\(([^\n;]*?)\)\s*[;.\n]", drawing))),
    }


# Of a chart: only how it looks, never what it says.
_LOOKS = {
    "template", "height", "margin", "paper_bgcolor", "plot_bgcolor", "dragmode", "fixedrange", "automargin", "legend",
    "showlegend", "textposition", "textfont", "cliponaxis", "uirevision", "hoverlabel", "font", "tickfont", "showgrid",
    "zeroline", "xanchor", "yanchor", "xshift", "yshift", "thickness", "ticklen", "layer", "gridcolor", "showline",
}  # fmt: skip


def _plot(proto: Any) -> dict[str, Any]:
    """What a chart says; how it looks is held by laws, and what breaks them is shown to nobody's liking: no claim."""
    given = json.loads(proto.spec)
    spec = _unpacked(given, _LOOKS)
    found: dict[str, Any] = {"alt": getattr(proto, "alt", ""), "traces": spec["data"], "layout": spec["layout"]}
    if wrong := looks.faults(_unpacked(given), proto.theme, proto.config):
        found["faults"] = wrong
    return found | ({"frames": spec["frames"]} if spec.get("frames") else {})


def _unpacked(value: Any, without: Collection[str] = ()) -> Any:
    """Without looks, if they are named; numbers as arrays, those of a path too."""
    if isinstance(value, dict):
        if "bdata" in value:
            flat = np.frombuffer(b64decode(value["bdata"]), f"<{value['dtype']}").astype(float)
            return flat.reshape([int(n) for n in str(value.get("shape", len(flat))).split(",")])
        return {name: _unpacked(inner, without) for name, inner in value.items() if name not in without}
    if isinstance(value, str) and re.fullmatch(r"(M[-\d.]+,[-\d.]+V[-\d.]+)+", value):
        return np.array(re.findall(r"[-\d.]+", value), dtype=float)
    if isinstance(value, list):
        if value and all(isinstance(v, int | float) and not isinstance(v, bool) for v in value):
            return np.array(value, dtype=float)
        return [_unpacked(inner, without) for inner in value]
    return value
