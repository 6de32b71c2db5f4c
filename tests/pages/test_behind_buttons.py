"""What appears behind a button is claimed like all else: the page after it is the page before it, but for its claims.

Trainings take few steps, here in this process, and times are given; what is made of them is the page's own work.
"""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from experiments.attention import price
from experiments.family import low_rank
from hub import downloads
from hub.downloads import Offer, RemoteFile
from model.decoding.strategies import Greedy
from model.trace import trace
from pages import live_training
from pages.descendants import one_layer, student_and_teacher
from pages.family.fine_tuning import learning
from pages.family.lora_and_bitfit.choosing import adapted
from pages.inference.inference import cost
from pages.inputs import before_attention
from pages.training.train_it_yourself import teach, tiny
from serving import work_queue as queue
from tests.oracle.language import claims
from tests.oracle.language.page import Page
from tests.oracle.language.reader import read
from tests.oracle.language.statement import Statement, compare
from tests.oracle.language.walk import claims_of, unclaimed
from tests.oracle.pages.beyond_attention import without_attention
from tests.oracle.pages.training import train_it_yourself
from tests.oracle.shown import behind
from tests.pages.kit import ROOT, assert_sound, choose_in, component, opened, press, run_here
from tests.pages.test_addresses import address, without_questions
from training.live import adapting, labelling, teaching, toy
from training.live.processes import LiveTraining
from training.live.styles import OTHERS, STYLES
from ui import engine

STEPS = 4
TINY = "train-it-yourself"
OVER = claims.info(behind.OVER)


@pytest.fixture(autouse=True)
def _short_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (adapting, teaching, teach, labelling, learning, toy, tiny):
        monkeypatch.setattr(module, "STEPS", STEPS)
    monkeypatch.setattr(LiveTraining, "run", run_here)


def place_of(label: str, shown: Sequence[Statement]) -> int:
    """Where a button stands."""
    return next(n for n, one in enumerate(shown) if one.kind == "control" and one.content["label"] == label)


def only(before: Sequence[Statement], app: AppTest, label: str, goes: int, comes: Iterable[Statement]) -> None:
    """Nothing has changed on the page but this: from the button on, so many statements went, and these came."""
    at = place_of(label, before)
    messages = compare([*before[:at], *comes, *before[at + goes :]], read(app))
    assert not messages, "\n".join(messages)


def appears(app: AppTest, part: str, first: Statement, comes: Iterable[Statement]) -> None:
    """The part of the page shows these one behind the other; what else has changed there is for others to claim."""
    shown, expected = [one for one in read(app) if one.part == part], list(comes)
    at = next(n for n, one in enumerate(shown) if (one.kind, one.content) == (first.kind, first.content))
    assert compare(expected, shown[at : at + len(expected)]) == []


def result(app: AppTest, slot: str) -> Any:
    return app.session_state[f"job/{slot}"][0].result


