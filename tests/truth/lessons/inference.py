"""What the inference lesson shows: the theatre, and why a piece was written."""

import random
import re
from typing import Any

import numpy as np

from tests.oracle.forward import EOS, Forward, bytes_of, config, softmax, tokenizer
from tests.truth.reading import Seen, Words, close, expect, numbers_in, without_bold
from ui.text import in_markdown
from ui.views.attention_kinds import READABLE

COUNTS = {"at": 12}  # what the address may ask for: a step, from 1
N_CANDIDATES, FLOAT_BYTES = 10, 4
MOST = 15  # words that are hidden in turn
TRIED = 3  # words, and heads, besides the one that is named
KINDS = "self", "cross"


def text_of(id: int) -> str:
    """A piece as it is shown: bytes that are no text in hexadecimal, spaces alone as ␣."""
    name = tokenizer().id_to_token(id)
    if id <= EOS:
        return name
    try:
        return bytes_of(name).decode().strip(" ") or "␣"
    except UnicodeDecodeError:
        return f"‹{bytes_of(name).hex(' ').upper()}›"


def check_theatre(data: dict[str, Any], oracle: Forward) -> None:
    """Every step of the theatre: what is read and written, candidates, attention of a layer's heads, the cache."""
    probabilities, labels = softmax(oracle["logits"]), oracle.labels
    assert len(data["steps"]) == len(labels)
    assert data["target"] == ["<sos>", *map(text_of, labels)]
    assert data["source"] == [text_of(id) for id in oracle.ids["encoder"]][:READABLE]
    layer = int(re.search(r"layer (\d)", data["source_name"])[1]) - 1  # type: ignore[index]
    head = re.search(r"head (\d)", data["source_name"])
    maps = [oracle[f"decoder.layers.{layer}.{kind}_attn.weights"] for kind in ("cross", "self")]
    cross, own = (one[int(head[1]) - 1] if head else one.mean(0) for one in maps)
    assert head or "average of its heads" in data["source_name"]
    for t, step in enumerate(data["steps"]):
        assert np.allclose(step["cross"], cross[t, :READABLE], atol=6e-5)
        assert np.allclose(step["self"], own[t, : t + 1], atol=6e-5)
        texts, shown = zip(*step["candidates"], strict=True)
        mask_special_tokens = [
            id for id in np.argsort(-probabilities[t], kind="stable") if id >= EOS
        ]  # not <pad>, not <sos>
        best = mask_special_tokens[:N_CANDIDATES]
        assert np.allclose(shown[:N_CANDIDATES], probabilities[t, best], atol=2e-5)
        assert texts[step["chosen"]] == text_of(labels[t])
        assert close(shown[step["chosen"]], probabilities[t, labels[t]], 5)
        check_cache(step, t, oracle)


