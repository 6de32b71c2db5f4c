"""What the stage sends to the browser, once for a sentence: every number it draws, and the story."""

import zlib
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np

from figures.statistics import softmax
from model.files.loaded_model import Array
from model.trace import Trace
from ui.components.stage.near import Near, View, near_of
from ui.components.stage.parts import Panel, Part, panels_of, tensor_names
from ui.components.stage.story import Moment, blank_of, clip_of, given_rows, story
from ui.text import piece, visible

N_CANDIDATES = 5
LOWEST = -7  # power of ten; there are twelve
SPECIAL = 240  # the first byte of NaN; then ∞ and −∞


def stage_data(
    trace: Trace, links: Mapping[str, str] | None = None, shows: Collection[str] = (), view: View | None = None
) -> dict[str, Any]:
    """What the browser gets to play the ride of a sentence: see `stage`.

    Args:    links: the blocks that have a lesson, by the id the map gives them, and its title
             shows: of a clip, what it shows (see `clip_of`); only the numbers of that are sent
             view: of a clip, how it shows its last block from near, one moment more at its end
    Returns: a dict for JSON, but for its numbers:
             id, another one for every sentence, model and clip; text
             intro: what each stack does, in words
             clip: numbers of the first and last moment that are played
             panels: stacks with their tokens, the ids of these, and their blocks; every block names its tensors by
             their numbers in `tensors`, and its lesson
             tensors: name and shape of each, and where it begins in numbers: all of them, see `packed`
             entries: how many pieces the model knows; counts: what a row of `steps` is called
             steps: for each piece written (of an encoder alone, for each piece read) the likeliest candidates, their
             probabilities and ids, and which was taken; the text written by then; of an encoder alone, the text with
             its first blank filled
             moments: see `story.Moment`
             near: of a clip that ends near, the view and the numbers of its tensors; else None
    """
    panels = panels_of(trace.model.anatomy, trace.model.about)
    moments = story(trace)
    clip = clip_of(moments, panels, shows) if shows else (0, len(moments) - 1)
    names = tensor_names(panels)
    near = None
    if shows:
        seen = _seen(panels, moments, *clip)
        last = moments[clip[1]]
        near = near_of(trace, view, panels[last.panel].parts[last.part], last) if view else None
        names = tuple(name for name in names if name in seen)
    if near:
        names = tuple(dict.fromkeys((*names, *near.reads.values())))
        clip = clip[0], clip[1] + 1
        moments.insert(clip[1], near.moment)
    starts, sent = placed([trace.tensors[name] for name in names])
    numbers = packed(sent)
    identity = "\0".join((trace.model.name, trace.text, *map(str, (*trace.label_ids, *clip))))
    return {
        "id": sha256(identity.encode() + numbers).hexdigest()[:16],
        "text": piece(trace.text),
        "intro": " ".join(_does(panel, trace) for panel in panels),
        "clip": clip,
        "given": given_rows(trace),
        "entries": trace.model.tokenizer.vocab_size,
        "counts": "Step" if trace.model.anatomy.writes_target else "Piece",
        "panels": [_panel(trace, panel, names, panels, links or {}) for panel in panels],
        "tensors": [[name, list(trace.tensors[name].shape), start] for name, start in zip(names, starts, strict=True)],
        "numbers": numbers,
        "steps": _steps(trace),
        "moments": [vars(moment) for moment in moments],
        "near": _near(near, names) if near else None,
    }


def _does(panel: Panel, trace: Trace) -> str:
    """“The encoder reads English.”"""
    about, writes = trace.model.about, panel.writes and trace.model.anatomy.writes_target
    does, language = ("writes", about.target) if writes else ("reads", about.source)
    return f"The {panel.name} {does} {language}."


def _near(near: Near, names: tuple[str, ...]) -> dict[str, Any]:
    numbers = {what: names.index(name) for what, name in near.reads.items()}
    return {"view": near.view, "spreads": near.spreads, **numbers}


def _seen(panels: Sequence[Panel], moments: Sequence[Moment], first: int, last: int) -> set[str]:
    """The tensors seen in these moments: of their blocks, of those open before them, and of the memory they read."""
    before = {moment.panel: moment for moment in moments[:first]}.values()
    parts: list[Part] = []
    for moment in (*before, *moments[first : last + 1]):
        own = panels[moment.panel].parts
        parts += own[max(0, moment.part - 1) : moment.part + 1]
        parts += [panel.parts[-1] for panel in panels if panel.name == own[moment.part].memory]
    return {name for part in parts for name in (part.added, part.result, part.weights)}


def placed(arrays: Sequence[Array]) -> tuple[list[int], list[Array]]:
    """Where each array begins among the numbers that are sent, and the arrays to send.

    One that another begins with is not sent twice: the positions of one stack are those of the other.
    """
    starts, end = [0] * len(arrays), 0
    sent: list[tuple[int, Array]] = []
    for n in sorted(range(len(arrays)), key=lambda n: -arrays[n].size):  # what begins another comes after it
        flat = arrays[n].ravel()
        for start, other in sent:
            if other[0] == flat[0] and np.array_equal(other[: flat.size], flat):
                starts[n] = start
                break
        else:
            starts[n], end = end, end + flat.size
            sent.append((starts[n], flat))
    return starts, [flat for _, flat in sent]