IT = "The animal didn't cross the street because it was too wide."
# Of a lesson in a state, what each of its buttons writes into the address; its claims say what is then shown.
WRITES: dict[tuple[str, str], tuple[dict[str, str], dict[str, str]]] = {
    ("tokenization", "German compound"): ({}, {"text": "Donaudampfschifffahrtsgesellschaft"}),
    ("embeddings", "king"): ({}, {"find": "king"}),
    ("positional-encodings", "Shuffle again"): ({}, {"shuffle": "1"}),
    ("self-attention", "Look at “it” under See"): (
        {"sentence": IT, "self_trial": "What “it” means", "head": "2"},
        {"cell": "9.13", "layer": "3"},
    ),
    ("self-attention", "Look at “bank” under See"): (
        {"self_trial": "Two meanings of “bank”", "head": "2"},
        {"sentence": "We sat on the bank of the river.", "cell": "5.8"},
    ),
    ("multi-head", "All heads of encoder self-attention, layer 2 off"): (
        {"layer": "2", "off": "cross.2.1"},
        {"off": "cross.2.1+encoder.1.0+encoder.1.1+encoder.1.2+encoder.1.3"},
    ),
    ("multi-head", "All heads on"): ({"off": "cross.2.1"}, {"off": ""}),
    ("add-and-norm", "Draw other random weights"): ({"draw": "8"}, {"draw": ""}),
    ("encoder", "Two sentences with “bank”"): (
        {"word": "x"},
        {"sentence": "I put my money in the bank.", "second": "We sat on the bank of the river."},
    ),
    ("encoder", "Two sentences with “plays”"): (
        {},
        {
            "sentence": "He plays basketball every Saturday.",
            "second": "Peter plays the lead role in a Broadway show.",
        },
    ),
    ("inference", "Draw again"): ({"method": "Sampling", "seed": "4", "at": "2"}, {"seed": "5", "at": "2"}),
    ("inference", "Back to the model's own choice"): ({"prefix": "650.3824", "at": "3"}, {"prefix": "", "at": "3"}),
    ("how-it-learned", "Draw other numbers"): ({"learned_trial": "Dropout", "dropped": "3"}, {"dropped": "4"}),
    ("gpt", "The old man looked at the sea and …"): ({}, {"sentence": "The old man looked at the sea and"}),
    ("gpt", "Draw again"): ({"gpt_temperature": "0.8", "gpt_seed": "3"}, {"gpt_seed": "4"}),
    ("fill-in-the-blank", "The old man and the [MASK] woman had no children."): (
        {"sentence": "I ate an apple."},
        {"sentence": "The old man and the old woman had no children.", "blanks": "6"},
    ),
    ("fewer-pairs", "Keep none"): ({"pairs_trial": "By hand"}, {"hidden": "f" * 36}),
    ("fewer-pairs", "Keep all"): ({"pairs_trial": "By hand", "hidden": "1"}, {"hidden": ""}),
    # Of the five pieces that the encoder reads, each keeps itself and its neighbours.
    ("fewer-pairs", "Keep what See keeps"): (
        {"pairs_trial": "By hand", "reader": "Translator"},
        {"hidden": f"{sum(1 << 12 * r + c for r in range(5) for c in range(5) if abs(r - c) > 1):x}"},
    ),
    ("one-layer", "BERT large"): (
        {"albert_narrow": "true", "albert_shared": "true", "albert_e": "64"},
        {"albert_h": "1024", "albert_l": "24", "albert_narrow": "false", "albert_shared": "false", "albert_e": "128"},
    ),
    ("one-layer", "ALBERT xxlarge"): (
        {"albert_l": "24"},
        {"albert_h": "4096", "albert_v": "30000", "albert_l": "12", "albert_narrow": "true", "albert_shared": "true"},
    ),
    ("masking", "Two meanings of “watch”"): ({}, {"sentence": "My watch is broken."}),
}


@pytest.mark.parametrize(("slug", "label"), WRITES)
def test_a_button_leads_to_an_address_and_what_is_then_shown_is_claimed(slug: str, label: str) -> None:
    state, writes = WRITES[slug, label]
    app = opened(slug, **state)
    next(one for one in app.button if one.label == label).click().run()
    assert_sound(app)
    written, claimed = address(app), claims_of(slug)
    assert claimed
    assert {name: written.get(name, "") for name in writes} == writes
    assert unclaimed(app, claimed, Page(slug, written)) == []


def test_an_offered_sentence_comes_and_goes() -> None:
    app = opened("encoder-decoder-attention", sentence="Where are you?")
    before = without_questions(app)
    for label, sentence in (
        ("Verb in two parts", "I'm calling my mother."),
        ("Back to my own sentence", "Where are you?"),
    ):
        next(one for one in app.button if one.label == label).click().run()
        assert_sound(app)
        assert address(app)["sentence"] == sentence
    assert compare(before, without_questions(app)) == []


def test_times_are_told_in_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    names = "rnn", "lstm", "attention", "compiled"
    seconds = {name: tuple(np.geomspace(1e-4, 0.9, 9) * (n + 1.37)) for n, name in enumerate(names)}

    def times(d_model: int) -> queue.Work:
        yield 0.5
        return seconds

    monkeypatch.setattr(before_attention, "reading_times", times)
    app = opened("before-attention")
    before = press(app, "Measure the time", "job/times")
    only(before, app, "Measure the time", 1, behind.reading_times(seconds))


