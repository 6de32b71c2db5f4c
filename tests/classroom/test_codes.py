"""Codes, secrets and texts: laws tried on generated ones."""

import csv
import io
import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from classroom.codes import CODE_LENGTH, SIGNS, as_csv, cell, clean, hashed, new_code, new_secret, read_code, same

ANY = st.text(st.characters(), max_size=200)  # half signs (surrogates), controls and marks among them


def test_no_two_signs_of_a_code_look_alike() -> None:
    assert len(set(SIGNS)) == len(SIGNS)
    for alike in ("0OQ", "1IL", "2Z", "5S", "6G", "8B", "UV"):
        assert len(set(alike) & set(SIGNS)) <= 1, alike
    assert not set("AEIOU") & set(SIGNS)


def test_codes_are_of_six_signs_and_differ() -> None:
    codes = {new_code() for _ in range(500)}
    assert len(codes) >= 498  # of 34 million, two of 500 are alike once in 270 times
    assert all(len(code) == CODE_LENGTH and set(code) <= set(SIGNS) for code in codes)


def test_a_code_is_read_however_it_is_written() -> None:
    assert read_code(" chf-7 xy ") == "CHF7XY"
    for wrong in ("", "CHF7X", "CHF7XYC", "CHF7X0", "'; DROP TABLE classes; --", "ＣＨＦ７ＸＹ", "C" * 10_000):
        assert read_code(wrong) == ""


@given(ANY)
def test_reading_a_code_never_fails(text: str) -> None:
    assert read_code(text) in ("", read_code(read_code(text)))


@given(ANY, st.integers(1, 30))
def test_what_is_cleaned_is_short_visible_and_can_be_kept(text: str, most: int) -> None:
    once = clean(text, most)
    assert len(once) <= most
    assert once == once.strip()
    assert "  " not in once
    once.encode("utf-8")
    assert not {unicodedata.category(sign) for sign in once} & {"Cc", "Cf", "Cs", "Co"}
    assert clean(once, most) == once


def test_a_long_name_and_piled_up_marks_are_cut() -> None:
    assert clean("x" * 10_000, 24) == "x" * 24
    assert clean("a" + "\u0301" * 50 + "b", 24) == "\u00e1\u0301\u0301b"
    assert clean("\u202eevil\u2066 \x00name\n here", 24) == "evil name here"
    assert clean(" \u200b\u2060\ufeff\n", 24) == ""
    assert clean("<b>Zoë</b> 😀", 24) == "<b>Zoë</b> 😀"


@given(ANY, ANY)
def test_a_secret_fits_itself_alone(one: str, other: str) -> None:
    assert same(one, hashed(one))
    assert same(other, hashed(one)) == (one.encode("utf-8", "replace") == other.encode("utf-8", "replace"))


def test_secrets_are_long_and_differ() -> None:
    assert len({new_secret() for _ in range(100)}) == 100
    assert all(len(new_secret()) >= 22 for _ in range(100))


FORMULA = r"=+\-@＝＋－＠"
# What a spreadsheet may take for a cell: from the beginning, or from a sign between cells, without spaces and quotes.
# But for dashes alone between two bars: so the line under the head of a table in Markdown is written.
CELLS = re.compile(rf"(\A|[,;|\t\r\n])([\s\"]*)(?!(?<=[| ])-+:? *\|)([{FORMULA}])")
MARKED = re.compile(rf"(\A|[,;|\t\r\n])([\s\"]*)'(?=[{FORMULA}])")


@given(st.lists(st.lists(ANY.map(lambda text: clean(text, 200)), min_size=1, max_size=4), max_size=5))
def test_no_cell_is_a_formula_and_none_is_lost(rows: list[list[str]]) -> None:
    text = as_csv(rows).decode("utf-8-sig")
    assert not [line for line in text.splitlines() if CELLS.search(line)]  # cut at whatever sign
    read = list(csv.reader(io.StringIO(text, newline="")))
    plain = [[MARKED.sub(r"\1\2", one) for one in row] for row in rows]
    assert [[MARKED.sub(r"\1\2", one) for one in row] for row in read if row] == plain


TABLE = "Scores:\n\n| | 1 | 2 |\n|---|---:|\n| --- | - |\n| 1 | −1 | 0 |"


def test_formulas_are_disarmed() -> None:
    for text in ("=1+1", "+1", "-1", "@SUM(A1)", "＝1"):
        assert cell(text) == f"'{text}"
    for text in (
        ";=cmd|' /C calc'!A0", "x\t=1", "a,-1", "\r=1", 'Ada";=1', 'a; "=1', " =1", "|@x", "|-1|", "|--1|", "|---",
    ):  # fmt: skip
        at = next(n for n, sign in enumerate(text) if sign in FORMULA)
        assert cell(text) == f"{text[:at]}'{text[at:]}"
    assert cell("|-|=1|") == "|-|'=1|"
    for text in ("1=1", "", "Ada; Bob", "x-ray", TABLE):
        assert cell(text) == text
