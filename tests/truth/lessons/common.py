"""Texts that several lessons show."""

import re

from tests.oracle.forward import Forward
from tests.truth.reading import Seen, Words, expect, floats, only_place, place_of


def sizes(path: str, oracle: Forward) -> tuple[int, int, int]:
    """T, S, d_k of the attention at a path."""
    return oracle[f"{path}.q"].shape[1], oracle[f"{path}.k"].shape[1], oracle[f"{path}.q"].shape[2]


def readable_part(text: str, seen: Seen, oracle: Forward) -> None:
    """Names what is cut of the matrix that Check belongs to, and nothing else."""
    (data,) = (d for d in seen.matrices if place_of(d))
    shown, whole = floats(data).shape, only_place(seen).whole(oracle).shape
    expect(text, [n for pair in zip(shown, whole, strict=True) if pair[0] != pair[1] for n in pair])
    assert [name for name in ("rows", "columns") if re.search(rf"\d {name}", text)] == [
        name for name, s, w in zip(("rows", "columns"), shown, whole, strict=True) if s != w
    ]


WORDS: dict[str, Words] = {r"Shown: the first \d+ of [\d,]+ (rows|columns)": readable_part}
