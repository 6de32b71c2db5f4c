"""What all components share: their code for the browser, arrays as text, and the round trip of a choice."""

import atexit
import json
import re
import shutil
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from serving.streamlit_private import ComponentConfig, ComponentManifest, exists, get_bidi_component_manager

Cell = tuple[int, int]
MOST_MISSED = 100  # choices that are taken from a browser at once, beside the last

OURS = "transformer_walkthrough"
_HERE = Path(__file__).parent.parent
_STYLED = """
const ownStyles = new CSSStyleSheet();
ownStyles.replaceSync(%s);
export default (component) => {
  const sheets = component.parentElement.adoptedStyleSheets;
  if (!sheets.includes(ownStyles)) sheets.push(ownStyles);
  return drawn(component);
};
"""


_LATE = """
let {gives};
const fetchLate = async () => {{ ({{ {gives} }} = (await import("./{file}")).default({{ {takes} }})); }};
if (document.querySelector('link[rel=modulepreload][href$="{file}"]')) await fetchLate();
"""
_TOP = re.compile(r"^(?:const|let|class|function) (\w+)", re.MULTILINE)


@cache
def _served() -> Path:
    """A folder whose files Streamlit serves; it goes when the process ends."""
    folder = mkdtemp(prefix="walkthrough-components-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


class Component:
    """A component whose code lies in a file of the served folder, or in two."""

    def __init__(self, name: str, file: str, late: str = "") -> None:
        self._name, self._file, self.late = name, file, late
        self._mounted: Callable[..., Any] | None = None
        if exists():  # a browser may ask this process for the file before it has drawn the component for anybody
            self._declare()

    def _declared(self) -> bool:
        return get_bidi_component_manager().get_component_asset_root(f"{OURS}.{self._name}") is not None

    def _declare(self) -> Callable[..., Any]:
        manifest = ComponentManifest(OURS, "0", [ComponentConfig(self._name, self._name)])
        get_bidi_component_manager().register_from_manifest(manifest, _served())
        self._mounted = st.components.v2.component(f"{OURS}.{self._name}", js=self._file)
        return self._mounted

    def _at_hand(self) -> Callable[..., Any]:
        # Declared to each server: there is one, but each AppTest has its own.
        return self._mounted if self._mounted and self._declared() else self._declare()

    def __call__(self, **arguments: Any) -> Any:
        return self._at_hand()(**arguments)

    def addresses(self, late: bool = False) -> list[str]:
        """Where a browser asks for the code; late: for all of it."""
        self._at_hand()
        files = [self._file, self.late] if late and self.late else [self._file]
        return [f"_stcore/bidi-components/{OURS}.{self._name}/{file}" for file in files]


def component(
    name: str, js: Sequence[str], css: Sequence[str] = (), late: Sequence[str] = (), gives: Sequence[str] = ()
) -> Component:
    """A component of Streamlit's, whose code a browser fetches once, and not with every message.

    It lies in one file that is named after its content, so that it may be kept for ever. Streamlit serves such files of
    installed packages; it is told of this folder as it would be of one.

    Args: js, css: files of the components' folder
          late: files for some of what the component draws; `fetchLate()` fetches them and sets the names in `gives`.
              Where the page has asked for them already, they are there before the component is
    """
    (_served() / name).mkdir(exist_ok=True)
    code, later = bundle(js, css), ""
    if late:
        own = browser_file(*late)
        names = _TOP.findall("".join((_HERE / file).read_text(encoding="utf-8") for file in js))
        takes = ", ".join(one for one in names if re.search(rf"\b{one}\b", own))
        later = _kept(name, f"export default ({{ {takes} }}) => {{\n{own}\nreturn {{ {', '.join(gives)} }};\n}};")
        code += _LATE.format(gives=", ".join(gives), file=later, takes=takes)
    return Component(name, _kept(name, code), later)


def _kept(name: str, code: str) -> str:
    """The name of the file of a component's folder that now holds this code."""
    file = f"{sha256(code.encode()).hexdigest()[:16]}.js"
    (_served() / name / file).write_text(code, encoding="utf-8")
    return file


def bundle(js: Sequence[str], css: Sequence[str] = ()) -> str:
    """The code of a component as one module, which brings its styles along: no moment is drawn without them."""
    code = browser_file(*js)
    if not css:
        return code
    return code.replace("export default ", "const drawn = ", 1) + _STYLED % json.dumps(browser_file(*css))


def browser_file(*names: str) -> str:
    """Files of the components' folder, one after the other, without comment lines."""
    lines = "\n".join((_HERE / name).read_text(encoding="utf-8") for name in names).splitlines()
    kept = (line.strip() for line in lines)
    return "\n".join(line for line in kept if line not in ("", "*") and not line.startswith(("//", "/**", "*/", "* ")))


def as_text(array: NDArray[Any], dtype: str) -> str:
    """The array as base64 of its bytes, row by row, little-endian."""
    return b64encode(np.ascontiguousarray(array, dtype=np.dtype(dtype).newbyteorder("<")).tobytes()).decode("ascii")


def with_bytes(data: Mapping[str, Any]) -> bytes:
    """What a component gets, its `numbers` as the bytes that they are: a line of JSON, then those.

    In JSON bytes are text of base64, which is a third longer, and which the browser has to take apart again.
    """
    rest = {key: value for key, value in data.items() if key != "numbers"}
    return json.dumps(rest, separators=(",", ":")).encode() + b"\n" + data["numbers"]


def mount(
    component: Callable[..., Any],
    key: str,
    data: Callable[[Cell | None], dict[str, Any]],
    valid: Callable[[int, int], bool],
    on_select: Callable[[Cell], None] | None,
) -> Cell | None:
    """Draw a component and say which cell the learner chose to start this run, if that is how it started.

    The browser sends each choice as (row, column, number of the choice), and behind it those before it that Python may
    have missed. A choice is known before the component is drawn, so it is drawn selected at once: no older selection
    flashes up while Python catches up. The number goes back as `seen`, by which the browser tells a selection that
    knows its last click from one that does not.

    Args:    data(choice) → what the browser gets, with the choice of this run in place of the page's selection;
             valid(row, column) → whether there is such a cell; on_select, called with each before the script runs
    Returns: the cell chosen, once, in the run the choice started; else None
    """

    slot = f"ui.components.seen.{key}"

    def run_callback() -> None:
        for cell, number in _choices(key):
            if number > st.session_state.get(slot, 0):  # each counts once, however often it is told
                st.session_state[slot] = number
                if on_select and valid(*cell):
                    on_select(cell)

    chosen = next((cell for cell, _ in reversed(_choices(key)) if valid(*cell)), None)
    payload = data(chosen) | {"seen": st.session_state.get(slot, 0)}
    component(key=key, data=payload, on_select_change=run_callback)
    return chosen


def _choices(key: str) -> list[tuple[Cell, int]]:
    """Those that started this run, in the order of their numbers. What the browser sends is checked, not believed."""
    state = st.session_state.get(key)
    match state.get("select") if isinstance(state, dict) else None:
        case [row, column, number, *earlier]:
            sent = [*earlier[-MOST_MISSED:], [row, column, number]]
        case _:
            sent = []
    found = []
    for one in sent:
        match one:
            case [int(row), int(column), int(number)]:
                found.append(((row, column), number))
    return found
