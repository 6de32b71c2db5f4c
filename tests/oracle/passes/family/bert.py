"""The app's own BERT and GPT once more, in NumPy and float64, from their files: after Devlin et al. 2018 and Radford et
al. 2018 and 2019. Their pieces and words, too.
"""

import functools
import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from tests.oracle.language.statement import tex
from tests.oracle.language.words import Piece
from tests.oracle.language.words import pieces as cut
from tests.oracle.passes import shipped
from tests.oracle.passes.forward import Array, bytes_of, softmax, tidied
from tests.oracle.passes.network import CURVES, Network
from tests.oracle.shown.worked import (
    RULES,
    Blank,
    Index,
    Step,
    factor,
    largest_product,
    linear,
    long_sum,
    of_table,
    sum_of_two,
)

BERT, GPT, ELECTRA = "bert-mini", "gpt-mini", "electra-mini"
NAMES = ("<pad>", "<sos>", "<eos>", "[CLS]", "[SEP]", "[MASK]")
SOS, CLS, SEP, MASK = 1, 3, 4, 5
SIGNS = {8000 + n: f"<{letter}>" for n, letter in enumerate("XYZWVUTSRQPONMLK")}  # T5's, behind the vocabulary
MOST = 99  # pieces of a text that BERT reads here: [CLS] and the last [SEP] stand around them

Ids = tuple[int, ...]


def again(measured: str) -> str:
    """Of two that were trained alike from other random numbers, in percent."""
    _, one, other = (100 * trained[measured] for trained in shipped.metrics(BERT, "seeds.json")["models"])
    return f"{one:.1f}% and {other:.1f}%"


# What is kept of a pass: the lessons show no more, and hundreds of passes stay in memory.
RECORDS = {"tokens", "segments", "with_segments", "positions", "sum", "output", "weights", "normed", "logits"} | {
    "pre_activation",
    "pooled",
    "probabilities",
    "probability",
    "hidden",
    "widened",
}


config, metrics, weights, n_parameters = (
    functools.partial(read, BERT) for read in (shipped.config, shipped.metrics, shipped.weights, shipped.n_parameters)
)


# --- pieces ----------------------------------------------------------------------------------------------------------


@functools.cache
def tokenizer() -> Tokenizer:
    found = shipped.tokenizer(GPT)
    found.encode_special_tokens = True  # a mark that somebody types is text
    return found


def ids_of(text: str) -> Ids:
    return tuple(tokenizer().encode(tidied(text), add_special_tokens=False).ids[:MOST])


def ended(text: str) -> str:
    """With a full stop, if no mark ends it."""
    return text if unicodedata.category(text[-1]).startswith("P") else f"{text}."


@functools.cache
def raw(id: int) -> bytes:
    return b"" if id < len(NAMES) or id in SIGNS else bytes_of(tokenizer().id_to_token(id))


def entry(id: int) -> str:
    """What stands on the card of a vocabulary entry."""
    if id < len(NAMES) or id in SIGNS:
        return SIGNS.get(id) or NAMES[id]
    return plain(id).strip(" ") or " "


def plain(id: int) -> str:
    """Its text; in hexadecimal if its bytes are no whole character."""
    try:
        return raw(id).decode()
    except UnicodeDecodeError:
        return f"‹{raw(id).hex(' ').upper()}›"


def together(ids: Sequence[int]) -> str:
    """The text of pieces; of each alone if they cut a character in two."""
    try:
        return b"".join(map(raw, ids)).decode()
    except UnicodeDecodeError:
        return "".join(map(plain, ids))


def pieces(ids: Sequence[int]) -> tuple[Piece, ...]:
    return cut(ids, raw, entry)


def words(sequence: Sequence[Piece]) -> list[tuple[int, ...]]:
    """The pieces of each word, by index."""
    groups: list[list[int]] = []
    for n, piece in enumerate(sequence):
        if n and piece.word == sequence[n - 1].word:
            groups[-1].append(n)
        else:
            groups.append([n])
    return [tuple(group) for group in groups]


# --- passes ----------------------------------------------------------------------------------------------------------


class Reader(Network):
    """A pass over ids, marks included, up to the encoder's rows, `states`.

    segments: 0 in the first text, 1 in the second; 0 everywhere if left out; changed: weights that are others, by name;
    name: of another model of its form
    """

    def __init__(
        self,
        ids: Sequence[int],
        segments: Sequence[int] | None = None,
        changed: Mapping[str, Array] | None = None,
        name: str = BERT,
    ) -> None:
        super().__init__(shipped.config(name), shipped.weights(name) | dict(changed or {}), records=RECORDS)
        self.ids = list(ids)
        self.segments = list(segments or [0] * len(self.ids))
        x = self.embed("encoder", self.ids, segments=self.segments)
        if "widen.weight" in self.w:
            x = self.keep("encoder.widened", self.linear("widen", x))
        self.states = self.stack("encoder", x, self.seen)


