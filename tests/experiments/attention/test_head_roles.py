"""What heads look at, against loops over the oracle's weights, and what is lost without them, against whole passes."""

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.attention import head_roles
from experiments.attention.ablation import all_heads, log_probabilities_without
from experiments.attention.head_roles import (
    MEASURED,
    NONE,
    SHARES,
    Measured,
    aligned_words,
    evenness,
    head_places,
    is_punctuation,
    load_measured,
    places,
    role,
    shares,
    uniform,
)
from model.anatomy.describe import anatomy_of
from model.build import build_model
from model.config import PRESETS
from model.files.checkpoint import SHIPPED, WEIGHTS, CheckpointError
from model.files.loaded_model import LoadedModel, load_folder
from model.interventions import Head, Interventions
from model.text.tokenizer import EOS_ID, Token
from model.trace import MAX_TOKENS, Trace, trace
from tests.oracle.language.names import ATTENTIONS
from tests.oracle.passes.forward import EOS, SOS, Forward, config, softmax, source_ids

SENTENCES = (
    "I ate an apple",
    "Go",
    "The animal didn't cross the street, because it was too wide.",
    "ฉันชอบสุนัข",
    "<b>$x_1$</b> ‘curly’ *stars* | 3 : 4",
)
PUNCTUATION = set(",.!?:;'\"-()*/_…‹›%&@#[]{}\\¿¡«»‘’“”")  # what these sentences and their translations have of it


@cache
def loaded() -> LoadedModel:
    return load_folder()


@cache
def traced(text: str) -> Trace:
    return trace(loaded(), text)


@cache
def oracle(text: str, heads_off: tuple[tuple[str, int], ...] = (), blocked: tuple[int, ...] = ()) -> Forward:
    labels = [token.id for token in traced(text).labels]
    return Forward(source_ids(text), labels, heads_off=heads_off, blocked=blocked)


def label_probabilities(found: Forward) -> np.ndarray:
    return softmax(found.logits)[range(len(found.labels)), found.labels]


# --- alignment -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", SENTENCES)
def test_the_aligned_word_is_the_one_that_the_piece_cannot_do_without(text: str) -> None:
    one = traced(text)
    found = aligned_words(loaded(), one.src, one.labels)
    pieces = {w: tuple(i for i, t in enumerate(one.src) if t.word == w) for w in {t.word for t in one.src} - {-1}}
    whole = label_probabilities(oracle(text))
    without = {word: label_probabilities(oracle(text, blocked=at)) for word, at in pieces.items()}
    assert len(found) == len(one.labels)
    for row, word in enumerate(found):
        kept = {w: p[row] / whole[row] for w, p in without.items()}  # how much of its probability is left
        least = min(kept.values())
        if word == -1:
            assert least > 0.9 - 1e-3
        else:
            assert kept[word] <= min(least * 1.001, 0.9 + 1e-3)


def test_each_german_word_comes_from_its_english_one() -> None:
    one = traced("I ate an apple")
    found = aligned_words(loaded(), one.src, one.labels)
    first = {word: next(t.text for t in one.src if t.word == word) for word in found if word >= 0}
    german = {label.text: first.get(word) for label, word in zip(one.labels, found, strict=True)}
    assert german["Ich"] == "I"
    assert german["Apfel"] == "apple"


@pytest.mark.parametrize(("left", "word"), [(0.89, 4), (0.902, -1), (1.0, -1), (1.3, -1)])
def test_a_piece_is_aligned_once_a_tenth_of_its_probability_is_lost(
    monkeypatch: pytest.MonkeyPatch, left: float, word: int
) -> None:
    """Word 4 leaves this part of a piece's probability, word 2 a little more; the second piece is about word 2."""
    likely = np.log([[0.5, 0.4], [0.5 * (left + 0.01), 0.1], [0.5 * left, 0.4]])
    monkeypatch.setattr(head_roles, "log_probabilities_hiding", lambda *_: ((2, 4), likely))
    assert aligned_words(loaded(), (), ()) == (word, 2)


# --- shares --------------------------------------------------------------------------------------------------------


