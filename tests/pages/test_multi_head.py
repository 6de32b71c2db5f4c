"""The lesson on multi-head attention: labels, heads off, the ranking and the cost, against the oracle's own passes."""

import html
import re
from functools import cache

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch.utils.flop_counter import FlopCounterMode

import pages.attention.multi_head.measures
import tests.course  # noqa: F401 - fills the course
from model.files.checkpoint import CheckpointError
from model.parts.attention import MultiHeadAttention
from tests.oracle.forward import EOS, Forward, config, softmax, source_ids, tokenizer
from tests.pages.head_shares import PATHS, measured_table, roles, shares_of_layer
from tests.pages.kit import column_chart, component, give_answer, markdown, opened, size, table, values
from ui import engine
from ui.course.lesson import COURSE

PAGE = COURSE.lesson("multi-head").slug
SENTENCE = "The black cat fights the white cat."
KINDS = {"Encoder": "encoder", "Masked decoder": "decoder", "Encoder-decoder": "cross"}
SWITCHES = "Switch heads off"
ALL_CROSS = [("cross", layer, head) for layer in range(3) for head in range(4)]

Off = tuple[str, int, int]


def places(off: list[Off]) -> tuple[tuple[str, int], ...]:
    return tuple((PATHS[kind].format(layer), head) for kind, layer, head in off)


def written_off(off: list[Off]) -> str:
    return "+".join(f"{kind}.{layer}.{head}" for kind, layer, head in off)


def greedy(sentence: str, off: list[Off]) -> Forward:
    """What the oracle writes without these heads, piece by piece."""
    labels: list[int] = []
    while labels[-1:] != [EOS] and len(labels) < 100:
        logits = Forward(source_ids(sentence), [*labels, EOS], heads_off=places(off)).logits[-1]
        logits[:EOS] = -np.inf  # <pad> and <sos> are never written
        labels.append(int(logits.argmax()))
    return Forward(source_ids(sentence), labels, heads_off=places(off))


@cache
def first(sentence: str = SENTENCE) -> Forward:
    return greedy(sentence, [])


def probabilities(found: Forward) -> np.ndarray:
    return softmax(found.logits)[range(len(found.labels)), found.labels]


def text_of(found: Forward) -> str:
    return tokenizer().decode(found.labels, skip_special_tokens=True).strip()


def lists(app: AppTest) -> list[list[tuple[str, float]]]:
    """The lists of bars on the page: names and numbers."""
    bodies = [e.proto.body for e in app.get("html") if '<ol class="tw-bars"' in e.proto.body]
    row = re.compile(r'tw-bar-name">(.*?)</span>.*?tw-bar-value">(.*?)</span>')
    return [[(html.unescape(name), float(value)) for name, value in row.findall(body)] for body in bodies]


def plain(app: AppTest) -> str:
    return re.sub(r"\\(.)", r"\1", markdown(app)).replace("\u2060", "")


def evenness(found: Forward, kind: str, layer: int) -> list[float]:
    """Entropy over that of equal weights, row by row, of the rows that see more than one place."""
    even = []
    for head in found[f"{PATHS[kind].format(layer)}.weights"]:
        rows = [row[: n + 1] if kind == "decoder" else row for n, row in enumerate(head)]
        shares = [-sum(w * np.log(w) for w in row if w > 0) / np.log(len(row)) for row in rows if len(row) > 1]
        even.append(float(np.mean(shares)) if shares else 0.0)
    return even


# --- See -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sentence", [SENTENCE, "Go", "<b>$x_1$</b> | ‘3’"])
@pytest.mark.parametrize("label", list(KINDS))
def test_every_head_has_its_label(label: str, sentence: str) -> None:
    app, kind = opened(PAGE, sentence=sentence, attention=label, layer="3", head="2"), KINDS[label]
    oracle = first(sentence)
    here = shares_of_layer(oracle, kind, 2)
    grid = component(app, "layer_heads")
    assert grid["captions"] == [roles(here, kind)]
    assert (grid["layers"], grid["heads"], grid["selected"]) == (1, config()["n_heads"], [0, 1])
    assert np.allclose(values(app, "shares_here"), here, atol=1e-4)
    assert np.allclose(values(app, "shares_measured"), measured_table(kind, 2), atol=1e-6)
    lines = table(app, "head", "looks here at")
    assert [float(line[2]) for line in lines] == pytest.approx(evenness(oracle, kind, 2), abs=0.0051)
    labels = [[line[1], line[3]] for line in lines]
    assert labels == [list(pair) for pair in zip(roles(here, kind), roles(measured_table(kind, 2), kind), strict=True)]


