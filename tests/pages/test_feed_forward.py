"""The lesson on the feed-forward network: its units, what is left out, rows alone, its questions."""

import io
import re
from base64 import b64decode

import numpy as np
import pytest
import torch
from PIL import Image
from streamlit.testing.v1 import AppTest

from experiments.writing.examples import example_sentences
from model.decoding.strategies import Greedy
from model.interventions import Block, Interventions, Unit
from tests.oracle.forward import Array, Forward, config, source_ids, weights
from tests.pages.kit import ROOT, column_chart, component, markdown, opened, size, table, values, verdict
from ui import engine
from ui.views.attention_kinds import READABLE

PAGE = ROOT / "pages" / "blocks" / "feed_forward.py"
SENTENCE = "The black cat fights the white cat."
LAYERS = [("Encoder", 1), ("Encoder", 3), ("Decoder", 2)]


class Changed(Forward):
    """A pass with something left out of one feed-forward network."""

    def __init__(self, sentence: str, path: str = "", way: str = "", unit: int = 0) -> None:
        self.path, self.way, self.unit = path, way, unit
        super().__init__(source_ids(sentence), [token.id for token in engine.trace(sentence).labels])

    def feed_forward(self, path: str, x: Array) -> Array:
        if path != self.path:
            return super().feed_forward(path, x)
        w = {name: self.w[f"{path}.{name}"] for name in ("w_1.weight", "w_1.bias", "w_2.weight", "w_2.bias")}
        hidden = x @ w["w_1.weight"].T + w["w_1.bias"]
        if self.way != "The ReLU":
            hidden = np.maximum(hidden, 0)
        if self.way == "This unit":
            hidden[:, self.unit] = 0
        output = hidden @ w["w_2.weight"].T + w["w_2.bias"]
        return self.keep(f"{path}.output", 0 * output if self.way == "The whole network" else output)

    def probabilities(self) -> Array:
        powers = np.exp(self.logits - self.logits.max(-1, keepdims=True))
        return (powers / powers.sum(-1, keepdims=True))[range(len(self.labels)), self.labels]


def path_of(stack: str, layer: int) -> str:
    return f"{stack.lower()}.layers.{layer - 1}.feed_forward"


def output_of(stack: str, layer: int) -> str:
    return f"{stack.lower()}.layers.{layer - 1}.add_norm_{2 if stack == 'Encoder' else 3}.output"


def at(stack: str, layer: int, sentence: str = SENTENCE, **others: str) -> AppTest:
    return opened(PAGE, sentence=sentence, stack=stack, layer=str(layer), **others)


def bars(app: AppTest) -> list[tuple[list[str], list[float]]]:
    """Names and values of each list of bars."""
    lists = [e.proto.body for e in app.get("html") if 'class="tw-bar-room"' in e.proto.body]
    return [
        (re.findall(r'bar-name">(.*?)<', text), [float(v) for v in re.findall(r'bar-value">(.*?)<', text)])
        for text in lists
    ]


@pytest.mark.parametrize(("stack", "layer"), LAYERS)
def test_the_raster_has_a_tick_for_every_unit_that_fires(stack: str, layer: int) -> None:
    app, hidden = at(stack, layer), Changed(SENTENCE)[f"{path_of(stack, layer)}.hidden"]
    (ticks,) = (e.proto.body for e in app.get("html") if 'class="tw-ticks"' in e.proto.body)
    lines = re.findall(r"<li>(.*?)</li>", ticks)
    assert len(lines) == len(hidden)
    for line, row in zip(lines, hidden, strict=True):
        (picture,) = re.findall(r"mask-image:url\('data:image/png;base64,([\w+/=]+)'\)", line)
        opacity = np.array(Image.open(io.BytesIO(b64decode(picture))).getchannel("A"))[0] / 255
        expected = np.zeros(len(opacity))
        for unit in np.flatnonzero(row > 1e-5):  # what is nearer to 0 may lie on either side in float32
            left = int(unit * len(opacity) / len(row))
            expected[left : left + 2] = np.maximum(
                expected[left : left + 2], 0.3 + 0.7 * np.sqrt(row[unit] / hidden.max())
            )
        doubtful = {int(unit * len(opacity) / len(row)) + n for unit in np.flatnonzero(abs(row) < 1e-5) for n in (0, 1)}
        sure = [place for place in range(len(opacity)) if place not in doubtful]
        assert opacity[sure] == pytest.approx(expected[sure], abs=0.011)
        (count,) = re.findall(r'<span class="tw-bar-value">(\d+)</span>$', line)
        assert (row > 1e-5).sum() <= int(count) <= (row > -1e-5).sum()