@pytest.mark.parametrize(
    ("slug", "key", "ways"),
    [
        ("price-of-attention", "price", ("window", "one state")),
        ("without-attention", "without", ("convolution", "recurrence")),
    ],
)
def test_prices_are_told_and_carried_on_to_a_longer_text(
    slug: str, key: str, ways: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tops = zip(("every pair", *ways), (0.5, 0.02, 3e-3), strict=True)
    seconds = {way: list(np.geomspace(1e-5, top, 10)) for way, top in tops}
    sizes = {way: [4 * (1000 + 37 * at) * n**power for n in 2 ** np.arange(10)]
             for at, (way, power) in enumerate(zip(seconds, (2, 1, 1), strict=True))}  # fmt: skip

    def measure(prices: price.Prices, *ways: object) -> queue.Work:
        for way, times in seconds.items():
            prices[way] = [price.Price(*one) for one in zip(times, sizes[way], strict=True)]
        yield 0.5
        return prices

    monkeypatch.setattr(price, "measure", measure)
    app = opened(slug)
    before = press(app, "Measure", f"job/{key}")
    more = list(without_attention.longer()) if key == "without" else []
    only(before, app, "Measure", 1, [*behind.prices(seconds, sizes), *more])


def test_the_loss_by_share_is_drawn_and_told() -> None:
    app = opened("fill-in-the-blank", sentence="I ate", blank_trial="How much to hide")
    before = press(app, "Measure the loss", "job/shares")
    found = result(app, "shares")
    assert all(one.pieces > 0 and one.loss > 0 for one in found.values())
    only(before, app, "Measure the loss", 1, behind.loss_by_share(found))


def test_how_much_sooner_a_student_has_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = 0.0123, 0.0057

    def times(models: Sequence[Any], ids: tuple[int, ...]) -> queue.Work:
        assert [one.name for one in models] == ["bert-mini", "distilled"]
        yield 0.5
        return seconds

    monkeypatch.setattr(student_and_teacher, "reading_times", times)
    app = opened("student-and-teacher")
    before = press(app, "Time both", "job/sooner")
    only(before, app, "Time both", 1, behind.read_sooner(seconds))


def test_the_time_of_one_layer_is_told_beside_that_of_four(monkeypatch: pytest.MonkeyPatch) -> None:
    def times(models: Sequence[Any], ids: object) -> queue.Work:
        assert [one.name for one in models] == ["bert-mini", "albert-mini"]
        yield 0.5
        return 0.0123, 0.0117

    monkeypatch.setattr(one_layer, "reading_times", times)
    app = opened("one-layer", sentence="Go", albert_trial="How fast")
    before = press(app, "Measure both", "job/albert")
    only(before, app, "Measure both", 1, behind.one_layer_and_four((0.0123, 0.0117)))


def test_the_time_of_decoding_is_told_with_and_without_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "timed", lambda loaded, src, tgt, cached: [0.0123 if cached else 0.0571])
    app = opened("inference", sentence="Go", method="With and without cache")
    label = "Measure the time on this machine, now"
    before = press(app, label, "job/measure")
    writing = app.session_state["job/measure"][1]
    new = behind.with_and_without_cache({True: 0.0123, False: 0.0571}, len(writing[2]), engine.model().device.label)
    only(before, app, label, 2, new)


def test_a_tiny_model_is_watched_and_its_last_layer_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = toy.measured  # so few steps make nothing right
    monkeypatch.setattr(toy, "measured", lambda model, batch: (measured(model, batch)[0], 0.375))
    app = opened(TINY, task="sort", depth="3", letters="cab", maps="Masked decoder")
    press(app, "Start", tiny.SLOT)
    _, training = app.session_state[tiny.SLOT]
    appears(app, "see", OVER, behind.tiny(training.reports, STEPS, "decoder", "Masked decoder"))
    last = training.reports[-1]
    points = [(one.step, one.loss) for one in training.reports]
    about = Page(TINY, {"task": "sort", "depth": "3"})
    shown = [one for one in read(app) if one.kind == "scene"]
    w = {name: value.astype(float) for name, value in last.weights.items()}
    assert compare(list(train_it_yourself.trained_scene(about, w, points, STEPS, last.right)), shown) == []
    model = toy.loaded(training.task, last.weights)
    read_anew = trace(model, "cab", decoding=Greedy(max_steps=10))
    weights = read_anew.tensors["decoder.layers.2.cross_attn.weights"].mean(0)
    shown = read(app)
    (own,) = (one for one in shown if one.kind == "matrix" and one.part == "do")
    np.testing.assert_allclose(own.content["values"], weights, atol=1e-6)
    written = "".join(token.text for token in read_anew.labels if token.text != "<eos>")
    verdict = "That is right." if written == "abc" else "Right is **abc**."
    assert f"cab → **{written or '(nothing)'}** {verdict}" in [one.content for one in shown]


