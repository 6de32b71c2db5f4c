"""The lesson on tokenization, by what it would show; the `tokenizers` library gives every number again."""

import json
import re

import pytest
from streamlit.testing.v1 import AppTest
from tokenizers import Tokenizer as Backend

import tests.course  # noqa: F401 - fills the course
from model.files.checkpoint import SHIPPED
from tests.pages.kit import component, markdown, opened
from ui.course.lesson import COURSE

PAGE = COURSE.lesson("tokenization").slug
SENTENCE = "The unbelievable cat."
FILE = SHIPPED / "tokenizer.json"
LIBRARY = Backend.from_file(str(FILE))
LIBRARY.encode_special_tokens = True
MERGES = json.loads(FILE.read_text(encoding="utf-8"))["model"]["merges"]


def cards(page: AppTest, key: str) -> list[list]:
    return component(page, key)["cards"]


def ids(text: str) -> list[int]:
    return LIBRARY.encode(text, add_special_tokens=False).ids


def test_check_lists_the_merges_in_order_and_its_snippet_finds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    joined = [(n, id) for n, id in enumerate(ids(SENTENCE), 1) if id >= 259]
    for n, id in joined[1:3]:
        page = opened(PAGE, sentence=SENTENCE, cell=f"1.{n}")
        assert component(page, "see_pieces")["selected"] == [0, n - 1]
        ranks = [int(r.replace(",", "")) for r in re.findall(r"Rule \*\*([\d,]+)\*\* joins", markdown(page))]
        assert LIBRARY.token_to_id("".join(MERGES[ranks[-1] - 1])) == id
        assert rf"3 + 256 + {ranks[-1]} - 1 = {id}$" in markdown(page)
        code = next(c.value for c in page.code if "from tokenizers" in c.value)
        lines = code.splitlines()
        scope: dict[str, object] = {}
        monkeypatch.chdir(SHIPPED)
        exec("\n".join(line for line in lines if "import" in line or " = " in line), scope)
        stated = [(eval(line, scope), int(line.rsplit("# ", 1)[1])) for line in lines if re.search(r"# \d+$", line)]
        monkeypatch.undo()
        assert len(stated) == len(ranks) + 1
        assert all(found == said for found, said in stated)


def test_what_was_typed_is_compared_with_what_was_cut() -> None:
    assert "was tidied" not in markdown(opened(PAGE, sentence="I ate an apple"))
    for typed in ("“I ate”", "two  spaces", "e\u0301"):
        assert "was tidied" in markdown(opened(PAGE, sentence=typed))


def test_a_cell_that_does_not_exist_falls_back() -> None:
    for bad in ("9.9", "1.0", "x", "1.999"):
        opened(PAGE, sentence=SENTENCE, cell=bad)


@pytest.mark.parametrize("box", ["word", "text"])
def test_a_limit_is_said_in_one_sentence_and_what_was_typed_stays(box: str) -> None:
    typed, limit = "x" * 10_000, {"word": "no more than 40 characters", "text": "the first 200 characters"}
    page = opened(PAGE, **{box: typed})
    assert page.text_input(key=box).value == typed
    assert [box for box, said in limit.items() if said in markdown(page)] == [box]
    page = opened(PAGE, sentence="supercalifragilisticexpialidocious" * 7)
    assert all(said in markdown(page) for said in limit.values())


def test_what_is_typed_cannot_turn_the_direction_of_the_page() -> None:
    assert "\u202e" not in opened(PAGE, sentence="\u202eabc").text_input(key="word").placeholder