@pytest.mark.parametrize(("stack", "layer"), LAYERS)
def test_the_columns_hold_the_strongest_unit_of_every_piece(stack: str, layer: int) -> None:
    app, hidden = at(stack, layer), Changed(SENTENCE)[f"{path_of(stack, layer)}.hidden"]
    (shown,) = (e for e in app.get("bidi_component") if e.key.startswith("see_"))
    columns = [int(name) - 1 for name in component(app, shown.key)["columns"]]
    assert {int(row.argmax()) for row in hidden} <= set(columns)
    assert len(columns) == len(set(columns)) <= max(16, len(hidden))


def test_what_a_unit_looks_for() -> None:
    app = at("Encoder", 3, "I ate an apple", unit="encoder.2.623")
    assert app.selectbox[0].value == 623
    hidden = Changed("I ate an apple")["encoder.layers.2.feed_forward.hidden"][:, 623]
    names, shown = bars(app)[0]
    assert names == ["ate"]
    assert shown == pytest.approx(sorted(hidden[hidden > 0], reverse=True), abs=1e-4)
    everywhere: dict[str, float] = {}
    fires = pieces = 0
    for sentence in example_sentences(engine.model()):
        unit = Changed(sentence)["encoder.layers.2.feed_forward.hidden"][:, 623]
        fires, pieces = fires + int((unit > 0).sum()), pieces + len(unit)
        for token, value in zip(engine.trace(sentence).src, unit, strict=True):
            everywhere[token.text] = max(value, everywhere.get(token.text, 0))
    names, shown = bars(app)[1]
    best = sorted(everywhere.items(), key=lambda item: -item[1])[: len(names)]
    assert names == [text for text, _ in best]
    assert shown == pytest.approx([value for _, value in best], abs=1e-4)
    assert f"everyday sentences** it fires for {fires} of {pieces} pieces" in markdown(app)


def test_the_default_unit_is_one_that_several_pieces_share() -> None:
    assert len(bars(at("Encoder", 3))[1][0]) >= 4


@pytest.mark.parametrize("unit", ["", "x", "encoder.2.1024", "encoder.1.5", "encoder.2.99999", "encoder.2.-1", "²"])
def test_a_unit_that_does_not_fit_is_the_default(unit: str) -> None:
    assert at("Encoder", 3, unit=unit).selectbox[0].value == at("Encoder", 3).selectbox[0].value


def test_a_unit_that_rests_can_be_looked_at_too() -> None:
    app = opened(PAGE, sentence="Go", unit="encoder.2.623")
    assert app.selectbox[0].value == 623
    assert "**In your sentence** it fires for 0 of 2 pieces." in markdown(app)


@pytest.mark.parametrize("way", ["This unit", "The ReLU", "The whole network"])
@pytest.mark.parametrize(("stack", "layer"), LAYERS)
def test_what_is_left_out(stack: str, layer: int, way: str) -> None:
    app = at(stack, layer, leave_out=way)
    before = Changed(SENTENCE)
    after = Changed(SENTENCE, path_of(stack, layer), way, app.selectbox[0].value)
    shown = component(app, "do_before")
    columns = [int(name) - 1 for name in shown["columns"]]
    output = output_of(stack, layer)
    change = np.abs(after[output] - before[output]).max(0)
    assert change[columns].min() >= np.sort(change)[-len(columns)] - 1e-4
    assert np.allclose(values(app, "do_before"), before[output][:, columns], atol=1e-4)
    assert np.allclose(values(app, "do_after"), after[output][:, columns], atol=2e-3)
    assert component(app, "do_after")["limit"] == shown["limit"]
    one, two = before.probabilities(), after.probabilities()
    said = re.search(r"on average it goes from \*\*([\d.]+)\*\* to \*\*([\d.]+)\*\*", markdown(app))
    assert said
    assert [float(n) for n in said.groups()] == pytest.approx([one.mean(), two.mean()], abs=2e-4)
    numbers = [[float(n) for n in line[1:3]] for line in table(app, "piece", "as it is")]
    assert np.allclose(numbers, np.stack([one, two], 1), atol=2e-4)
    assert np.allclose(list(column_chart(app, "Two bars for each").values()), [one, two], atol=2e-4)


def test_without_the_relu_two_matrices_are_one() -> None:
    found = re.search(r"the same rows \(largest difference (.*?)\)", markdown(at("Encoder", 2, leave_out="The ReLU")))
    assert found
    assert size(found[1]) < 1e-3


