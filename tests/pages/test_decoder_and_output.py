"""The lesson on the decoder and its output: logits, probabilities, earlier layers, temperature; all by NumPy."""

import html
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import tests.course  # noqa: F401 - fills the course
from tests.oracle.forward import SOS, Forward, config, embedding_matrix, softmax, source_ids, tokenizer
from tests.pages.kit import component, markdown, opened, size, table, values, verdict
from ui import engine
from ui.course.lesson import COURSE
from ui.views.attention_kinds import READABLE

PAGE = COURSE.lesson("decoder-and-output").slug
APPLE = "I ate an apple"
CATS = "The black cat fights the white cat."
LONG = "My neighbour's cat sleeps. " * 30
LAYERS = config()["n_layers"]
LAST = f"decoder.layers.{LAYERS - 1}.add_norm_3.output"


def oracle(sentence: str = APPLE) -> Forward:
    return Forward(source_ids(sentence), [token.id for token in engine.trace(sentence).labels])


def entry(id: int) -> str:
    """A vocabulary entry as the page writes it: ␣ for a space."""
    text = tokenizer().decoder.decode([tokenizer().id_to_token(id)])
    return ("␣" if tokenizer().id_to_token(id).startswith("Ġ") else "") + text.strip()


def all_bars(app: AppTest) -> dict[str, tuple[list[str], list[float]]]:
    """Every list of bars by its label: names and values."""
    found = {}
    for element in app.get("html"):
        if label := re.match(r'<ol class="tw-bars" aria-label="([^"]*)"', element.proto.body):
            names = re.findall(r'tw-bar-name">(.*?)</span>', element.proto.body)
            numbers = re.findall(r'tw-bar-value">(.*?)</span>', element.proto.body)
            found[html.unescape(label[1])] = [html.unescape(n) for n in names], [float(n) for n in numbers]
    return found


def of_layers(run: Forward) -> np.ndarray:
    """Probabilities (N + 1, T, V) of what the embedding and each layer hold, handed to the output."""
    names = ["decoder.embedding.output", *(f"decoder.layers.{n}.add_norm_3.output" for n in range(LAYERS))]
    return softmax(np.stack([run[name] for name in names]) @ embedding_matrix().T)


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


@pytest.mark.parametrize("row", [0, 3, 6])
def test_the_ten_largest(row: int) -> None:
    run = oracle()
    best = np.argsort(-run.logits[row], kind="stable")[:10]
    app = opened(PAGE, row=str(row + 1))
    np.testing.assert_allclose(values(app, "see_matrix")[0], run.logits[row, best], atol=1e-3)
    assert component(app, "see_matrix")["columns"][0] == entry(int(best[0]))
    app = opened(PAGE, row=str(row + 1), output_stage="3 probabilities")
    shares = softmax(run.logits)[row]
    np.testing.assert_allclose(values(app, "see_matrix")[0], shares[best], atol=1e-5)
    names, shown = all_bars(app)["The ten likeliest next pieces, with their probabilities"]
    assert names == [entry(int(i)) for i in best]
    assert shown == pytest.approx(list(shares[best]), abs=5.1e-5)
    app = opened(PAGE, row=str(row + 1), output_stage="1 decoder output")
    np.testing.assert_allclose(values(app, "see_matrix")[0], run[LAST][row, :64], atol=1e-4)


def test_a_logit_and_a_probability_are_worked_out() -> None:
    run = oracle()
    second = int(np.argsort(-run.logits[1], kind="stable")[1])
    text = markdown(opened(PAGE, cell="1.2"))
    assert f"How did this {run.logits[1, second]:.4f} come about?" in text
    assert f"times the embedding of entry {second}" in text
    text = markdown(opened(PAGE, cell="1.2", output_stage="3 probabilities"))
    assert f"How did this {softmax(run.logits)[1, second]:.4f} come about?" in text


# --- earlier layers --------------------------------------------------------------------------------------------------


def grid(app: AppTest) -> list[list[tuple[str, str, str]]]:
    """Word, probability and mark of each cell of the grid of words, layer by layer."""
    (body,) = (e.proto.body for e in app.get("html") if 'class="tw-words"' in e.proto.body)
    lines = re.findall(r"<tr>(.*?)</tr>", body.partition("<tbody>")[2])
    cell = re.compile(r"<td[^>]*><b>(.*?)</b> <small>(\S+) (\S*)</small></td>")
    by_position = [[tuple(html.unescape(part) for part in found) for found in cell.findall(line)] for line in lines]
    return list(zip(*by_position, strict=True))