def test_what_a_copy_was_taught_is_set_beside_what_it_wrote_before() -> None:
    app = opened(TINY, trial="Teach the translator")
    before = press(app, "Teach", teach.SLOT)
    _, training = app.session_state[teach.SLOT]
    new = behind.taught(training.reports, training.task.pairs, training.task.others, STEPS)
    only(before, app, "Teach", 2, new)


def test_lora_is_watched_merged_and_set_beside_bitfit_and_all_weights() -> None:
    sentence = "Are you happy?"
    app = opened("lora-and-bitfit", sentence=sentence, rank="2", trial="BitFit")
    style = STYLES["butler: mein Herr"]()
    press(app, "Start", "lora")
    _, lora = app.session_state["lora"]
    model = adapted(engine.model(), lora)
    here_now, there = trace(model, sentence), trace(engine.model(), sentence)
    says = sentence, there.translation, here_now.translation
    new = [*behind.over("Start"), *behind.adapted(lora.reports, STEPS, style.held_out, is_a_butlers, says)]
    appears(app, "see", OVER, new)
    before = press(app, "Train", "bitfit")
    _, bitfit = app.session_state["bitfit"]
    says = sentence, there.translation, trace(adapted(engine.model(), bitfit), sentence).translation
    new = [*behind.over("Train"), *behind.adapted(bitfit.reports, STEPS, style.held_out, is_a_butlers, says)]
    given = 2, style.held_out, is_a_butlers
    beside = behind.beside_lora(lora.reports[-1], "BitFit", 11_520, bitfit.reports[-1], *given)
    only(before, app, "Train", 4, [*new, beside])
    app.button_group(key="trial").set_value("What it forgets").run()
    before = press(app, "Train", "everything")
    _, everything = app.session_state["everything"]
    new = [*behind.over("Train"), *behind.adapted(everything.reports, STEPS, style.held_out, is_a_butlers, ())]
    n, learned = engine.model().n_parameters, {"all weights": everything.reports[-1], "LoRA": lora.reports[-1]}
    beside = behind.beside_lora(lora.reports[-1], "all weights", n, everything.reports[-1], *given)
    plain = [trace(engine.model(), one).translation for one in OTHERS]
    goes = sum(one.part == "do" for one in before[place_of("Train", before) :])
    only(before, app, "Train", goes, [*new, beside, *behind.forgotten(OTHERS, plain, learned, ", mein Herr")])
    app.button_group(key="trial").set_value("Merge it").run()
    assert_sound(app)
    plain = low_rank.merged(model)
    logits = [trace(one, sentence, here_now.translation).tensors["logits"] for one in (model, plain)]
    writes = here_now.translation, trace(plain, sentence).translation, there.translation
    n = engine.model().n_parameters
    merged = behind.merged(n, model.n_parameters, writes, float(np.abs(logits[0] - logits[1]).max()))
    shown = [one for one in read(app) if one.part == "do"]
    assert compare(list(merged), shown[-3:]) == []


def is_a_butlers(german: str) -> bool:
    return german[:-1].endswith(", mein Herr") and german[-1] in ".?!"


def test_labels_are_learned_from_and_all_that_moved_is_drawn() -> None:
    app = opened("fine-tuning", labelled_places="+ The ship sails.\n- The cow eats grass.")
    press(app, "Train", learning.SLOT)
    _, training = app.session_state[learning.SLOT]
    appears(app, "see", OVER, behind.labelled(training.reports, STEPS, 60))


