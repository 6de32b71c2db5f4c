"""BertViz's head view and model view, each as an HTML page that needs no network and never runs what a visitor typed.

BertViz loads d3 and jQuery from the internet through require.js, and writes tokens into a script as they are. Here both
libraries are part of the page, and the `<` of a token is written as an escape, so that no token can end the script. A
content security policy with a one-time number also lets only these scripts run and loads nothing. BertViz counts layers
and heads from 0; here they count from 1, as in the whole app.
"""

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from hub.attention import AttentionMaps

Mode = Literal["light", "dark"]

DIGITS = 4  # after the point of a weight; rounding makes a view a third as large
MAX_WEIGHTS = 60_000  # in one view; a weight takes eight bytes, the libraries 330 kB
_VENDOR = Path(__file__).parent / "vendor"
_LIBRARIES = "jquery-3.7.1.min.js", "d3-5.7.0.min.js"
_MARK = "\ue000"  # stands for < until the script is written: a private character, in no language

# Answers what BertViz asks of require.js, from the libraries on the page.
_REQUIRE = "var require={config(){}};function requirejs(names,run){run(window.jQuery,window.d3)}"

# For the heads of a layer. They keep away from the colours of query, key, value and output, and people who see no red
# or no green can tell them apart. From the 13th head on they repeat.
HEAD_COLOURS: dict[Mode, tuple[str, ...]] = {
    "light": (
        "#0000b4", "#ff4b00", "#b44bff", "#690f00", "#965a78", "#690078", "#5a5a00", "#ff00b4", "#690fe1", "#7887d2",
        "#a5875a", "#d2004b",
    ),
    "dark": (
        "#f00f0f", "#78ff00", "#3c69ff", "#ffc3ff", "#96b478", "#c33cb4", "#00b4ff", "#b4f0b4", "#a5695a", "#ff69e1",
        "#00d200", "#ff0087",
    ),
}  # fmt: skip
LINE_COLOURS: dict[Mode, str] = {"light": "#08519c", "dark": "#9ecae1"}  # of the model view, where colour means nothing

ROW_HEIGHT, TOP = 30, 44  # pixels of the head view: a token, and the squares above
# In the head view's script: larger; counted from 1; a number in each square, one of them marked; and the lines of the
# heads side by side, where BertViz draws them one over the other and so mixes their colours.
_HEAD_VIEW = {
    "const TEXT_SIZE = 15;": "const TEXT_SIZE = 18;",
    "const BOXWIDTH = 110;": "const BOXWIDTH = Math.round(Math.min(200, 0.3 * window.innerWidth));",
    "const MATRIX_WIDTH = 115;": "const MATRIX_WIDTH = Math.max(100, Math.min(560, window.innerWidth - 2 * BOXWIDTH));",
    "const BOXHEIGHT = 22.5;": f"const BOXHEIGHT = {ROW_HEIGHT};",
    "const TEXT_TOP = 30;": f"const TEXT_TOP = {TOP};",
    "const CHECKBOX_SIZE = 20;": "const CHECKBOX_SIZE = 28;",
    "d3.scaleOrdinal(d3.schemeCategory10)": "d3.scaleOrdinal(COLOURS)",
    ".text(layer)": ".text(layer + 1)",
    '.attr("stroke-width", 2)': '.attr("stroke-width", Math.min(3, GAP))',
    '.classed("headAttention", true)': (
        '.classed("headAttention", true)'
        '.attr("transform", (d, i) => `translate(0,${(i - (config.nHeads - 1) / 2) * GAP})`)'
    ),
    "return d / activeHeads()": "return d",
    "        function updateCheckboxes() {": """
        checkboxContainer.selectAll("text").data(config.headVis).enter().append("text")
            .text((d, i) => i + 1)
            .attr("x", (d, i) => (i + 0.5) * CHECKBOX_SIZE)
            .attr("y", top + 0.5 * CHECKBOX_SIZE)
            .classed("number", true)
            .classed("marked", (d, i) => i === MARKED);

        function updateCheckboxes() {""",
}
# In the model view's script: the whole width, this app's colours, counting from 1.
_MODEL_VIEW = {
    "const DIV_WIDTH = 970;": "const DIV_WIDTH = Math.max(600, window.innerWidth - 2);",
    "LAYER_COLORS[config.layers[layer] % 10]": "COLOURS[0]",
    ".text(config.heads[i])": ".text(config.heads[i] + 1)",
    ".text(config.layers[i])": ".text(config.layers[i] + 1)",
    "'Layer ' + config.layers[layerIndex] + \", Head \" + config.heads[headIndex]": (
        "'Layer ' + (config.layers[layerIndex] + 1) + \", head \" + (config.heads[headIndex] + 1)"
    ),
    "'background': 'black'": "'background': '#11161d'",
}

# BertViz's own choice of a layer is hidden: the page has one, and the two could disagree.
_STYLE = """
body { margin: 0; font: 15px/1.4 system-ui, sans-serif; }
body.light { color: #1c2733; background: #ffffff; } body.dark { color: #e6ebf1; background: #11161d; }
svg text { fill: currentColor; }
svg text.number { fill: #ffffff; font: bold 15px system-ui, sans-serif; text-anchor: middle; }
svg text.number { dominant-baseline: central; pointer-events: none; }
body.dark svg text.number { fill: #11161d; }
svg text.marked { font-size: 19px; text-decoration: underline; }
div[id^="bertviz-"] > span { display: none; }
#vis, div[id^="bertviz-"] { overflow-x: auto; }
"""