def punctuation(token: Token) -> bool:
    return token.word >= 0 and set(token.text) <= PUNCTUATION


def counts(kind: str, name: str, row: int, column: int, one: Trace, aligned: tuple[int, ...]) -> bool:
    """Whether a column counts for a share, spelt out for one cell."""
    token = one.tgt[column] if kind == "decoder" else one.src[column]
    word = aligned[row]
    match name:
        case "previous":
            return column + 1 == row
        case "itself":
            return column == row
        case "next":
            return column == row + 1
        case "eos" | "sos":
            return token.id == {"eos": EOS, "sos": SOS}[name]
        case "punctuation":
            return punctuation(token)
        case "read":
            return row > 0 and aligned[row - 1] != -1 and token.word == aligned[row - 1]
        case _:
            step = {"aligned": 0, "before": -1, "after": 1}[name]
            return word != -1 and token.word != -1 and token.word == word + step


@pytest.mark.parametrize("text", SENTENCES)
@pytest.mark.parametrize("kind", list(ATTENTIONS))
def test_shares_are_what_loops_over_the_oracles_weights_give(kind: str, text: str) -> None:
    one = traced(text)
    aligned = aligned_words(loaded(), one.src, one.labels)
    counted = head_places(one, kind, aligned)
    assert counted.keys() == SHARES[kind].keys()
    for layer in range(config()["n_layers"]):
        found = shares(one.attention(kind, layer), counted)
        weights = oracle(text)[ATTENTIONS[kind].format(layer) + ".weights"]
        for name in SHARES[kind]:
            for head in range(config()["n_heads"]):
                total = 0.0
                for row in range(weights.shape[1]):
                    for column in range(weights.shape[2]):
                        if counts(kind, name, row, column, one, aligned):
                            total += weights[head, row, column]
                assert found[name][head] == pytest.approx(total / weights.shape[1], abs=1e-4)


@pytest.mark.parametrize("text", SENTENCES)
@pytest.mark.parametrize("kind", list(ATTENTIONS))
def test_equal_weights_give_the_share_of_the_places_that_count(kind: str, text: str) -> None:
    one = traced(text)
    aligned = aligned_words(loaded(), one.src, one.labels)
    rows, columns = one.attention(kind, 0).shape[1:]
    weights = uniform(kind, rows, columns)
    seen = oracle(text)[ATTENTIONS[kind].format(0) + ".weights"][0] > 0
    assert np.array_equal(weights > 0, seen)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)
    for name, share in shares(weights, head_places(one, kind, aligned)).items():
        parts = [
            sum(counts(kind, name, i, j, one, aligned) for j in np.flatnonzero(seen[i])) / seen[i].sum()
            for i in range(rows)
        ]
        assert float(share) == pytest.approx(np.mean(parts), abs=1e-6)


tokens = st.lists(
    st.builds(Token, st.integers(3, 20), st.sampled_from([".", ",", "a", "!b", " ", "–", "…"]), st.integers(0, 4)),
    min_size=1,
    max_size=8,
).map(lambda some: (*some, Token(EOS_ID, "<eos>", -1)))


@given(st.data(), st.sampled_from(list(ATTENTIONS)), tokens, tokens)
def test_shares_lie_between_0_and_1_and_apart_ones_add_up(
    data: st.DataObject, kind: str, rows: tuple[Token, ...], columns: tuple[Token, ...]
) -> None:
    columns = columns if kind == "cross" else rows
    aligned = data.draw(st.lists(st.integers(-1, 4), min_size=len(rows), max_size=len(rows)))
    raw = data.draw(st.lists(st.floats(0.01, 1), min_size=len(columns), max_size=len(columns)))
    allowed = uniform(kind, len(rows), len(columns)) > 0
    weights = allowed * np.array(raw)
    weights /= weights.sum(-1, keepdims=True)
    found = {name: float(share) for name, share in shares(weights, places(kind, rows, columns, aligned)).items()}
    assert all(0 <= share <= 1 + 1e-6 for share in found.values())
    apart = ("aligned", "before", "after", "eos") if kind == "cross" else ("previous", "itself", "next")
    assert sum(found.get(name, 0) for name in apart) <= 1 + 1e-6
    doubled = shares(np.stack([weights, weights]), places(kind, rows, columns, aligned))
    assert all(np.allclose(doubled[name], share) for name, share in found.items())