@pytest.mark.parametrize(("window", "start"), [("1–16", 0), ("49–64", 48)])
def test_the_concatenation_is_shown_head_by_head(window: str, start: int) -> None:
    app = opened(PAGE, sentence=SENTENCE, layer="2", heads_stage="2 side by side", window=window, cell="3.20")
    name, d_k = "encoder.layers.1.self_attn.concat", config()["d_model"] // config()["n_heads"]
    columns = [head * d_k + start + i for head in range(config()["n_heads"]) for i in range(16)]
    key = "see_matrix"
    assert np.allclose(values(app, key), first()[name][:, columns], atol=1e-4)
    data = component(app, key)
    assert data["group"] == 16
    assert data["columns"][:17:16] == [f"head 1: {start + 1}", f"head 2: {start + 1}"]
    value = first()["encoder.layers.1.self_attn.heads"][1, 2, start + 3]
    assert f"How did this {value:.4f} come about".replace("-", "−") in markdown(app)
    assert f"dimension {start + 4} of head 2" in plain(app)


def test_until_a_cell_is_chosen_it_is_the_largest_of_the_head() -> None:
    app = opened(PAGE, sentence=SENTENCE, layer="2", head="3", heads_stage="2 side by side")
    data = component(app, "see_matrix")
    block = np.abs(first()["encoder.layers.1.self_attn.heads"][2][:, :16])
    row, column = divmod(int(block.argmax()), 16)
    assert data["selected"] == [row, 32 + column]


def test_after_w_o() -> None:
    app = opened(PAGE, sentence=SENTENCE, attention="Encoder-decoder", layer="1", heads_stage="3 after W^O")
    name = "decoder.layers.0.cross_attn.output"
    assert np.allclose(values(app, "see_matrix"), first()[name][:, :64], atol=1e-4)
    assert "which mixes the heads" in plain(app)


def test_a_long_sentence_is_shown_in_part() -> None:
    long = "My neighbour's cat. " * 20
    app = opened(PAGE, sentence=long, heads_stage="2 side by side")
    assert re.search(r"The first 40 of \d+ pieces\.", markdown(app))
    assert component(opened(PAGE, sentence=long), "layer_heads")["height"] == 40


def test_without_the_measured_shares_the_page_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise CheckpointError("The model file heads.json is <b>broken</b>.")

    monkeypatch.setattr(pages.attention.multi_head.measures, "load_measured", refuse)
    pages.attention.multi_head.measures.measured.cache_clear()
    try:
        app = opened(PAGE, sentence=SENTENCE)
        assert "cannot be shown. The model file heads.json is <b>broken</b>." in plain(app)
        assert len(table(app, "head", "looks here at")[0]) == 3
        assert values(app, "shares_here").shape == (5, 5)
        assert not [e for e in app.get("bidi_component") if e.key == "shares_measured"]
    finally:
        pages.attention.multi_head.measures.measured.cache_clear()


# --- heads off -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "off",
    [
        [("cross", 0, 2)],
        [("encoder", 1, 1), ("decoder", 2, 0), ("cross", 2, 1), ("cross", 2, 2)],
        [("encoder", 0, head) for head in range(4)],
        ALL_CROSS,
    ],
    ids=["one", "some", "a layer", "all of a kind"],
)
def test_heads_off_as_the_oracle_has_it(off: list[Off]) -> None:
    app = opened(PAGE, sentence=SENTENCE, off=written_off(off))
    before, after = first(), greedy(SENTENCE, off)
    said = f"{len(off)} heads off:" if len(off) > 1 else "1 head off:"
    assert f"**All heads on:** {text_of(before)}" in plain(app)
    assert f"**{said}** {text_of(after)}" in plain(app)
    for shown, found in zip(lists(app), (before, after), strict=True):
        assert [value for _, value in shown] == pytest.approx(probabilities(found).tolist(), abs=1e-4)
        assert [name for name, _ in shown][-1] == "<eos>"

    same = Forward(source_ids(SENTENCE), before.labels, heads_off=places(off))
    one, two = probabilities(before), probabilities(same)
    for drawn, expected in zip(column_chart(app, "Two bars for each").values(), (one, two), strict=True):
        assert np.allclose(drawn, expected, atol=1e-4)
    rows = table(app, "piece", "with all heads on")
    assert [[float(n.replace("−", "-")) for n in row[1:]] for row in rows] == [
        pytest.approx([a, b, b - a], abs=1.1e-4) for a, b in zip(one, two, strict=True)
    ]
    found = re.search(
        r"falls for \*\*(\d+)\*\* of (\d+) pieces and rises for \*\*(\d+)\*\*.*\*\*(\S.*) times", plain(app)
    )
    assert found
    assert [int(found[n]) for n in (1, 2, 3)] == [
        int((two < one - 0.005).sum()),
        len(one),
        int((two > one + 0.005).sum()),
    ]
    assert size(found[4]) == pytest.approx(np.prod(two / one), rel=0.06, abs=6e-4)