class Bert(Reader):
    """BERT's pass: what it says of every row, and whether the second text follows the first."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        x = self.states
        hidden = CURVES["gelu"](self.linear("masked_token.transform", x))
        asked = self.keep("masked_token.normed", self.normalise("layer", "masked_token.norm", hidden))
        self.keep("logits", asked @ self.w["embedding.matrix.weight"].T + self.w["masked_token.bias"])
        pooled = np.tanh(self.keep("next_sentence.pre_activation", self.linear("next_sentence.pooler", x[:1])))
        self.keep("next_sentence.pooled", pooled)
        scores = self.keep("next_sentence.logits", self.linear("next_sentence.classifier", pooled))
        self.keep("next_sentence.probabilities", softmax(scores))

    def said_after(self, n: int, row: int) -> Array:
        """The probabilities (V) that the output makes of a row after n layers."""
        state = self[f"encoder.layers.{n - 1}.add_norm_2.output"][row]
        hidden = CURVES["gelu"](self.linear("masked_token.transform", state))
        asked = self.normalise("layer", "masked_token.norm", hidden)
        return softmax(self.w["embedding.matrix.weight"] @ asked + self.w["masked_token.bias"])


class Electra(Reader):
    """ELECTRA's pass over a text without its marks: how likely each row's token was swapped. Clark et al. 2020, §2."""

    def __init__(self, ids: Ids) -> None:
        super().__init__([CLS, *ids, SEP], name=ELECTRA)
        self.keep("replaced.hidden", CURVES["gelu"](self.linear("replaced.transform", self.states)))
        scores = self.keep("logits", self.linear("replaced.score", self["replaced.hidden"]))
        self.keep("probability", 1 / (1 + np.exp(-scores)))


@functools.cache
def gpt() -> Network:
    return Network(shipped.config(GPT), shipped.weights(GPT), records="kv")


@functools.lru_cache(256)
def read(ids: Ids, hidden: Ids = (), name: str = BERT) -> Bert:
    """BERT's pass over a text whose pieces at some places are hidden, or that of another model of its form."""
    return Bert([CLS, *(MASK if n in hidden else id for n, id in enumerate(ids)), SEP], name=name)


suspected = functools.lru_cache(256)(Electra)


@functools.lru_cache(256)
def read_pair(first: Ids, second: Ids) -> Bert:
    return Bert([CLS, *first, SEP, *second, SEP], [0] * (len(first) + 2) + [1] * (len(second) + 1))


@functools.lru_cache(256)
def both_sides(ids: Ids, hidden: Ids, at: int) -> Array:
    """BERT's probability of every entry at one place."""
    return softmax(read(ids, hidden)["logits"][at + 1])


@functools.lru_cache(256)
def left_alone(before: Ids) -> Array:
    """GPT's probability of every entry behind these pieces."""
    return softmax(gpt().next_logits([SOS, *before]))


class Compared:
    """A teacher’s logits (V) of one blank and a student’s, at a temperature: p, q, what each entry adds to the KL."""

    def __init__(self, teacher: Array, student: Array, t: float = 1.0) -> None:
        self.t, self.tensors = t, {"teacher.logits": teacher, "student.logits": student}
        self.p, self.q = (np.exp(z / t - np.log(np.exp(z / t).sum())) for z in (teacher, student))
        self.tensors["divergence"] = np.stack([self.p, self.q, self.p * np.log(self.p / self.q)], 1)
        self.kl = float(self["divergence"][:, 2].sum())

    def __getitem__(self, name: str) -> Array:
        return self.tensors[name]


# --- Check -----------------------------------------------------------------------------------------------------------


def logit_with_bias(oracle: Any, name: str, index: Index) -> Step:
    row, id = index
    rows = oracle["masked_token.normed"][row], oracle["embedding.matrix.weight"][id]
    named, total = long_sum(*rows)
    bias = oracle["masked_token.bias"][id]
    return Step(
        f"Row {row + 1}, as the head made it, times the embedding of entry {id}, plus a bias of this entry: the more "
        f"alike the two, the larger the logit. {named}",
        f"{total} + {factor(bias)} = {tex(oracle[name][index])}",
        f't["masked_token.normed"][{row}] @ t["embedding.matrix.weight[{id}]"] + t["masked_token.bias"][{id}]',
        largest_product(*rows),
    )


def looked_up(oracle: Any, name: str, index: Index) -> Step:
    row, dimension = index
    value, id = oracle[name][index], oracle.segments[row]
    if name.endswith("segments"):
        says = f"This piece stands in text {id + 1}, so this is dimension {dimension + 1} of row {id + 1} of S."
        return of_table(value, says, ("embedding.segments.weight", id, dimension), 2)
    says = f"The id is {oracle.ids[row]}, so this is dimension {dimension + 1} of the row of E that belongs to it."
    return of_table(value, says, ("embedding.matrix.weight", oracle.ids[row], dimension), config()["vocab_size"])


def learned_place(oracle: Any, name: str, index: Index) -> Step:
    row, dimension = index
    return Step(
        f"Position {row + 1} has a vector of its own: row {row + 1} of a table that was learned. This is dimension "
        f"{dimension + 1} of it.",
        rf"p_{{{row + 1},{dimension + 1}}} = {tex(oracle[name][index])}",
        f't["embedding.positions.table.weight[{row}]"][{dimension}]',
    )


