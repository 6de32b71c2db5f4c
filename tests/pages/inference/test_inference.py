"""The lesson on inference, by what it would show; searches of the oracle compute its numbers again."""

import re
import time
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch.utils.flop_counter import FlopCounterMode

import tests.course  # noqa: F401 - fills the course
from explain import worked_score
from tests.oracle.language.formula import agree
from tests.oracle.language.words import pieces, visible
from tests.oracle.passes import decode
from tests.oracle.passes.decode import Writer
from tests.oracle.passes.forward import EOS, SOS, source_ids, tokenizer
from tests.pages.kit import assert_sound, component, give_answer, markdown, opened, size, table
from ui import engine
from ui.course.lesson import COURSE

PAGE = COURSE.lesson("inference").slug
SENTENCE = "The black cat fights the white cat."
BEAM, SAMPLING, CACHE, AT_ONCE = "Beam search", "Sampling", "With and without cache", "All at once"


@cache
def writer(text: str) -> Writer:
    return Writer(text)


@cache
def greedy(text: str, prefix: tuple[int, ...] = ()) -> tuple[int, ...]:
    return decode.greedy(writer(text), prefix)


def german(ids: tuple[int, ...]) -> str:
    return tokenizer().decode(list(ids), skip_special_tokens=True)


def at(sentence: str = SENTENCE, **parameters: str) -> AppTest:
    return opened(PAGE, sentence=sentence, **parameters)


def text_of(id: int) -> str:
    """A piece as it is shown."""
    (piece,) = pieces([id])
    return visible(piece.text)