def packed(arrays: list[Array]) -> bytes:
    """Arrays as the stage shows them, one after the other, two bytes a number; deflated. A number has three digits, but
    at most four decimals; of one that these make 0 it is kept that it is not.

    The first byte is 120 for a change of sign, plus 10 for each power of ten above 10⁻⁷, plus the first digit; the
    second is the other two digits, plus 100 if the number is a little less and its whole percent would be another: the
    picture says 95% of 0.9547, which has the digits 0.955, and not 100% of 0.9999. NaN, ∞ and −∞ are SPECIAL and what
    follows. A sign changes against that of the same place in the array before, if that is of the same size, else
    against plus: from block to block few do. All first bytes stand before all second ones: signs and sizes vary little,
    so they pack well; the last digits hardly do.
    """
    values = np.concatenate([np.asarray(array, np.float64).ravel() for array in arrays])
    sizes = np.abs(values)
    four_decimals = np.where(sizes > 0, np.maximum(np.rint(1e4 * sizes), 0.1), 0) / 1e4
    sizes = np.where(sizes < 0.1, four_decimals, sizes)
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.clip(np.floor(np.log10(sizes)), LOWEST, LOWEST + 11)
        digits = np.rint(sizes / 10 ** (power - 2))
    up = digits == 1000  # 9.996 is 10.0
    power, digits = power + up, np.where(up, 100, digits)
    sent = np.where(sizes < 1.001, np.rint(1e4 * digits * 10 ** (power - 2)), 0)  # in hundredths of a percent
    is_a_turn = (sent % 100 == 50) | (sent == 100) | (sent == 1e4)
    less = is_a_turn & (1e4 * np.abs(values) < sent - 0.01 * (sent == 1e4))  # sums of shares are 1 up to rounding
    beyond = ~(digits < 1000) | (power > LOWEST + 11)
    special = SPECIAL + np.where(np.isnan(values), 0, np.where(values > 0, 1, 2))
    negative = values < 0
    digits, power = np.where(beyond, 0, digits), np.where(beyond, 0, power)
    changes, end = negative.copy(), 0
    for before, array in pairwise(arrays):
        start, end = end, end + before.size
        if before.size == array.size:
            changes[end : end + array.size] ^= negative[start:end]
    first = np.where(beyond, special, 120 * changes + 10 * (power - LOWEST) + digits // 100)
    # Of the ways that zlib has, the one that makes most of such numbers; a code of its own for every few thousand.
    packer = zlib.compressobj(9, memLevel=6, strategy=zlib.Z_FILTERED)
    planes = first.astype(np.uint8).tobytes() + (digits % 100 + 100 * less).astype(np.uint8).tobytes()
    return packer.compress(planes) + packer.flush()


def _panel(
    trace: Trace, panel: Panel, names: tuple[str, ...], panels: tuple[Panel, ...], links: Mapping[str, str]
) -> dict[str, Any]:
    number = {name: n for n, name in enumerate(names)}
    stack = {one.name: n for n, one in enumerate(panels)} | {"": -1}
    tokens = trace.tokens(panel.tokens)
    return {
        "name": panel.name,
        "width": trace.tensors[panel.parts[0].result].shape[-1],
        "side": "source" if panel.tokens == "src" else "target",
        "tokens": [piece(token.text) for token in tokens],
        "ids": [token.id for token in tokens],
        "parts": [
            {
                "id": part.id,
                "kind": part.kind,
                "layer": part.layer,
                "label": part.label,
                "result": number.get(part.result, -1),
                "added": number.get(part.added, -1),
                "weights": number.get(part.weights, -1),
                "memory": stack[part.memory],
                "causal": part.causal,
                "lesson": links.get(part.id, ""),
            }
            for part in panel.parts
        ],
    }


def _steps(trace: Trace) -> list[dict[str, Any]]:
    """The likeliest pieces of every step; the one that was taken is among them."""
    steps, tokenizer = [], trace.model.tokenizer
    shares = softmax(trace.tensors["logits"].astype(np.float64))
    reads_alone = not trace.model.anatomy.writes_target
    for n, row in enumerate(shares):
        top = np.argpartition(-row, N_CANDIDATES)[:N_CANDIDATES]
        best = sorted(map(int, top), key=lambda id: -float(row[id]))
        taken = best[0] if reads_alone else trace.label_ids[n]
        if taken not in best:
            best[-1] = taken
        written = _filled(trace, n, taken) if reads_alone else tokenizer.decode(trace.label_ids[: n + 1])
        steps.append(
            {
                "candidates": [[piece(tokenizer.token_text(id)), round(float(row[id]), 6), id] for id in best],
                "chosen": best.index(taken),
                "written": visible(written),
            }
        )
    return steps


def _filled(trace: Trace, row: int, id: int) -> str:
    """The text that an encoder alone reads, with its guess in the first blank; '' for every other row."""
    if row != blank_of(trace):
        return ""
    return trace.model.tokenizer.decode([*trace.src_ids[:row], id, *trace.src_ids[row + 1 :]])