@pytest.mark.parametrize(
    ("text", "expected"),
    [(".", True), ("?!", True), ("–", True), (" ", False), ("a.", False), ("'t", False), ("‹E2›", False), ("+", False)],
)
def test_punctuation_is_marks_alone(text: str, expected: bool) -> None:
    assert is_punctuation(Token(9, text, 0)) == expected


def test_a_special_token_is_no_punctuation() -> None:
    assert not is_punctuation(Token(EOS_ID, "<eos>", -1))
    assert is_punctuation(Token(9, ">", 3)) is False  # a mathematical sign


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({"previous": 0.6, "itself": 0.3, "next": 0.1}, "mostly the previous piece"),
        ({"previous": 0.26, "itself": 0.24, "next": 0.1}, "partly the previous piece"),
        ({"previous": 0.1, "itself": 0.4, "next": 0.2}, NONE),  # no more than 1.5 times the baseline
        ({"previous": 0.26, "itself": 0.4, "next": 0.1}, "partly the previous piece"),
        ({"previous": 0.1, "itself": 0.46, "next": 0.45}, "partly the piece itself"),
        ({"previous": 0.24, "itself": 0.24, "next": 0.24}, NONE),
    ],
)
def test_a_head_is_named_after_what_stands_out(found: dict[str, float], says: str) -> None:
    assert role("encoder", found, {"previous": 0.1, "itself": 0.3, "next": 0.1}) == says