def address(app: AppTest) -> str:
    (text,) = np.atleast_1d(app.query_params["off"])
    return str(text)


def test_buttons_and_address_say_the_same() -> None:
    app = opened(PAGE, sentence=SENTENCE, off="cross.2.1 encoder.0.3", attention="Masked decoder", layer="2")
    pills = {b.key: b for b in app.get("button_group") if b.key and b.key.startswith("off/")}
    assert len(pills) == 9
    assert pills["off/cross/2"].value == [2]
    assert pills["off/encoder/0"].value == [4]
    pills["off/cross/2"].set_value([1, 2])
    app.run()
    assert address(app) == "cross.2.0+cross.2.1+encoder.0.3"
    assert "**3 heads off:**" in plain(app)
    app.button(key="layer_off").click().run()
    assert address(app) == "cross.2.0+cross.2.1+decoder.1.0+decoder.1.1+decoder.1.2+decoder.1.3+encoder.0.3"
    assert "Decoder masked self-attention, layer 2: all 4 heads are off." in "".join(i.value for i in app.info)
    assert "largest number is 0.0000" in "".join(i.value for i in app.info)
    app.button(key="all_on").click().run()
    assert "off" not in app.query_params
    assert "Switch a head off" in app.info[-1].value
    assert not lists(app)[1:]


def test_whole_layers_are_explained() -> None:
    def said(off: list[Off], sentence: str = SENTENCE) -> tuple[str, str]:
        app = opened(PAGE, sentence=sentence, off=written_off(off))
        return "\n".join(i.value for i in app.info), plain(app)

    two = [("encoder", layer, head) for layer in (0, 2) for head in range(4)]
    assert "Encoder self-attention, layers 1 and 3: all 4 heads are off." in said(two)[0]
    info, text = said(ALL_CROSS)
    assert "layers 1, 2 and 3" in info
    assert "the same after any other" in info
    other = said(ALL_CROSS, "I ate an apple")[1]
    german = [re.search(r"\*\*12 heads off:\*\* (.*)", one) for one in (text, other)]
    assert german[0]
    assert german[1]
    assert german[0][1] == german[1][1]
    everything = [(kind, layer, head) for kind in PATHS for layer in range(3) for head in range(4)]
    info, text = said(everything)
    assert info.count("all 4 heads are off") == 3
    assert "stopped after 100 pieces" in text or "**36 heads off:**" in text


@pytest.mark.parametrize(
    "text",
    ["cross.9.0", "sideways", "cross.0.0;melt", "<b>x</b>$1$", "+".join(["cross.0.0"] * 300), "cross.0.0+", "a" * 3000],
)
def test_an_address_that_cannot_be_followed_is_said_to_be_so(text: str) -> None:
    app = opened(PAGE, sentence=SENTENCE, off=text)
    assert len(app.warning) == 1
    assert "All heads are on" in app.warning[0].value
    assert "<b>" not in app.warning[0].value
    assert "Switch a head off" in app.info[-1].value


# --- the ranking and the cost ----------------------------------------------------------------------------------------


@cache
def changes(sentence: str = SENTENCE) -> dict[Off, float]:
    whole = np.log(probabilities(first(sentence))).sum()
    every = [(kind, layer, head) for kind in PATHS for layer in range(3) for head in range(4)]
    return {
        off: float(
            np.log(
                probabilities(Forward(source_ids(sentence), first(sentence).labels, heads_off=places([off])))
            ).sum()
            - whole
        )
        for off in every
    }  # fmt: skip


def test_the_ranking() -> None:
    app = opened(PAGE, sentence=SENTENCE, heads_trial="Which head matters most")
    expected = changes()
    true = [[expected[kind, layer, head] for kind in PATHS for head in range(4)] for layer in range(3)]
    assert np.allclose(values(app, "ranking"), true, atol=2e-3)
    assert component(app, "ranking")["columns"][3:9:5] == ["encoder 4", "enc-dec 1"]
    order = sorted(expected, key=lambda off: expected[off])
    names = {kind: label for label, kind in KINDS.items()}
    rows = table(app, "head", "change")
    for row, off in zip(rows, order, strict=False):
        kind, layer, head = off
        assert row[0] == f"{names[kind]}, layer {layer + 1}, head {head + 1}"
        assert size(row[1]) == pytest.approx(expected[off], abs=2e-3)
        assert size(row[2]) == pytest.approx(np.exp(expected[off]), rel=0.02)
        assert row[3] == roles(measured_table(kind, layer), kind)[head]
    assert len(rows) == 5
    assert f"Without {sum(change > 0 for change in expected.values())} of the 36 heads" in plain(app)
    worst = order[0]
    assert component(app, "ranking")["selected"] == place(worst)
    assert text_of(greedy(SENTENCE, [worst])) in plain(app)