def check_cache(step: dict[str, Any], t: int, oracle: Forward) -> None:
    layers, heads, d_model = (config()[name] for name in ("n_layers", "n_heads", "d_model"))
    source = len(oracle.ids["encoder"])
    assert step["cache"] == [[t + 1, source]] * layers
    pairs = layers * (t + 1 + source)
    expect(
        step["cache_says"],
        [pairs, layers if t else pairs, 2 * FLOAT_BYTES * d_model * pairs, heads, d_model // heads],
    )


def without(oracle: Forward, step: int, **change: Any) -> float:
    """The probability of the piece written at a step, in a pass with something taken away."""
    labels = oracle.labels[: step + 1]
    return float(softmax(Forward(oracle.ids["encoder"], labels, **change).logits[step])[labels[step]])


def source_words(oracle: Forward) -> list[tuple[str, tuple[int, ...]]]:
    """The words of the source: their text and their pieces."""
    src = oracle.ids["encoder"][:-1]
    encoding = tokenizer().encode(tokenizer().decode(src), add_special_tokens=False)
    assert encoding.ids == src
    groups = [tuple(n for n, word in enumerate(encoding.word_ids) if word == one) for one in set(encoding.word_ids)]
    return [(tokenizer().decode([src[n] for n in group]), group) for group in groups]


def why(text: str, seen: Seen, oracle: Forward) -> None:
    """The five reasons, each from passes of the oracle."""
    full = text.replace("<0.0001", "0.0000")
    heading, *reasons = without_bold(full).split("\n- ")
    (step,) = (int(n) - 1 for n in re.findall(r"step (\d+)", heading))
    src, labels, logits = oracle.ids["encoder"], oracle.labels, oracle["logits"][step]
    order, probabilities = np.argsort(-logits, kind="stable"), softmax(logits)
    order = order[order >= EOS]
    assert order[0] == labels[step]
    score, attention, cache_, word, head = reasons
    expect(score, [*logits[order[:2]], *probabilities[order[:2]]])

    layers, heads = config()["n_layers"], config()["n_heads"]
    weights = np.stack([oracle[f"decoder.layers.{n}.cross_attn.weights"][:, step] for n in range(layers)])
    n, piece, mean, layer, one, most = numbers_in(attention)
    assert n == layers * heads
    assert close(mean, weights.mean((0, 1)).max(), 2)
    assert close(mean, weights.mean((0, 1))[int(piece) - 1], 2)
    assert close(most, weights[:, :, int(piece) - 1].max(), 2)
    assert close(most, weights[int(layer) - 1, int(one) - 1, int(piece) - 1], 2)

    t, s = step + 1, len(src)
    counts = [layers, t, s, layers, t, s, layers * (t + s)]
    if step:
        own = np.stack([oracle[f"decoder.layers.{n}.self_attn.weights"][:, step, :t] for n in range(layers)])
        (named,) = re.findall(r"\(piece (\d+)\)", cache_)
        assert close(own.mean((0, 1))[int(named) - 1], own.mean((0, 1)).max())
        counts += [layers, int(named), own.mean((0, 1)).max(), layers * heads]
    expect(cache_, counts)

    before = probabilities[labels[step]]
    choose = random.Random(step)
    mean = weights.mean((0, 1))
    words = sorted(source_words(oracle), key=lambda item: -mean[list(item[1])].sum())
    limit = [MOST] if len(words) > MOST else []
    others = [
        without(oracle, step, blocked=pieces) for _, pieces in choose.sample(words[:MOST], min(TRIED, len(words)))
    ]
    if "does not make" in word:
        assert numbers_in(word) == limit
        assert min(others) >= before - 1e-6
    else:
        was, now, *of = numbers_in(word)
        assert of == limit
        assert close(was, before)
        assert now <= min(others) + 1e-4
        (named,) = re.findall(r"the word \*\*(.*?)\*\* from", full)
        same = [pieces for text, pieces in words if in_markdown(text) == named]
        assert any(close(now, without(oracle, step, blocked=pieces)) for pieces in same)

    every = [(f"decoder.layers.{n}.{kind}_attn", h) for kind in KINDS for n in range(layers) for h in range(heads)]
    others = [without(oracle, step, heads_off=(one,)) for one in choose.sample(every, TRIED)]
    if "does not make" in head:
        assert min(others) >= before - 1e-6
    else:
        count, layer, one, was, now = numbers_in(head)
        kind = "cross" if "encoder-decoder" in head else "self"
        assert count == len(every)
        assert close(was, before)
        assert now <= min(others) + 1e-4
        assert ("None of the" in head) == (now > was / 2) or close(now, was / 2, 3)
        assert close(
            now, without(oracle, step, heads_off=((f"decoder.layers.{int(layer) - 1}.{kind}_attn", int(one) - 1),))
        )


def readable_pieces(text: str, seen: Seen, oracle: Forward) -> None:
    expect(text, [READABLE, len(oracle.ids["encoder"])])


WORDS: dict[str, Words] = {
    r"\*\*Why ": why,
    r"Shown: the first \d+ of \d+ pieces of your sentence": readable_pieces,
}
OTHER = check_theatre