def test_how_evenly_a_head_spreads() -> None:
    """Worked out by hand: of two places 0.9 and 0.1 have an entropy of 0.469 bits, of at most 1."""
    rows = [[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]]
    assert evenness("encoder", np.array([rows])).tolist() == pytest.approx([(0 + 0.5 + 0.5) / 3])
    # The first row of masked attention has no choice, so it does not count.
    masked = [[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [1 / 3, 1 / 3, 1 / 3]]
    alone = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert evenness("decoder", np.array([masked, alone])).tolist() == pytest.approx([(0.469 + 1) / 2, 0], abs=1e-4)
    assert evenness("decoder", np.ones((2, 1, 1))).tolist() == [0, 0]


# --- without heads -------------------------------------------------------------------------------------------------


def heads_of(*names: str) -> tuple[Head, ...]:
    return tuple(Head.parse(name) for name in names)


def subsets() -> list[tuple[Head, ...]]:
    """Whole layers, whole kinds, everything, and some drawn at random."""
    heads, choose = all_heads(loaded().anatomy), random.Random(7)
    layer = [tuple(h for h in heads if (h.attention, h.layer) == (kind, 1)) for kind in ATTENTIONS]
    kind = tuple(h for h in heads if h.attention == "cross")
    return [*layer, kind, tuple(heads), *(tuple(choose.sample(heads, n)) for n in (1, 2, 3, 5, 8, 13))]


def places_off(heads: tuple[Head, ...]) -> tuple[tuple[str, int], ...]:
    return tuple((ATTENTIONS[h.attention].format(h.layer), h.head) for h in heads)


@pytest.mark.parametrize("text", [SENTENCES[0], SENTENCES[2]])
@pytest.mark.parametrize("heads", subsets(), ids=lambda some: str(len(some)))
def test_switching_heads_off_is_a_pass_without_them(heads: tuple[Head, ...], text: str) -> None:
    """Every tensor of the app's pass, and its greedy translation, against a pass computed from scratch."""
    one = trace(loaded(), text, interventions=Interventions(heads_off=heads))
    labels = [token.id for token in one.labels]
    expected = Forward(source_ids(text), labels, heads_off=places_off(heads))
    for name in (n for n in one.tensors if not n.endswith("mask")):
        assert np.allclose(one.tensors[name], expected[name], atol=2e-4, rtol=2e-4), name
    logits = expected.logits.copy()
    logits[:, :EOS] = -np.inf  # <pad> and <sos> are never written
    assert logits.argmax(-1).tolist() == labels
    assert labels[-1] == EOS or len(labels) == MAX_TOKENS


def test_written_piece_by_piece_it_is_the_same() -> None:
    heads, text = heads_of("cross.2.0", "cross.2.2", "encoder.1.1"), SENTENCES[2]
    one = trace(loaded(), text, interventions=Interventions(heads_off=heads))
    labels: list[int] = []
    while labels[-1:] != [EOS]:
        logits = Forward(source_ids(text), [*labels, EOS], heads_off=places_off(heads)).logits[-1]
        logits[:EOS] = -np.inf
        labels.append(int(logits.argmax()))
    assert [token.id for token in one.labels] == labels
    assert one.translation != traced(text).translation


@pytest.mark.parametrize("text", SENTENCES[:3])
def test_each_head_switched_off_alone(text: str) -> None:
    one, heads = traced(text), all_heads(loaded().anatomy)
    ids = [[token.id for token in tokens] for tokens in (one.src, one.labels)]
    found = log_probabilities_without(loaded(), *ids, heads)
    assert found.shape == (len(heads), len(one.labels))
    for row, head in zip(found, heads, strict=True):
        expected = label_probabilities(oracle(text, heads_off=places_off((head,))))
        assert np.allclose(row, np.log(expected), atol=1e-3)


# --- the measured file ---------------------------------------------------------------------------------------------


def test_the_shipped_measurement_is_of_the_shipped_model() -> None:
    found = load_measured(loaded().anatomy)
    assert found.n_sentences == 2000
    assert found.role(Head("encoder", 1, 1)) == "mostly the next piece"
    recorded = json.loads((SHIPPED / MEASURED).read_text())
    assert found.source in (SHIPPED.parents[1] / "NOTICE").read_text()
    assert recorded["command"] == "python -m training.measure.heads test.en-de.tsv"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (MEASURED, WEIGHTS):
        shutil.copy(SHIPPED / name, tmp_path)
    return tmp_path


def broken_share(data: dict[str, Any]) -> None:
    data["shares"]["cross.0.0"]["aligned"] = 1.5


def missing_head(data: dict[str, Any]) -> None:
    del data["shares"]["encoder.2.3"]


def missing_name(data: dict[str, Any]) -> None:
    del data["shares"]["encoder.2.3"]["next"]


def missing_baseline(data: dict[str, Any]) -> None:
    del data["uniform"]["decoder"]


def no_number(data: dict[str, Any]) -> None:
    data["uniform"]["decoder"]["sos"] = "half"


def no_table(data: dict[str, Any]) -> None:
    data["shares"] = [1, 2]


def other_weights(data: dict[str, Any]) -> None:
    data["model"]["sha256"] = "0" * 64


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (broken_share, "1.5 is no share"),
        (missing_head, "every head"),
        (missing_name, "every head"),
        (missing_baseline, "every share"),
        (no_number, "'half' is no share"),
        (no_table, "cannot be read"),
        (other_weights, "other weights"),
    ],
)
def test_a_damaged_measurement_is_refused_in_words(
    damage: Callable[[dict[str, Any]], None], says: str, folder: Path
) -> None:
    path = folder / MEASURED
    data = json.loads(path.read_text())
    damage(data)
    path.write_text(json.dumps(data))
    with pytest.raises(CheckpointError, match=says) as refused:
        load_measured(loaded().anatomy, folder)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"data": 3}'])
def test_so_is_a_file_that_is_none(content: bytes, folder: Path) -> None:
    (folder / MEASURED).write_bytes(content)
    with pytest.raises(CheckpointError, match=MEASURED):
        load_measured(loaded().anatomy, folder)
    (folder / MEASURED).unlink()
    with pytest.raises(CheckpointError, match="is missing"):
        load_measured(loaded().anatomy, folder)


def test_it_must_fit_the_model(folder: Path) -> None:
    with pytest.raises(CheckpointError, match="every head"):
        load_measured(anatomy_of(build_model(replace(PRESETS["base"], n_layers=2))), folder)
    assert isinstance(load_measured(loaded().anatomy, folder), Measured)
