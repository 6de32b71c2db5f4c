"""The home page's logic, by what it would show."""

import html
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import tests.course  # noqa: F401 - fills the course
from experiments.writing import doubt
from model.files import checkpoint
from model.interventions import Head
from model.trace import MAX_TOKENS
from tests.oracle.language.formula import agree
from tests.oracle.language.words import encoded, pieces
from tests.oracle.passes.decode import translated
from tests.oracle.passes.forward import Forward, softmax
from tests.oracle.shown.frame import prose as frame
from tests.pages.kit import assert_sound, component, go_to, markdown, notices, opened, translation, values
from ui import engine
from ui.course.sentence import DEFAULT
from ui.text import in_markdown
from ui.views import translation as shown
from ui.views.attention_kinds import KINDS, READABLE

ABOUT = engine.model().about
EXAMPLES = ABOUT.examples
TELLING = ABOUT.telling or {}

SENTENCE = "The black cat fights the white cat."
LOST = "Photosynthesis converts carbon dioxide into sugar."


def formulas(at: AppTest) -> list[str]:
    found = [m.value for m in at.markdown if m.value.startswith(r"$\displaystyle ")]
    return [f.removeprefix(r"$\displaystyle ").removesuffix("$") for f in found]


def lessons(at: AppTest) -> list[str]:
    """What a number worked out leads to."""
    return [block.proto.label for block in at.get("page_link") if "The lesson" in block.proto.label]


def test_typing_translates_anew() -> None:
    at = opened()
    at.text_input(key="sentence").input(SENTENCE).run()
    assert_sound(at)
    assert translation(at) == engine.trace(SENTENCE).translation
    assert component(at, "map")["columns"] == [t.text for t in engine.trace(SENTENCE).src]


@pytest.mark.parametrize("n", range(len(EXAMPLES)))
def test_an_example_goes_into_the_box(n: int) -> None:
    at = opened(sentence="A dog.")
    at.button(key=f"example{n}").click().run()
    assert at.text_input(key="sentence").value == EXAMPLES[n].sentence
    assert translation(at) == engine.trace(EXAMPLES[n].sentence).translation


def test_a_surprise_is_another_sentence_each_time() -> None:
    at, seen = opened(), [DEFAULT]
    for _ in range(4):
        at.button(key="surprise").click().run()
        assert_sound(at)
        seen.append(at.text_input(key="sentence").value)
        assert seen[-1] != seen[-2]


def test_what_is_wrong_in_the_mistake_is_said_beside_it() -> None:
    """Of every example that the model is not held to, and of no other."""
    for example in EXAMPLES:
        assert (in_markdown(example.why) in markdown(opened(sentence=example.sentence))) == (not example.says)


def lines(at: AppTest) -> list[str]:
    """What is said of a translation that the model may have got wrong, and the word underlined in it."""
    shown = " ".join(block.proto.body for block in at.get("html"))
    return re.findall(r'<u class="tw-doubtful">(.*?)</u>', shown) + re.findall("<summary>(.*?)</summary>", shown)