def place(off: tuple[str, int, int]) -> list[int]:
    """Row and column of a head in the ranking."""
    return [off[1], 4 * list(PATHS).index(off[0]) + off[2]]


@pytest.mark.parametrize(
    ("text", "selected"), [("cross.1.3", place(("cross", 1, 3))), ("cross.7.0", None), ("<i>", None)]
)
def test_the_head_looked_at_is_in_the_address(text: str, selected: list[int] | None) -> None:
    app = opened(PAGE, sentence=SENTENCE, heads_trial="Which head matters most", without=text)
    if selected:
        assert component(app, "ranking")["selected"] == selected
        found = greedy(SENTENCE, [("cross", 1, 3)])
        assert f"**{text_of(found)}**" in plain(app)
    else:
        assert "Without **" in plain(app)


@pytest.mark.parametrize("n_heads", [1, 4, 32])
@pytest.mark.parametrize("label", list(KINDS))
def test_the_cost_is_what_pytorch_counts(label: str, n_heads: int) -> None:
    app = opened(PAGE, sentence=SENTENCE, attention=label, heads_trial="Count the cost", n_heads=str(n_heads))
    rows = {row[0]: row[1:] for row in table(app, "multiplications")}
    s = len(source_ids(SENTENCE))
    t = s if label == "Encoder" else len(first().labels)
    s = t if label == "Masked decoder" else s
    for heads, column in ((n_heads, 0), (1, 1)):
        attention = MultiHeadAttention(config()["d_model"], heads)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            attention(torch.zeros(1, t, config()["d_model"]), torch.zeros(1, s, config()["d_model"]))
        shown = int(rows["all of them"][column].replace(",", ""))
        assert 2 * shown == counter.get_total_flops()  # a multiplication and an addition each
        learned = int(rows["learned numbers in $W^Q, W^K, W^V, W^O$"][column].replace(",", ""))
        assert learned == sum(p.numel() for p in attention.parameters())
    for shown in [cell for row in rows.values() for cell in row if "=" in cell]:
        formula, _, total = shown.partition("=")
        assert eval(formula.replace("·", "*")) == int(total.replace(",", ""))
    steps = [int(row[0].rpartition("=")[2].replace(",", "")) for row in list(rows.values())[:4]]
    assert f"{sum(steps):,}" == rows["all of them"][0]


# --- Predict ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", ["1", "3"])
@pytest.mark.parametrize("sentence", [SENTENCE, "I ate an apple"])
def test_the_questions_are_graded_against_the_numbers(sentence: str, layer: str) -> None:
    weights = first(sentence)[f"encoder.layers.{int(layer) - 1}.self_attn.weights"]
    row = weights.shape[1] // 2
    different = len(set(weights[:, row].argmax(-1).tolist()))
    left = np.exp(min(changes(sentence).values()))
    limits = [n for n, (low, high) in enumerate(((0.9, 9), (0.5, 0.9), (0.1, 0.5), (0, 0.1))) if low <= left < high]
    app = opened(PAGE, sentence=sentence, layer=layer)
    for n, right in enumerate((different - 1, 1, *limits)):
        give_answer(app, PAGE, n, right)
        assert len(app.success) == 1
        said = app.success[0].value
        if n == 0:
            shown = [float(share) for share in re.findall(r"\(piece \d+, ([\d.]+)\)", said)]
            assert shown == pytest.approx(weights[:, row].max(-1).tolist(), abs=0.0051)
        if n == 1:
            assert "262,144 numbers before and 262,144 after" in said
        if n == 2:
            assert size(re.findall(r"it is (\S.*?) times as likely", said)[0]) == pytest.approx(
                left, rel=0.06, abs=6e-4
            )
            for wrong in {0, 1, 2, 3} - {right}:
                give_answer(app, PAGE, n, wrong)
                assert ("falls further" in app.warning[0].value) == (wrong < right)


@pytest.mark.parametrize("sentence", ["Go", "ฉันชอบสุนัข", "<b>$x_1$</b> ‘curly’ *stars* | 3 : 4", "🐶" * 30])
@pytest.mark.parametrize("trial", [SWITCHES, "Which head matters most", "Count the cost"])
def test_any_sentence_goes_through(trial: str, sentence: str) -> None:
    parameters = {"heads_trial": trial, "off": "cross.2.2", "attention": "Encoder-decoder"}
    app = opened(PAGE, sentence=sentence, **parameters)
    assert engine.trace(sentence).translation.strip() in plain(app) or trial == "Count the cost"