@pytest.mark.parametrize(("slug", "key", "at"), [("gpt", "gpt_theatre", "gpt_at"), ("inference", "theatre", "at")])
def test_a_piece_that_is_chosen_is_written_at_its_step_and_one_stays_there(slug: str, key: str, at: str) -> None:
    app = opened(slug, **{at: "2"})
    before = component(app, key)
    (figure,) = (one for one in app.get("bidi_component") if one.key == key)
    choose_in(app, figure, 2, 3)  # at the second step the fourth piece
    after = component(app, key)
    assert after["step"] == 1
    assert after["target"][:3] == [*before["target"][:2], before["steps"][1]["candidates"][3][0]]


def test_who_is_first_in_line_has_nobody_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "_pool", SimpleNamespace(submit=lambda *given: None))
    monkeypatch.setattr(queue, "_waiting", [])
    for ahead, (slug, label) in enumerate(((TINY, "Start"), ("before-attention", "Measure the time"))):
        app = opened(slug)
        before = read(app)
        next(one for one in app.button if one.label == label).click().run()
        says = f"Waiting: 0 under way, {ahead} in line before you. Your turn comes in about 10 seconds."
        waits = [Statement("progress", {"value": 0, "text": says}), claims.button("Stop")]
        at = place_of(label, before)
        assert compare(waits, read(app)[at : at + 2]) == []


def test_what_runs_tells_how_far_it_has_come_until_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*given: object) -> queue.Work:
        while True:
            yield 0.4
            time.sleep(0.02)

    def training(one: LiveTraining[Any]) -> queue.Work:
        one._take(next(iter(one.task.reports(lambda step: True))))
        yield from endless()

    monkeypatch.setattr(before_attention, "reading_times", endless)
    monkeypatch.setattr(LiveTraining, "run", training)
    for slug, label, slot in (("before-attention", "Measure the time", "job/times"), (TINY, "Start", tiny.SLOT)):
        app = opened(slug)
        at = place_of(label, read(app))
        next(one for one in app.button if one.label == label).click().run()
        job, _ = app.session_state[slot]
        end = time.monotonic() + 100
        while not job.progress:
            assert time.monotonic() < end
            time.sleep(0.02)
        app.run()
        runs = [Statement("progress", {"value": 40, "text": "40%"}), claims.button("Stop")]
        assert compare(runs, read(app)[at : at + 2]) == []
        next(one for one in app.button if one.label == "Stop").click().run()
        while job.look() == "running":
            assert time.monotonic() < end
            time.sleep(0.02)
        assert job.state == "stopped"


def test_a_download_tells_how_much_has_come(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fetch(offer: Offer, settings: object, tell: Any) -> None:
        tell(0.25)
        st.stop()

    name = "somebody/slowly-come"
    offer = Offer(name, "0" * 40, (RemoteFile("model.safetensors", 48_000_000, "0" * 40),))
    monkeypatch.setattr(downloads, "look_up", lambda *given: offer)
    monkeypatch.setattr(downloads, "fetch", fetch)
    monkeypatch.setenv("WALKTHROUGH_DOWNLOADS", "yes")
    monkeypatch.setenv("WALKTHROUGH_MODELS", str(tmp_path))
    app = opened(ROOT / "pages" / "explore" / "any_model.py", model=name)
    next(one for one in app.button if one.label == "Fetch 48.0 MB").click().run()
    says = "25% of 48.0 MB are here. The download goes on if you leave this page."
    assert [one.content for one in read(app) if one.kind == "progress"] == [{"value": 25, "text": says}]


def test_a_training_lost_by_a_reload_or_cut_short_is_told_of() -> None:
    for state in ({}, {"run": tiny.SLOT}):
        app = opened(TINY, **state)
        assert (live_training.LOST in [one.value for one in app.info]) == bool(state)
        assert component(app, "scene")["frames"][0]["answer"].startswith(live_training.LOST) == bool(state)
        next(one for one in app.button if one.label == "Start").click().run()
        assert live_training.LOST not in [one.value for one in app.info]
        assert address(app)["run"] == tiny.SLOT
        app.session_state[tiny.SLOT][0].cancel()
    cut: Any = SimpleNamespace(was_cut=True, error=None), SimpleNamespace()
    says = "Others wait, so the training ended after 16 seconds with what it had."
    assert live_training.how_it_ended(cut) == says