@pytest.mark.parametrize("sentence", [APPLE, CATS])
def test_what_every_layer_would_say(sentence: str) -> None:
    run, app = oracle(sentence), opened(PAGE, sentence=sentence)
    shares = of_layers(run)
    first, cells = shares.argmax(-1), grid(app)
    read = [SOS, *run.labels[:-1]]
    assert len(cells) == LAYERS + 1
    for n, line in enumerate(cells):
        assert len(line) == len(run.labels)
        for t, (word, share, mark) in enumerate(line):
            assert word == entry(int(first[n, t])).removeprefix("␣")
            p = shares[n, t].max()
            assert share == ("<0.01" if p < 0.005 else f"{p:.2f}")
            assert mark == ("✓" if first[n, t] == run.labels[t] else "↩" if first[n, t] == read[t] else "")
    assert all(mark == "✓" for *_, mark in cells[-1])  # greedy: the last layer's first choice is what is written
    written = shares[:, np.arange(len(read)), run.labels]
    np.testing.assert_allclose(values(app, "lens_written"), written, atol=1e-5)
    for n, (_, of_read, of_written, mean, length) in enumerate(table(app, "after", "just read")):
        assert of_read == f"{(first[n] == read).sum()} of {len(read)}"
        assert of_written == f"{(first[n] == run.labels).sum()} of {len(read)}"
        assert float(mean) == pytest.approx(written[n].mean(), abs=5.1e-4)
        rows = run["decoder.embedding.output" if n == 0 else f"decoder.layers.{n - 1}.add_norm_3.output"]
        assert float(length) == pytest.approx(np.linalg.norm(rows, axis=1).mean(), abs=0.051)


@pytest.mark.parametrize(("name", "at"), [("embedding", 0), ("layer 1", 1), ("layer 2", 2)])
def test_stopping_earlier_at_one_position(name: str, at: int) -> None:
    shares = of_layers(oracle())[:, 3]
    found = all_bars(opened(PAGE, row="4", stop=name))
    for n, title in ((LAYERS, f"After all {LAYERS} layers"), (at, f"Stopped after {name}")):
        names, shown = found[title]
        best = np.sort(shares[n])[::-1][:10]
        assert shown == pytest.approx(list(best), abs=5.1e-5)
        assert names[0] == entry(int(shares[n].argmax()))


# --- the softmax -----------------------------------------------------------------------------------------------------


def summary(shares: np.ndarray) -> list[float]:
    """Entropy, largest, how many entries reach 0.9."""
    entropy = -(shares * np.log2(np.maximum(shares, 1e-300))).sum()
    return [entropy, shares.max(), int((np.cumsum(np.sort(shares)[::-1]) < 0.9).sum()) + 1]


def summaries(app: AppTest) -> list[list[float]]:
    pattern = r"Entropy \*\*([\d.]+) bits\*\* · largest \*\*([\d.]+)\*\* · .* 0\.9: \*\*([\d,]+)\*\*"
    return [[float(n.replace(",", "")) for n in found] for found in re.findall(pattern, markdown(app))]


@pytest.mark.parametrize("tau", [0.0, 0.5, 1.0, 3.0])
def test_temperature(tau: float) -> None:
    logits = oracle().logits[1]
    before = softmax(logits)
    after = np.eye(len(logits))[logits.argmax()] if tau == 0 else softmax(logits / tau)
    app = opened(PAGE, output_trial="Temperature", temperature=str(tau))
    best, found = np.argsort(-logits, kind="stable")[:10], all_bars(app)
    assert found["Before: τ = 1"][1] == pytest.approx(list(before[best]), abs=5.1e-5)
    assert found[f"After: τ = {tau:.1f}"][1] == pytest.approx(list(after[best]), abs=5.1e-5)
    for shown, shares in zip(summaries(app), (before, after), strict=True):
        assert shown == pytest.approx(summary(shares), abs=5.1e-3)


@pytest.mark.parametrize(("at", "by"), [(0, -4.0), (1, 3.0), (7, 10.0)])
def test_pushing_one_entry(at: int, by: float) -> None:
    logits = oracle().logits[1]
    best = np.argsort(-logits, kind="stable")[:10]
    before = softmax(logits)
    after = softmax(logits + by * (np.arange(len(logits)) == best[at]))
    app = opened(PAGE, output_trial="Push one entry", entry_pushed=str(at + 1), push=str(by))
    shown = list(all_bars(app).values())[-1][1]
    assert shown == pytest.approx(list(after[best]), abs=5.1e-5)
    text = markdown(app)
    gone = re.search(r"goes from (\S+) to (\S+(?: · \S+)?)\. The others", text)
    ratios = re.search(r"was (\S+) times as likely as .* now it is (\S+) times", text)
    assert gone
    assert ratios
    assert [size(gone[1]), size(gone[2])] == pytest.approx([before[best[at]], after[best[at]]], abs=5.1e-4)
    one, two = [n for n in range(3) if n != at][:2]
    assert [size(r) for r in ratios.groups()] == pytest.approx([before[best[one]] / before[best[two]]] * 2, abs=2e-3)


# --- questions and edges ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sentence", [APPLE, CATS, "Go"])
def test_the_questions_are_graded_against_the_numbers(sentence: str) -> None:
    run, app = oracle(sentence), opened(PAGE, sentence=sentence)
    row = int(softmax(run.logits)[np.arange(len(run.labels)), run.labels].argmin())
    first = int(of_layers(run)[1, row].argmax())
    read = [SOS, *run.labels][row]
    wanted = 1, 0 if first == read else 1 if first == run.labels[row] else 2, 2
    said = [verdict(app, n, right) for n, right in enumerate(wanted, 1)]
    assert all(text.startswith("Right.") for text in said)
    assert f"({len(run.labels)}, {config()['vocab_size']:,})" in said[0]


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