def two_added(oracle: Any, name: str, index: Index) -> Step:
    what = ("tokens", "segments") if name.endswith("with_segments") else ("with_segments", "positions")
    names = [f"encoder.embedding.{one}" for one in what]
    return sum_of_two(oracle, "Two vectors are added, element by element.", names, index)


def widened(oracle: Any, name: str, index: Index) -> Step:
    return linear(oracle, name, index, "the narrow rows", "encoder.embedding.output", "widen", "W")


def classified(oracle: Any, name: str, index: Index) -> Step:
    return linear(oracle, name, index, "what goes in", "next_sentence.pooled", "next_sentence.classifier", "W")


def swap_score(oracle: Any, name: str, index: Index) -> Step:
    return linear(oracle, name, index, "what goes in", "replaced.hidden", "replaced.score", "W")


def swap_chance(oracle: Any, name: str, index: Index) -> Step:
    score = oracle["logits"][index]
    formula = rf"\frac{{1}}{{1 + e^{{{tex(-score)}}}}}"
    return Step(
        "The logistic function σ brings any number to one between 0 and 1: a probability.",
        f"{formula} = {tex(oracle[name][index])}",
        f't["logits"][{index[0]}, {index[1]}]'.join(("1 / (1 + np.exp(-", "))")),
        Blank(formula, 1 / (1 + math.exp(-round(score, 4)))),
    )


def share_of_two(oracle: Any, name: str, index: Index) -> Step:
    row, column = index
    scores = oracle["next_sentence.logits"][row]
    powers = [f"e^{{{tex(score)}}}" for score in scores]
    return Step(
        "Softmax turns 2 scores into probabilities: e to the power of this one, over the sum for all.",
        rf"\frac{{{powers[column]}}}{{{' + '.join(powers)}}} = {tex(oracle[name][index])}",
        f'row = np.exp(t["next_sentence.logits"][{row}].astype(float))\nrow[{column}] / row.sum()',
        Blank(powers[column], math.exp(round(scores[column], 4))),
    )


def of_student(oracle: Any, name: str, index: Index) -> Step:
    entry, column = index
    value, names = tex(oracle[name][index]), ("teacher.logits", "student.logits")
    if column == 2:
        logs = [math.log(one[entry]) for one in (oracle.p, oracle.q)]
        difference = f"{tex(logs[0])} - {factor(logs[1])}"
        lines = [f'{x} = t["{one}"].astype(float) / {oracle.t:g}' for x, one in zip("pq", names, strict=True)]
        lines += [f"{x} = {x}[{entry}] - {x}.max() - np.log(np.exp({x} - {x}.max()).sum())" for x in "pq"]
        return Step(
            "What this piece adds to the KL divergence: p · ln(p/q), and ln(p/q) is ln p − ln q. It is below 0 where "
            "the student gives the piece more than the teacher does.",
            rf"{tex(oracle.p[entry])}\cdot ({difference}) = {value}",
            "\n".join([*lines, "np.exp(p) * (p - q)"]),
            Blank(difference, round(logs[0], 4) - round(logs[1], 4)),
        )
    z = oracle[names[column]]
    top = z.max()
    power = f"e^{{({tex(z[entry])} - {factor(top)}) / {oracle.t:g}}}"
    return Step(
        f"Softmax at temperature {oracle.t:g} over {len(z):,} logits. The largest, {tex(top)}, is first taken off this "
        f"one; what is left is divided by {oracle.t:g}. Below the line stands the sum of such powers for all.",
        rf"\frac{{{power}}}{{{tex(np.exp((z - top) / oracle.t).sum())}}} = {value}",
        f'x = (t["{names[column]}"].astype(float) - t["{names[column]}"].max()) / {oracle.t:g}\n'
        f"np.exp(x[{entry}]) / np.exp(x).sum()",
        Blank(power, math.exp((round(z[entry], 4) - round(top, 4)) / oracle.t)),
    )


def _of_bert(pattern: str, own: Any, kind: type[Reader] = Reader) -> None:
    """This rule for such a pass, the one there was for others."""
    other = RULES.get(pattern)
    RULES[pattern] = lambda oracle, name, index: (
        own(oracle, name, index) if isinstance(oracle, kind) or other is None else other(oracle, name, index)
    )


_of_bert("logits", logit_with_bias, Bert)
_of_bert("logits", swap_score, Electra)
_of_bert(r".*\.embedding\.tokens", looked_up)
_of_bert(r".*\.embedding\.positions", learned_place)
RULES |= {
    r"encoder\.embedding\.segments": looked_up,
    r"encoder\.widened": widened,
    r"encoder\.embedding\.(with_segments|sum)": two_added,
    r"next_sentence\.logits": classified,
    r"next_sentence\.probabilities": share_of_two,
    "divergence": of_student,
    "probability": swap_chance,
}
