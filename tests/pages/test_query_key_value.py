"""The lesson on query, key and value: its toy database, what other matrices do, its questions and its address."""

import re

import numpy as np
import pytest

from tests.oracle.formula import agree
from tests.oracle.forward import Forward, config, softmax, source_ids
from tests.pages.kit import component, markdown, opened, question_options, values, verdict
from ui import engine
from ui.views.attention_kinds import READABLE

PAGE = "query-key-value"
SENTENCE = "The black cat fights the white cat."
ORDERS = np.array([[3, 4], [1, 12], [8, 6], [2, 20]], float)  # items, day of May
KIND = {"Encoder": "encoder", "Masked decoder": "decoder", "Encoder-decoder": "cross"}


def oracle(text: str) -> Forward:
    return Forward(source_ids(text), [token.id for token in engine.trace(text).labels])


@pytest.mark.parametrize("sure", [0, 2, 10])
def test_the_soft_look_up(sure: int) -> None:
    app = opened(PAGE)
    app.slider(key="sure").set_value(sure).run()
    asked = sure * np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0.5, 0.5, 0, 0]])
    weights = softmax(asked)
    assert np.allclose(values(app, "look_up_weights"), weights, atol=1e-6)
    assert np.allclose(values(app, "look_up_answers"), weights @ ORDERS, atol=1e-5)
    (formula,) = re.findall(r"First row, items: \$(.*?)\$", markdown(app))
    assert abs(agree(formula) - (weights @ ORDERS)[0, 0]) < 1e-4


def test_a_sure_query_is_a_hard_look_up() -> None:
    app = opened(PAGE)
    app.slider(key="sure").set_value(10).run()
    assert np.allclose(values(app, "look_up_answers")[:2], ORDERS[[0, 2]], atol=0.01)
    assert np.allclose(values(app, "look_up_answers")[2], ORDERS[:2].mean(0), atol=0.2)


def with_matrices(run: Forward, kind: str, layer: int, head: int, w: dict[str, np.ndarray]) -> np.ndarray:
    """Weights (T,S) of a head that reads the same X through other matrices."""
    stack = "encoder" if kind == "encoder" else "decoder"
    path = f"{stack}.layers.{layer}.{'cross' if kind == 'cross' else 'self'}_attn"
    if kind == "cross":
        x, memory = run[f"decoder.layers.{layer}.add_norm_1.output"], run.memory
    else:
        name = f"{stack}.layers.{layer - 1}.add_norm_{2 if stack == 'encoder' else 3}.output"
        x = memory = run[name if layer else f"{stack}.embedding.output"]
    d_k = config()["d_model"] // config()["n_heads"]
    part = slice(head * d_k, (head + 1) * d_k)
    scores = (x @ w["q"].T)[:, part] @ (memory @ w["k"].T)[:, part].T / np.sqrt(d_k)
    return softmax(np.where(np.isfinite(run[f"{path}.scores"][head]), scores, -np.inf))


@pytest.mark.parametrize("kind", list(KIND))
@pytest.mark.parametrize("which", ["Random matrices", "No matrices: X itself"])
def test_other_matrices_on_the_same_input(kind: str, which: str) -> None:
    app = opened(PAGE, sentence=SENTENCE, attention=kind, layer="2", head="3", matrices=which)
    run, stack = oracle(SENTENCE), "encoder" if kind == "Encoder" else "decoder"
    path = f"{stack}.layers.1.{'cross' if kind == 'Encoder-decoder' else 'self'}_attn"
    identity = np.eye(config()["d_model"])
    random = {letter: engine.model("untrained").weights[f"{path}.w_{letter}.weight"] for letter in "qk"}
    expected = with_matrices(
        run, KIND[kind], 1, 2, random if which.startswith("Random") else {"q": identity, "k": identity}
    )
    assert np.allclose(values(app, "do_before"), run[f"{path}.weights"][2], atol=1e-4)
    assert np.allclose(values(app, "do_after"), expected, atol=1e-4)
    same = int((expected.argmax(-1) == run[f"{path}.weights"][2].argmax(-1)).sum())
    assert f"the same for **{same} of {len(expected)}** queries" in markdown(app)


@pytest.mark.parametrize(
    ("part", "rows", "columns"), [("X", "tgt", 64), ("Q", "tgt", 64), ("K", "src", 64), ("V", "src", 64)]
)
def test_rows_are_named_after_who_asks_and_who_answers(part: str, rows: str, columns: int) -> None:
    trace = engine.trace(SENTENCE)
    app = opened(PAGE, sentence=SENTENCE, attention="Encoder-decoder", part=part)
    (key,) = (e.key for e in app.get("bidi_component") if str(e.key).startswith("see_"))
    data = component(app, key)
    assert data["rows"] == [t.text for t in (trace.labels if rows == "tgt" else trace.src)]
    assert len(data["columns"]) == columns


def test_a_long_sentence_is_cut_and_it_is_said() -> None:
    app = opened(PAGE, sentence="My neighbour's cat sleeps. " * 30, attention="Encoder")
    assert f"the first {READABLE} of 101 rows" in markdown(app)
    assert f"the first {READABLE} of 101 queries" in markdown(app)
    assert values(app, "do_after").shape == (READABLE, READABLE)


def test_nonsense_in_the_address_is_left_aside() -> None:
    app = opened(PAGE, part="W", matrices="<b>", layer="99", head="0", cell="x", sure="-3")
    assert np.allclose(values(app, "do_before").sum(-1), 1, atol=1e-5)


def test_the_questions_are_graded_against_the_numbers() -> None:
    app = opened(PAGE, sentence=SENTENCE, attention="Encoder", layer="2", head="1")
    run = oracle(SENTENCE)
    scores = run["encoder.layers.1.self_attn.scores"][0]
    random = {one: engine.model("untrained").weights[f"encoder.layers.1.self_attn.w_{one}.weight"] for one in "qk"}
    kept = int((with_matrices(run, "encoder", 1, 0, random).argmax(-1) == scores.argmax(-1)).sum())
    piece = f"(piece {scores[0].argmax() + 1})"
    wanted = [
        next(i for i, text in enumerate(question_options(app, 1)) if "three different learned matrices" in text),
        next(i for i, text in enumerate(question_options(app, 2)) if text.endswith(piece)),
        0 if kept == 0 else 1 if 2 * kept < len(scores) else 2,
    ]
    for n, right in enumerate(wanted, 1):
        assert verdict(app, n, right).startswith("Right.")


def test_attentions_of_later_lessons_are_offered_only_to_who_asks_for_one() -> None:
    def kinds(**parameters: str) -> list[str]:
        app = opened(PAGE, **parameters)
        return [group.value for group in app.button_group if group.key == "attention"]

    assert kinds() == []
    assert kinds(attention="Encoder") == []
    assert kinds(attention="Masked decoder") == ["Masked decoder"]
    assert kinds(attention="Encoder-decoder") == ["Encoder-decoder"]


def test_who_chose_a_later_attention_finds_the_way_back() -> None:
    app = opened(PAGE, attention="Masked decoder")
    for kind in ("Encoder", "Encoder-decoder"):
        app.button_group(key="attention").set_value(kind).run()
        assert app.button_group(key="attention").value == kind