def test_the_translation_under_a_change_is_the_likeliest_under_the_oracle() -> None:
    app = at("Encoder", 1, "We sat on the bank of the river.", leave_out="The whole network")
    said = re.search(r"Now it is \*\*(.*?)\*\*$", markdown(app), re.MULTILINE)
    assert said
    labels = [*engine.model().tokenizer.encode(said[1].replace("\\", "")), 2]

    class Other(Changed):
        def __init__(self) -> None:
            self.path, self.way, self.unit = path_of("Encoder", 1), "The whole network", 0
            Forward.__init__(self, source_ids("We sat on the bank of the river."), labels)

    assert Other().is_greedy()


@pytest.mark.parametrize(("stack", "layer"), LAYERS)
def test_rows_alone(stack: str, layer: int) -> None:
    rows = table(
        at(stack, layer, ff_trial="Each row by itself"), "each row alone, against the same row in its sentence"
    )
    assert [name for name, _ in rows] == ["feed-forward network", "self-attention"]
    network, attention = (size(difference) for _, difference in rows)
    assert network < 1e-4
    # Alone, a row can look at nothing but itself: its weight is 1, and what it takes away is its own value.
    run, path = Changed(SENTENCE), path_of(stack, layer).replace("feed_forward", "self_attn")
    own = torch.tensor(np.concatenate(list(run[f"{path}.v"]), 1))
    by_itself = torch.nn.functional.linear(own, torch.tensor(weights()[f"{path}.w_o.weight"])).numpy()
    assert attention == pytest.approx(np.abs(by_itself - run[f"{path}.output"]).max(), abs=1e-3)


def test_a_long_sentence_is_cut_and_it_is_said() -> None:
    app = opened(PAGE, sentence="My neighbour's cat sleeps. " * 30, stack="Encoder", layer="1", leave_out="This unit")
    assert f"Shown: the first {READABLE} of 101 pieces." in markdown(app)
    assert values(app, "do_after").shape[0] == READABLE


def test_the_idea_counts_the_parameters() -> None:
    own = sum(w.size for name, w in weights().items() if "feed_forward" in name)
    assert f"**{own / sum(w.size for w in weights().values()):.0%}** of all" in markdown(opened(PAGE))
    assert config()["d_ff"] == 4 * config()["d_model"]


@pytest.mark.parametrize(("stack", "layer"), LAYERS)
def test_the_questions_are_graded_against_the_numbers(stack: str, layer: int) -> None:
    app, path = at(stack, layer), path_of(stack, layer)
    share = (Changed(SENTENCE)[f"{path}.hidden"][1] > 0).mean()
    linear, off = (Changed(SENTENCE, path, w).probabilities().mean() for w in ("The ReLU", "The whole network"))
    wanted = (
        0 if share < 0.1 else 1 if share <= 0.5 else 2,
        0,
        2 if abs(linear - off) < 0.02 else 0 if linear < off else 1,
    )
    for n, right in enumerate(wanted, 1):
        assert verdict(app, n, right).startswith("Right.")


def test_empty_addresses_have_their_defaults() -> None:
    app = opened(PAGE, stack="", layer="", ff_step="", leave_out="", ff_trial="", unit="", sentence=SENTENCE)
    (key,) = (e.key for e in app.get("bidi_component") if e.key.startswith("see_"))
    assert component(app, key)["csv_name"].startswith("encoder.layers.2.feed_forward.hidden columns")
    assert component(app, "do_after")


@pytest.mark.parametrize("way", ["This unit", "The whole network", "The ReLU"])
def test_the_translation_shown_is_the_one_that_writing_anew_gives(way: str) -> None:
    app = at("Decoder", 1, "I ate an apple", leave_out=way)
    block = Block("decoder", 0, "feed_forward")
    change = {
        "This unit": Interventions(units_off=(Unit("decoder", 0, app.selectbox[0].value),)),
        "The whole network": Interventions(blocks_off=(block,)),
        "The ReLU": Interventions(relu_off=(block,)),
    }[way]
    most = len(engine.trace("I ate an apple").labels) + 5
    anew = engine.trace("I ate an apple", None, Greedy(max_steps=most), change)
    said = re.search(r"Now it is \*\*(.*?)\*\*( \(cut after (\d+) pieces\))?$", markdown(app), re.MULTILINE)
    assert said
    assert said[1].replace("\\", "").replace("\u2060", "") == anew.translation
    assert (said[3] == str(most)) == (not anew.finished)