@dataclass(frozen=True)
class View:
    """A whole HTML page, its height in pixels, and the layers in it, counted from 0."""

    page: str
    height: int
    layers: tuple[int, ...]


def head_view(maps: AttentionMaps, mode: Mode, layer: int, head: int | None = None) -> View:
    """All heads of one layer, each in its own colour, as lines from token to token.

    Args: head: the one whose number is marked, if any
    """
    import bertviz  # slow to import

    html = bertviz.head_view(
        **_arguments(maps), layer=layer, include_layers=[layer], prettify_tokens=False, html_action="return"
    ).data
    gap = min(4, 0.7 * ROW_HEIGHT / maps.weights.shape[1])  # pixels between the lines of two heads
    constants = {"COLOURS": HEAD_COLOURS[mode], "MARKED": head, "GAP": gap}
    height = TOP + 10 + ROW_HEIGHT * max(len(maps.rows), len(maps.columns))
    return View(_page(html, mode, constants, _HEAD_VIEW), height, (layer,))


def model_view(maps: AttentionMaps, mode: Mode, layer: int) -> View:
    """Every layer and head as a small map that a click enlarges; of a large model, the layers around this one."""
    import bertviz

    layers = affordable_layers(maps, layer)
    html = bertviz.model_view(
        **_arguments(maps), display_mode=mode, include_layers=layers, prettify_tokens=False, html_action="return"
    ).data
    constants = {"COLOURS": [LINE_COLOURS[mode]]}
    return View(_page(html, mode, constants, _MODEL_VIEW), _model_view_height(maps, len(layers)), tuple(layers))


def draw(maps: AttentionMaps, layer: int, head: int | None, by_head: bool, mode: Mode) -> View:
    """The head view, or else the model view."""
    return head_view(maps, mode, layer, head) if by_head else model_view(maps, mode, layer)


def _model_view_height(maps: AttentionMaps, n_layers: int) -> int:
    """As BertViz lays it out: a small map is lower the more heads there are; an enlarged one must fit in, too."""
    n_heads, n_tokens = maps.weights.shape[1], max(len(maps.rows), len(maps.columns))
    return 30 + round(max(n_layers * (84 / n_heads * n_tokens + 10) + 38, 18 * n_tokens + 55))


def affordable_layers(maps: AttentionMaps, layer: int) -> list[int]:
    """As many layers around this one as make a view of well under a megabyte, at least this one."""
    n_layers = len(maps.weights)
    count = min(n_layers, max(1, MAX_WEIGHTS // maps.weights[0].size))
    first = min(max(0, layer - count // 2), n_layers - count)
    return list(range(first, first + count))


def _arguments(maps: AttentionMaps) -> dict[str, Any]:
    """What BertViz's views take: weights as one tensor a layer, tokens as lists."""
    # In float64, where 0.1235 is written as that; a rounded float32 has sixteen digits when written out.
    weights = [torch.from_numpy(np.round(layer.astype(np.float64), DIGITS))[None] for layer in maps.weights]
    rows, columns = _marked(maps.rows), _marked(maps.columns)
    if maps.kind == "cross":
        return {"cross_attention": weights, "decoder_tokens": rows, "encoder_tokens": columns}
    return {"attention": weights, "tokens": rows}


def _marked(tokens: Sequence[str]) -> list[str]:
    return [token.replace(_MARK, "�").replace("<", _MARK) if token.strip(" ") else "␣" for token in tokens]


@cache
def _libraries() -> tuple[str, ...]:
    return tuple((_VENDOR / name).read_text(encoding="utf-8") for name in _LIBRARIES)


def _page(html: str, mode: Mode, constants: Mapping[str, Any], replacements: Mapping[str, str]) -> str:
    """BertViz's HTML as a page that may run only its own scripts.

    Args:   constants: for its drawing script, by name; replacements: made in that script
    Raises: ValueError if the script holds none of a text that is to be replaced: another version of BertViz
    """
    body, _, script = re.sub(r'<script src="[^"]*"></script>', "", html).partition('<script type="text/javascript">')
    script, _, _ = script.rpartition("</script>")
    code, given, parameters = script.partition("const params = ")
    parameters, end, drawing = parameters.partition("\n")
    for old, new in replacements.items():
        if old not in drawing:
            raise ValueError(f"BertViz's script has no {old!r}")
        drawing = drawing.replace(old, new)
    ours = "".join(f"const {name} = {json.dumps(value)};" for name, value in constants.items())
    script = f"{code}{given}{parameters}{end}{ours}{drawing}"
    # JSON writes the mark as \\ue000, and < may be written the same way.
    script = script.replace(r"\ue000", r"\u003c")
    nonce = secrets.token_urlsafe(16)
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'"
    scripts = "".join(f'<script nonce="{nonce}">{code}</script>' for code in (*_libraries(), _REQUIRE, script))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><title>BertViz</title>'
        f'<style>{_STYLE}</style></head><body class="{mode}">{body}{scripts}</body></html>'
    )
