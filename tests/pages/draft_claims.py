"""Writes the first draft of a lesson's claims: everything that its page shows in one state, as claims to be judged.

    python -m tests.pages.draft_claims scaled-dot-product stage="4 times V"

Every number and every name of a piece in it is a copy: replace each by a computation from the oracle.
"""

import sys
import textwrap
from typing import Any

import numpy as np

from tests.oracle.reader import read
from tests.oracle.statement import Statement
from tests.oracle.walk import CHECK, PARTS
from tests.pages.kit import opened

_CONTROLS = {
    "button_group": "segmented",
    "toggle": "toggle",
    "selectbox": "select",
    "slider": "slider",
    "text_input": "text_box",
    "button": "button",
    "download_button": "download",
}


def literal(text: str, indent: int) -> str:
    """A text as Python, wrapped; raw if it is a formula."""
    prefix = "r" if "\\" in text and "\n" not in text else ""
    lines = textwrap.wrap(text, 100, drop_whitespace=False, break_long_words=False) if "\n" not in text else []
    quoted = [prefix + (f'"{line}"' if prefix and '"' not in line else repr(line)) for line in lines] or [repr(text)]
    joined = f"\n{' ' * indent}".join(quoted)
    return f"(\n{' ' * indent}{joined}\n{' ' * (indent - 4)})" if len(quoted) > 1 else quoted[0]


def written(value: Any) -> str:
    return f"...  # array{value.shape}" if isinstance(value, np.ndarray) else repr(value)


def claim(statement: Statement) -> str:
    content = statement.content
    if statement.kind == "control":
        given = {name: value for name, value in content.items() if name != "type"}
        name = _CONTROLS.get(content["type"], f"control({content['type']!r}, ")
        return f"yield {name}({', '.join(f'{k}={v!r}' for k, v in given.items())})"
    if isinstance(content, str):
        return f"yield {statement.kind}({literal(content, 8).removeprefix('(').removesuffix(')')})"
    if statement.kind == "table":
        return "yield table(\n" + "".join(f"        {tuple(row)!r},\n" for row in content) + "    )"
    fields = content if isinstance(content, dict) else {"content": content}
    return f"yield {statement.kind}(\n" + "".join(f"        {n}={written(v)},\n" for n, v in fields.items()) + "    )"


def main(slug: str, *state: str) -> None:
    found = read(opened(slug, **dict(pair.split("=", 1) for pair in state)))
    for part in PARTS:
        print(f"\n\ndef {part}(page: Page) -> Statements:")
        for one in found:
            asks = isinstance(one.content, dict) and one.content.get("label") in (CHECK, "Your answer")
            if one.part == part and (one.kind, one.content) != ("header", part.capitalize()):
                print(f"    {'# of a question: ' if asks else ''}{claim(one)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