def test_a_doubtful_translation_is_called_so_and_any_other_is_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    at = opened(sentence=LOST)
    word, line = lines(at)
    assert word in translation(at)
    assert word in line
    assert not lines(opened(sentence=SENTENCE))
    assert not lines(opened(sentence=LOST, model="plain-1")), "it was not measured on this one"
    for file in ("doubt.json", "german_words.txt", "english_words.txt"):
        shutil.copy(checkpoint.SHIPPED / file, tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.setattr(doubt.load_doubt, "__defaults__", (tmp_path,))
    monkeypatch.setattr(shown, "doubt_of", shown.doubt_of.__wrapped__)  # read anew
    assert not lines(opened(sentence=LOST)), "other weights are lost elsewhere"


def test_signs_in_a_doubtful_translation_stay_text() -> None:
    """Underlined in the midst of signs that HTML would read."""
    trace = engine.trace("Tom <b> & Mary")
    word = doubt.least_likely(trace, doubt.lettered(trace))
    assert word
    marked = shown.underlined(trace, word.pieces[-1], word.label)
    assert html.unescape(re.sub('<u class="tw-doubtful">|</u>', "", marked)) == trace.translation
    assert "<b>" not in marked


@pytest.mark.parametrize("sentence", ["", "   ", "\t \u00a0", "\x00\x07"])
def test_an_empty_sentence_is_answered_with_one_sentence(sentence: str) -> None:
    at = opened()
    at.text_input(key="sentence").input(sentence).run()
    assert_sound(at)
    assert notices(at) == [frame.line("nothing to translate")]
    assert [one.key for one in at.get("bidi_component")] == ["navigation"]
    at.text_input(key="sentence").input(SENTENCE).run()
    assert translation(at)


def test_a_cut_and_a_warning_are_said_and_the_box_keeps_everything() -> None:
    typed = "Ich möchte schwimmen gehen. " * 100
    at = opened()
    at.text_input(key="sentence").input(typed).run()
    assert at.text_input(key="sentence").value == typed
    said = notices(at)
    assert len(said) == 2
    assert f"it takes at most {MAX_TOKENS}" in said[0]
    assert "another language" in said[1]
    assert f"the first {READABLE} of" in markdown(at)


def test_the_kind_is_chosen_on_the_page() -> None:
    at = opened(sentence=SENTENCE)
    at.get("button_group")[0].set_value("Encoder").run()
    assert_sound(at)
    layer, head = TELLING["encoder"].layer, TELLING["encoder"].head
    assert np.array_equal(values(at), engine.trace(SENTENCE).attention("encoder", layer)[head])


def test_spaces_in_front_count_for_nothing() -> None:
    at = opened(sentence=" " * 3000 + "A dog.")
    assert translation(at) == engine.trace("A dog.").translation
    assert notices(at) == []


@pytest.mark.parametrize(
    "parameters",
    [
        {"map": "99.99"},
        {"map": "0.1"},
        {"map": "1.9"},
        {"map": "x"},
        {"cell": "99.99"},
        {"cell": "0.0"},
        {"cell": "1"},
        {"layer": "99", "head": "99", "stage": "?"},
        {"attention": "Nonsense"},
        {"words": "perhaps"},
        {"hide_eos": "2"},
        {"present": "maybe", "step": "-1"},
    ],
)
def test_what_the_address_cannot_mean_is_the_default(parameters: dict[str, str]) -> None:
    plain, odd = opened(sentence=SENTENCE), opened(sentence=SENTENCE, **parameters)
    for key in ("heads", "map"):
        assert component(odd, key) == component(plain, key)


@pytest.mark.parametrize("chosen", [None, "decoder", "cross"])
def test_the_kind_of_attention_goes_along_to_a_lesson_only_if_somebody_chose_it(chosen: str | None) -> None:
    at = opened(sentence=SENTENCE)
    if chosen:
        at.get("button_group")[0].set_value(KINDS["encoder"].label).run()  # away from the page's own kind
        at.get("button_group")[0].set_value(KINDS[chosen].label).run()
    go_to(at, "scaled-dot-product").run()
    assert_sound(at)
    assert KINDS[chosen or "encoder"].name.lower() in component(at, "see_matrix")["title"]


TAKES = "how much one piece looks at another"


@pytest.mark.parametrize(
    ("name", "index", "said", "lesson"),
    [
        (
            "encoder.layers.0.self_attn.weights",
            (1, 2, 3),
            f"Encoder, layer 1, self-attention, {TAKES}: head 2, **{{src[2]}}** (3), **{{src[3]}}** (4).",
            "Self-attention",
        ),
        (
            "encoder.embedding.output",
            (1, 17),
            "Encoder, + positions, the column after it: **{src[1]}** (2), number 18.",
            "Positional encodings",
        ),
        (
            "decoder.layers.2.cross_attn.weights",
            (2, 1, 1),
            f"Decoder, layer 3, reads the memory, {TAKES}: head 3, **{{tgt[1]}}** (2), **{{src[1]}}** (2).",
            "Encoder-decoder attention",
        ),
        (
            "decoder.layers.1.add_norm_3.output",
            (0, 255),
            "Decoder, layer 2, feed-forward, the column after it: **\\<sos\\>** (1), number 256.",
            "Feed-forward",
        ),
        (
            "probabilities",
            (1, 300),
            "Decoder, next piece, how likely it is: step 2, **{entry[300]}**.",
            "Decoder and output",
        ),
    ],
)
def test_a_number_of_the_ride_is_worked_out_and_leads_to_its_lesson(
    name: str, index: tuple[int, ...], said: str, lesson: str
) -> None:
    at = opened(sentence=SENTENCE)
    assert not lessons(at)
    one = engine.trace(SENTENCE)
    at.session_state["ride.asked"] = ("translator", one.text, one.label_ids, (name, index))
    assert_sound(at.run())
    oracle = translated(SENTENCE)
    if name == "probabilities":
        powers = np.exp(oracle["logits"] - oracle["logits"].max(-1, keepdims=True))
        value = float((powers / powers.sum(-1, keepdims=True))[index])
    else:
        value = float(oracle[name][index])
    shown = f"{value:.4f}"
    if abs(value) < 0.00005:  # which would be shown as 0
        digits, power = f"{value:.1e}".split("e")
        shown = f"{digits} · 10" + str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    assert f"How did this {shown} come about" in markdown(at).replace("−", "-")
    texts = {
        "src": [piece.text for piece in pieces([*encoded(SENTENCE), 2])],
        "tgt": [piece.text for piece in pieces([1, *oracle.labels])],
        "entry": {300: pieces([300])[0].text},
    }
    assert said.format(**texts) in markdown(at)
    assert any(agree(formula) == pytest.approx(value, abs=2e-4) for formula in formulas(at))
    assert lessons(at) == [f"The lesson: {lesson} →"]
    at.text_input(key="sentence").input("I like dogs.").run()
    assert not lessons(at)


# A sentence, a head of encoder-decoder attention and a row where it does this; from 0.
OFF = {
    "It is still the likeliest.": ("I ate an apple", 2, 2, 1),
    "The likeliest is now **{}**.": ("The old bridge was built by the Romans.", 0, 1, 3),
}


def test_of_a_piece_that_was_forced_it_is_said_that_another_was_likelier_before() -> None:
    def page() -> None:
        from model.decoding.strategies import Greedy
        from model.interventions import Head
        from model.trace import trace
        from ui import engine
        from ui.course.head_off import without_head

        likeliest = engine.trace("I ate an apple")
        first, forced = likeliest.label_ids[0], likeliest.steps[1].candidates[1].id
        forced = trace(likeliest.model, "I ate an apple", decoding=Greedy(prefix=(first, forced)))
        without_head(forced, Head("encoder", 0, 0), 1)

    assert f"The likeliest is **{engine.trace('I ate an apple').labels[1].text}**, as before." in markdown(
        AppTest.from_function(page).run()
    )


@pytest.mark.parametrize("writes", OFF)
def test_a_head_of_the_ride_switched_off_shows_the_probabilities_beside_those_before(writes: str) -> None:
    sentence, layer, head, row = OFF[writes]
    at = opened(sentence=sentence)
    one, oracle = engine.trace(sentence), translated(sentence)
    off = Forward(oracle.ids["encoder"], oracle.labels, heads_off=((f"decoder.layers.{layer}.cross_attn", head),))
    at.session_state["ride.asked"] = ("translator", one.text, one.label_ids, (Head("cross", layer, head), row))
    assert_sound(at.run())
    before, after = (softmax(run["logits"])[range(len(oracle.labels)), oracle.labels] for run in (oracle, off))
    now = pieces([int(off["logits"][row].argmax())])[0].text
    said = f"had **{before[row]:.4f}**; without the head it has **{after[row]:.4f}**. {writes.format(now)}"
    moved = after - before
    fall, rise = int((moved < -0.005).sum()), int((moved > 0.005).sum())
    counts = f"The probability falls for {fall} of {len(moved)} pieces and rises for {rise} (by more than 0.005)."
    assert f"{said} {counts}" in markdown(at)


@pytest.mark.parametrize(
    ("result", "writes"),
    [("add_norm_2", "feed_forward.output"), ("add_norm_1", "self_attn.output")],
)
def test_a_column_is_worked_out_from_what_its_own_block_made(result: str, writes: str) -> None:
    """The block's last product first, then Add, and at last Norm."""
    at = opened(sentence=SENTENCE)
    one, index = engine.trace(SENTENCE), (1, 17)
    layer = "encoder.layers.1"
    at.session_state["ride.asked"] = ("translator", one.text, one.label_ids, (f"{layer}.{result}.output", index))
    assert_sound(at.run())
    names = writes, f"{result}.sum", f"{result}.output"
    expected = [float(translated(SENTENCE)[f"{layer}.{name}"][index]) for name in names]
    shown = [agree(formula) for formula in formulas(at)]
    assert shown[:3] == pytest.approx(expected, abs=2e-4)
