"""Stylesheets and the scripts that paint: one colour for one role, and what one of them names the other knows."""

import colorsys
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHEETS = [ROOT / "assets/styles.css", *sorted(ROOT.glob("ui/components/**/*.css"))]
SCRIPTS = sorted(ROOT.glob("ui/components/**/*.js"))
PROGRAMS = [*ROOT.glob("ui/**/*.py"), *ROOT.glob("pages/**/*.py"), *ROOT.glob("figures/*.py")]
ROLES = ("query", "key", "value", "output")
ALSO = {"source": "query", "target": "output"}  # what is read is blue, what is written purple
GIVEN = re.compile(r"\b(query|key|value|output|source|target)\"?: ?(?:dark \? )?\"?(#\w{6})(?:\" : \"(#\w{6}))?")
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")

# How a script gives a class to what it draws.
GIVES = (
    r"\bel\(\"\w+\", \"([\w -]+)\"",
    r"\bclass: \"([\w -]+)\"",
    r"className = \"([\w -]+)\"",
    r"classList\.(?:add|toggle)\(\"([\w -]+)\"",
)


def text(path: Path) -> str:
    return re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def hue(colour: str) -> float:
    red, green, blue = (int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5))
    return colorsys.rgb_to_hls(red, green, blue)[0]


def apart(one: str, other: str) -> float:
    return min(far := abs(hue(one) - hue(other)), 1 - far)


def test_a_role_has_one_colour_wherever_it_is_given() -> None:
    by_name = dict(re.findall(r"--tw-(\w+): (#\w{6})", text(SHEETS[0]).split("@media")[0]))
    given = [
        (path, *one.groups())
        for path in (*SHEETS, *SCRIPTS)
        for one in GIVEN.finditer(re.sub(r"HUES = \{.*\}", "", text(path)))  # of kinds of blocks
    ]
    assert len(given) > 30
    for path, role, *colours in given:
        for colour in filter(None, colours):
            nearest = min(ROLES, key=lambda one: apart(by_name[one], colour))
            assert nearest == ALSO.get(role, role), (path.name, role, colour)


def test_what_is_called_by_a_role_has_its_colour_and_no_other() -> None:
    for path in SHEETS:
        for selector, body in RULE.findall(text(path)):
            named = {
                one
                for one in ROLES
                for part in selector.split(",")
                if re.search(rf"\.{one}(?![\w-])[^ ]*$", part.strip())
            }
            used = {one for one in ROLES if re.search(rf"var\(--(?:tw-)?{one}\)", body)}
            assert not named or used <= named, (path.name, selector)


def test_each_kind_of_block_has_one_colour_on_the_map_and_in_the_ride() -> None:
    css = text(ROOT / "ui/components/architecture/architecture.css")
    (hues,) = re.findall(r"HUES = \{(.*?)\}", text(ROOT / "ui/components/stage/picture/draw.js"))
    for kind, colour in re.findall(r"(\w+): \"(#\w{6})\"", hues):
        on_map = {"output": "softmax"}.get(kind, kind)
        (rule,) = [
            body
            for selector, body in RULE.findall(css)
            if re.search(rf"\.{on_map}(,|\s*$)", selector) and "--hue" in body
        ]
        assert colour in rule, kind


@pytest.mark.parametrize("path", SHEETS, ids=lambda path: path.stem)
def test_the_dark_theme_has_a_colour_of_its_own_wherever_the_light_one_has(path: Path) -> None:
    light: dict[str, str] = {}
    dark: dict[str, str] = {}
    for selector, body in re.findall(r"([^{}]*)\{\s*((?:\s*--[\w-]+: [^;]+;)+)", text(path)):
        found = dict(re.findall(r"(--[\w-]+): (#\w{6});", body))
        (dark if re.search("dark", selector + text(path).split(body)[0][-90:]) else light).update(found)
    assert not dark or {name for name in light if name in dark or name[2:] in (*ROLES, *ALSO)} <= {*dark}
    assert all(light[name] != dark[name] for name in light.keys() & dark.keys())


def test_every_class_and_every_variable_of_a_sheet_is_given_by_somebody() -> None:
    everything = "\n".join(text(path) for path in (*SHEETS, *SCRIPTS, *PROGRAMS))
    for path in SHEETS:
        own = everything if path == SHEETS[0] else "\n".join(map(text, (*SCRIPTS, *path.parents[0].glob("*.py"))))
        selectors = " ".join(selector for selector, _ in RULE.findall(text(path)) if "@" not in selector)
        selectors = re.sub(
            r"\.js-plotly-plot [^ ]*\(.*?\)|\.(st|katex)[\w-]*|\.s\d", "", selectors
        )  # others', and counted ones
        classes = {*re.findall(r"\.([a-zA-Z_][\w-]*)", selectors)}
        assert [one for one in sorted(classes) if not re.search(rf"(?<![.\w-]){one}(?![\w-])", own)] == [], path.name
        unknown = [
            name
            for name in re.findall(r"var\((--[\w-]+)\)", text(path))
            if not name.startswith("--st-")
            and not re.search(rf"[\"'`; {{\n=]{name}[\"`]?[:,]|\"{name[2:]}\"|[{{ ,]{name[2:]}:", everything)
        ]
        assert unknown == [], path.name


def test_every_class_that_is_given_is_known_to_a_sheet_of_its_own_or_sought() -> None:
    given = 0
    for folder in sorted(path for path in (ROOT / "ui/components").iterdir() if path.is_dir()):
        scripts = "\n".join(map(text, folder.glob("**/*.js")))
        seekers = (*folder.glob("**/*.css"), *ROOT.glob(f"tests/browser/components/test_{folder.name}.py"))
        known = scripts + "\n".join(map(text, seekers))
        named = " ".join(one for how in GIVES for one in re.findall(how, scripts)).split()
        given += len(named)
        assert {one for one in named if not re.search(rf"\.{one}(?![\w-])", known)} == set(), folder.name
    programs = "\n".join(map(text, PROGRAMS))
    named = " ".join(re.findall(r"class=\"([\w -]+)\"", programs)).split()
    assert {one for one in named if f".{one}" not in text(SHEETS[0])} == set()
    assert given > 100