def numeral(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


def dotted(ids: tuple[int, ...]) -> str:
    return ".".join(map(str, ids))


def second(text: str, step: int) -> int:
    """The runner-up of a step of greedy search."""
    return int(np.argsort(-writer(text).scores(greedy(text)[:step]))[1])


# --- See: the theatre ------------------------------------------------------------------------------------------------


def test_the_head_it_needs_most_is_one_click_away() -> None:
    page = at(at="4")
    (reason,) = re.findall(r"\*\*Head\.\*\* (.*)", markdown(page))
    (layer, head) = re.findall(r"layer (\d), head (\d)", reason)[0]
    page.button(key="show_head").click().run()
    assert_sound(page)
    assert f"layer {layer}, head {head}" in component(page, "theatre")["source_name"]
    asked = "Looks at your sentence" if "encoder-dec" in reason else "Looks at what it read"
    assert page.query_params["numbers"] == asked


@pytest.mark.parametrize("given", [1, 3])
def test_a_chosen_piece_is_written_and_the_model_goes_on_from_it(given: int) -> None:
    prefix = (*greedy(SENTENCE)[:given], second(SENTENCE, given))
    page = at(prefix=dotted(prefix), at=str(given + 1))
    data = component(page, "theatre")
    expected = greedy(SENTENCE, prefix)
    assert data["target"] == ["<sos>", *map(text_of, expected)]
    assert data["yours"] == [False] * (given + 1) + [True] + [False] * (len(expected) - given - 1)
    assert data["steps"][given]["candidates"][0][0] == text_of(greedy(SENTENCE)[given])
    text = markdown(page)
    assert "- **Score.** You chose it: its score" in text
    ours, own = table(page, "", "translation"), greedy(SENTENCE)
    for line, ids in zip(ours, (own, expected), strict=True):
        assert line[1] == german(ids)
        assert numeral(line[2]) == pytest.approx(writer(SENTENCE).total(ids), abs=0.0051)
        assert int(line[3]) == len(ids)
    for n, line in enumerate(table(page, "step", "the model's own"), given):
        assert int(line[0]) == n + 1
        for ids, text, chance in ((own, *line[1:3]), (expected, *line[3:5])):
            assert text == (text_of(ids[n]) if n < len(ids) else "")
            if n < len(ids):
                true = np.exp(writer(SENTENCE).scores(ids[:n])[ids[n]])
                assert float(chance.replace("<0.0001", "0")) == pytest.approx(true, abs=1e-4)


def test_the_way_back_to_the_models_own_choice() -> None:
    page = at()
    assert page.button(key="own_choice").disabled
    page = at(prefix=str(second(SENTENCE, 0)))
    page.button(key="own_choice").click().run()
    assert_sound(page)
    assert "prefix" not in page.query_params
    assert component(page, "theatre")["target"][1:] == [*map(text_of, greedy(SENTENCE))]


def test_a_sentence_ended_by_hand_says_so() -> None:
    page = at(prefix=dotted((greedy(SENTENCE)[0], EOS)), at="2")
    assert component(page, "theatre")["target"] == ["<sos>", text_of(greedy(SENTENCE)[0]), "<eos>"]
    assert r"You ended the sentence: after \<eos\> nothing more is written." in markdown(page)
    for method in (BEAM, SAMPLING, CACHE, AT_ONCE):
        assert_sound(at(prefix=str(EOS), method=method))


def test_pieces_chosen_for_one_sentence_are_forgotten_in_another() -> None:
    page = at(prefix=str(second(SENTENCE, 0)))
    page.text_input(key="sentence").input("I put my money in the bank.").run()
    assert_sound(page)
    assert "prefix" not in page.query_params
    assert component(page, "theatre")["target"][1:] == [*map(text_of, greedy("I put my money in the bank."))]


@pytest.mark.parametrize(
    ("prefix", "kept", "says"),
    [
        ("99999.-1", 0, "99999, but id 99999 is not in the vocabulary of 8000 entries"),
        ("-1", 0, "id -1 is not in the vocabulary"),
        ("306.1", 1, "id 1 is a sign that is never written"),
        ("306.0.445", 1, "id 0 is a sign that is never written"),
        ("306.2.445", 2, "nothing can follow id 2"),
        ("306.abc", 1, "that is no id of the vocabulary"),
        ("306.4²", 1, "that is no id of the vocabulary"),
        ("", 0, ""),
        ("<b>*x*</b>", 0, "that is no id of the vocabulary"),
        (".".join(["306"] * 3000), 100, "101 tokens are given, but a translation ends after 100"),
    ],
)
def test_a_beginning_that_cannot_be_is_left_out_and_that_is_said(prefix: str, kept: int, says: str) -> None:
    page = at(prefix=prefix)
    warnings = [w.value.replace("\\", "") for w in page.warning]
    assert len(warnings) == bool(says)
    assert all(says in warning for warning in warnings)
    asked = prefix.split(".")[:kept]
    assert component(page, "theatre")["target"][1 : kept + 1] == [text_of(int(id)) for id in asked]


@pytest.mark.parametrize(("asked", "step"), [("0", 0), ("99", -1), ("abc", 0), ("-3", 0), ("3.5", 0), ("²", 0)])
def test_a_step_that_cannot_be(asked: str, step: int) -> None:
    data = component(at(at=asked), "theatre")
    assert data["step"] == step % len(data["steps"])


# --- Do: beam search -------------------------------------------------------------------------------------------------


def test_of_a_long_translation_the_last_log_probabilities_are_added_up() -> None:
    terms = [-0.1 * n for n in range(1, 21)]
    added, length, score = worked_score(terms, 0.6)
    assert "8 of them in the last term" in added.says
    assert agree(added.formula) == pytest.approx(sum(terms))
    assert agree(length.formula) == pytest.approx(25 / 6, abs=1e-4)
    assert agree(score.formula) == pytest.approx(decode.penalised(sum(terms), 20, 0.6), abs=1e-3)


# --- Do: sampling ----------------------------------------------------------------------------------------------------


def test_draw_again_takes_the_next_seed() -> None:
    page = at(method=SAMPLING)
    page.button(key="draw_again").click().run()
    assert_sound(page)
    assert page.query_params["seed"] == ["1"] or page.query_params["seed"] == "1"


@pytest.mark.parametrize(
    ("method", "name", "asked", "value"),
    [
        (BEAM, "beam", "999", "3"),
        (BEAM, "beam", "0", "3"),
        (BEAM, "alpha", "nan", "1"),
        (SAMPLING, "temperature", "-3", "1"),
        (SAMPLING, "top_p", "<b>", "1"),
        (SAMPLING, "top_k", "1e9", "0"),
        (SAMPLING, "seed", "abc", "0"),
        (SAMPLING, "seed", "inf", "0"),
    ],
)
def test_an_address_that_asks_for_what_cannot_be(method: str, name: str, asked: str, value: str) -> None:
    text = markdown(at(method=method, **{name: asked})).replace("\\", "")
    assert f"The address asks for {name} = {asked}, which cannot be; it is {value}." in text


def test_a_seed_of_five_hundred_digits_breaks_nothing() -> None:
    app = at(method=SAMPLING, seed="9" * 500)
    assert not app.exception
    assert "Drawn: " in markdown(app)


def test_an_address_that_asks_for_what_can_be_is_not_commented() -> None:
    assert "The address asks for" not in markdown(at(method=BEAM, beam="1", alpha="0.0", prefix="306"))
    assert "The address asks for" not in markdown(at(method=SAMPLING, temperature="1.0", top_p="0.90", seed="9999"))


# --- Do: what it costs -----------------------------------------------------------------------------------------------


@torch.no_grad()
def counted(src: list[int], tgt: list[int], cached: bool) -> list[int]:
    """torch's own count of the multiplications of each step."""
    model = engine.model().model
    src_ids, tgt_ids = torch.tensor([src]), torch.tensor([tgt])
    memory, cache, found = model.encode(src_ids), model.new_cache() if cached else None, []
    for t in range(1, len(tgt) + 1):
        with FlopCounterMode(display=False) as counter:
            model.decode(tgt_ids[:, :t], memory, cache)
        found.append(counter.get_total_flops() // 2)
    return found


def test_work_with_and_without_the_cache() -> None:
    page = at(method=CACHE)
    src, tgt = source_ids(SENTENCE), [SOS, *greedy(SENTENCE)[:-1]]
    with_cache, without = counted(src, tgt, True), counted(src, tgt, False)
    steps = table(page, "step", "writes")
    assert [[int(line[0]), *(int(numeral(n)) for n in line[2:])] for line in steps] == [
        [t, 1, t, a, b] for t, (a, b) in enumerate(zip(with_cache, without, strict=True), 1)
    ]
    positions, products, memory = table(page, "the whole translation")
    t = len(tgt)
    assert [numeral(n) for n in positions[1:]] == [t, t * (t + 1) // 2, pytest.approx((t + 1) / 2, abs=0.0051)]
    assert [numeral(n) for n in products[1:3]] == [sum(with_cache), sum(without)]
    assert numeral(products[3]) == pytest.approx(sum(without) / sum(with_cache), abs=0.0051)
    assert numeral(memory[1]) == 2 * 4 * 3 * (t + len(src)) * 256


def test_time_is_measured_on_demand_for_this_translation(monkeypatch: pytest.MonkeyPatch) -> None:
    def seconds(_: Any, src: tuple[int, ...], tgt: tuple[int, ...], cached: bool) -> tuple[float, ...]:
        return (0.002 if cached else 0.005,) * len(tgt)

    monkeypatch.setattr("pages.inference.inference.cost.timed", seconds)
    page, n_steps = at("Go", method=CACHE), len(greedy("Go"))
    assert "Not measured yet" in markdown(page)
    page.button(key="measure/start").click().run()
    for _ in range(200):
        if "Not measured yet" not in markdown(page):
            break
        time.sleep(0.1)
        page.run()
    assert_sound(page)
    said = f"With the cache **{2 * n_steps}.0 ms**, without it **{5 * n_steps}.0 ms**: 2.50 times as long."
    assert said in markdown(page)
    assert f"all {n_steps} steps, the fastest of 3 runs" in markdown(page)
    page.text_input(key="sentence").input("Stop").run()
    assert "Not measured yet" in markdown(page)


def test_all_at_once_is_one_by_one() -> None:
    page = at(method=AT_ONCE, at="3")
    src, tgt = source_ids(SENTENCE), [SOS, *greedy(SENTENCE)[:-1]]
    alone, together = table(page, "", "runs of the decoder")
    assert (int(alone[1]), int(together[1])) == (len(tgt), 1)
    assert numeral(alone[3]) == sum(counted(src, tgt, True))
    model = engine.model().model
    src_ids = torch.tensor([src])
    with torch.no_grad():
        memory = model.encode(src_ids)
        with FlopCounterMode(display=False) as counter:
            model.decode(torch.tensor([tgt]), memory)
    assert numeral(together[3]) == counter.get_total_flops() // 2
    text = markdown(page)
    found = re.search(r"between their (\d+) · 8,000 logits is \*\*(.*?)\*\*", text)
    assert found
    assert int(found[1]) == len(tgt)
    assert size(found[2]) < 1e-4
    assert f"To compute step 3, which writes **{text_of(greedy(SENTENCE)[2])}**" in text
    assert f"read **{text_of(greedy(SENTENCE)[1])}**, and that is what step 2" in text
    assert "Step 1, which writes" in markdown(at(method=AT_ONCE))


# --- every sentence --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["Another word", BEAM, SAMPLING, CACHE, AT_ONCE])
@pytest.mark.parametrize(
    "sentence",
    ["Go", "ฉันชอบสุนัข", "<b>$x_1$</b> *stars* | 3 : 4", "🐶", "The dog sleeps on the sofa. " * 25],
    ids=range(5),
)
def test_edge_sentences(sentence: str, method: str) -> None:
    page = at(sentence, method=method, at="2", prefix=str(int(np.argsort(-writer("Go").scores(()))[3])))
    data = component(page, "theatre")
    assert len(data["source"]) <= 40
    assert data["target"][0] == "<sos>"


# --- Predict ---------------------------------------------------------------------------------------------------------


def asked(page: AppTest, n: int) -> str:
    """The text of the n-th question, once it is open."""
    next(group for group in page.button_group if group.key == f"{PAGE}/at").set_value(str(n + 1)).run()
    return page.radio[0].label


@pytest.mark.parametrize("sentence", ["I ate an apple", SENTENCE, "Peter plays the lead role in a Broadway show."])
def test_how_many_top_p_keeps_can_be_added_up(sentence: str) -> None:
    page, ids = at(sentence), greedy(sentence)
    text = asked(page, 2)
    step, p = int(re.findall(r"At step (\d+)", text)[0]), float(re.findall(r"top-p ([\d.]+) keep", text)[0])
    sure = [np.exp(writer(sentence).scores(ids[:t]).max()) for t in range(len(ids))]
    assert step == int(np.argmin(sure)) + 1
    scores = writer(sentence).scores(ids[: step - 1])
    listed = [float(share) for share in re.findall(r"\*\* (0\.\d{3})", text)]
    assert listed == pytest.approx(sorted(np.exp(scores))[::-1][:6], abs=5.1e-4)
    kept = int((decode.filter_logits(scores, 1.0, 0, p) > 0).sum())
    assert kept == next(n for n in range(1, 6) if sum(listed[:n]) >= p)
    assert give_answer(page, PAGE, 2, kept - 1).success
    for other in {1, 2, 3, 4, 5} - {kept}:
        said = give_answer(page, PAGE, 2, other - 1).warning[0].value
        assert ("which is less than" in said) == (other < kept)


@pytest.mark.parametrize("sentence", ["I ate an apple", SENTENCE, "Peter plays the lead role in a Broadway show."])
def test_whether_a_beam_finds_a_likelier_sentence_is_graded_live(sentence: str) -> None:
    search, own = decode.beam(writer(sentence), 5), greedy(sentence)
    best = max(search.finished, key=search.finished.__getitem__)
    right = 2 if best == own else 0 if search.finished[best] > writer(sentence).total(own) else 1
    page = give_answer(at(sentence), PAGE, 1, right)
    assert page.success[0].value.startswith("Right.")
    assert f"{search.finished[best]:.2f}".replace("-", "−") in page.success[0].value


def test_the_decks_questions() -> None:
    page = at()
    assert give_answer(page, PAGE, 0, 1).success[0].value.startswith("Right.")
    assert give_answer(page, PAGE, 3, 2).success[0].value.startswith("Right.")
    assert "no encoder" in page.radio[0].label
