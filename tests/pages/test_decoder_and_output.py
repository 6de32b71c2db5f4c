"""The lesson on the decoder and its output: logits, probabilities, earlier layers, temperature; all by NumPy."""

import html
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import tests.course  # noqa: F401 - fills the course
from tests.oracle.forward import Forward, softmax, source_ids, tokenizer
from tests.pages.kit import opened, values
from ui import engine
from ui.course.lesson import COURSE
from ui.views.attention_kinds import READABLE

PAGE = COURSE.lesson("decoder-and-output").slug
APPLE = "I ate an apple"
LONG = "My neighbour's cat sleeps. " * 30


def oracle(sentence: str = APPLE) -> Forward:
    return Forward(source_ids(sentence), [token.id for token in engine.trace(sentence).labels])


def entry(id: int) -> str:
    """A vocabulary entry as the page writes it: ␣ for a space."""
    text = tokenizer().decoder.decode([tokenizer().id_to_token(id)])
    return ("␣" if tokenizer().id_to_token(id).startswith("Ġ") else "") + text.strip()


# --- See -------------------------------------------------------------------------------------------------------------


def test_it_opens_where_the_model_was_least_sure() -> None:
    run = oracle()
    shares = softmax(run.logits)
    unsure = int(shares[np.arange(len(run.labels)), run.labels].argmin())
    app = opened(PAGE)
    assert app.selectbox[0].value == unsure == 1
    for nonsense in ("0", "99", "x", "-1", "٣"):
        assert opened(PAGE, row=nonsense).selectbox[0].value == unsure
    assert opened(PAGE, row="4").selectbox[0].value == 3


# --- earlier layers --------------------------------------------------------------------------------------------------


def grid(app: AppTest) -> list[list[tuple[str, str, str]]]:
    """Word, probability and mark of each cell of the grid of words, layer by layer."""
    (body,) = (e.proto.body for e in app.get("html") if 'class="tw-words"' in e.proto.body)
    lines = re.findall(r"<tr>(.*?)</tr>", body.partition("<tbody>")[2])
    cell = re.compile(r"<td[^>]*><b>(.*?)</b> <small>(\S+) (\S*)</small></td>")
    by_position = [[tuple(html.unescape(part) for part in found) for found in cell.findall(line)] for line in lines]
    return list(zip(*by_position, strict=True))


# --- questions and edges ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trial", ["Stop at an earlier layer", "Temperature", "Push one entry"])
@pytest.mark.parametrize(
    "sentence", ["x", "...", "ภาษาไทย 🍕", "<b>$x$</b> </td>", LONG, "a" + "🐶" * 200], ids=range(6)
)
def test_any_sentence(sentence: str, trial: str) -> None:
    app = opened(PAGE, sentence=sentence, output_trial=trial, row="2")
    assert values(app, "see_matrix").shape == (1, 10)
    if trial == "Stop at an earlier layer":
        assert not any("<b><b>" in e.proto.body for e in app.get("html"))
        assert {len(line) for line in grid(app)} == {min(READABLE, len(engine.trace(sentence).labels))}


def test_the_blocks_of_the_map_that_open_it() -> None:
    assert COURSE.lesson("decoder-and-output").on_map.opens == ("decoder.stack", "output.linear", "output.softmax")
