"""Find out when a translation is to be doubted:
`python -m training.measure.doubt VALIDATION.tsv TEST.tsv --learned TRAIN.tsv…`.

The first two hold sentence pairs that the model never saw, the others those it learned from. A word is doubted that
their German (german_words.txt) has not, and that is not made of words of it; a translation, if a number or a name of
the sentence is missing; a sentence, if it has a word that fewer than two of theirs have (english_words.txt), if it is
in capitals, and if its words are German and not among those of english_words.txt. A translation is
bad if its chrF with all that people wrote is under 40. The bound on the mean probability of the pieces is chosen on
VALIDATION, so that a tenth of the translations that are not bad are doubted. It is written to doubt.json in the model's
folder, with what it does on both files, and the model's card tells it. Printed: the same for other things that the
model shows, and how many of each file each reason alone finds.
"""

import argparse
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sacrebleu.metrics.chrf import CHRF

from experiments.attention.head_roles import fingerprint
from experiments.writing.doubt import (
    BAD,
    FILE,
    Counts,
    certainty,
    found_in,
    lettered,
    probability,
    unsure,
)
from experiments.writing.lexicon import READ, WORDS, Lexicon, lexicon_of, listed_words, read_words
from model.files.checkpoint import SHIPPED, WEIGHTS
from model.files.loaded_model import LoadedModel, load_folder
from model.trace import Trace, trace
from training.evaluate import references
from training.publish.translator import CARD

GOOD_DOUBTED = 0.1  # the share of translations that are not bad which may be doubted
HEADING = "## When it may be lost"  # of the card


def mean_log_probability(one: Trace) -> float:
    return float(np.log(one.probabilities).mean())


def least_word(one: Trace) -> float:
    """The probability of the least likely word; 1 where there is none."""
    return min((probability(one, word) for word in lettered(one)), default=1.0)


def sureness(one: Trace) -> float:
    """The negative entropy, in nats, of what the model thought of the vocabulary at a step, on average."""
    log_p = torch.tensor(one.tensors["logits"]).double().log_softmax(-1)
    return float((log_p.exp() * log_p).sum(-1).mean())


# Of each the lower, the more to be doubted. The first is what the app goes by.
MEASURES: Mapping[str, Callable[[Trace], float]] = {
    "mean probability of the pieces": certainty,
    "mean log-probability": mean_log_probability,
    "least likely piece": lambda one: min(one.probabilities),
    "least likely word": least_word,
    "negative entropy": sureness,
}


@dataclass(frozen=True)
class Scored:
    """One translation: what the model shows of it, by measure; whether it is bad; what else there is to doubt, or '';
    whether the word named stands in no translation by people, and the share of its words that do not
    """

    shown: Mapping[str, float]
    bad: bool
    found: str
    word_alone: bool
    words_alone: float


def letters_or_digits(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+|\d+", text.lower())


def scored(loaded: LoadedModel, file: Path, lexicon: Lexicon) -> list[Scored]:
    """Every English sentence of a file, translated greedily and compared with what people wrote."""
    chrf, found = CHRF(), []
    for english, people in references(file).items():
        one = trace(loaded, english)
        theirs = {word for german in people for word in letters_or_digits(german)}
        alone = [word not in theirs for word in letters_or_digits(one.translation)]
        finding = found_in(one, lexicon)
        word = (finding or unsure(one)).word
        found.append(
            Scored(
                {name: measure(one) for name, measure in MEASURES.items()},
                chrf.sentence_score(one.translation, people).score < BAD,
                finding.why if finding else "",
                word is not None and word.label.lower() not in theirs,
                sum(alone) / len(alone) if alone else 0.0,
            )
        )
    return found


def bound_of(rows: Sequence[Scored], measure: str) -> float:
    """With it a tenth of the translations that are not bad are doubted, whatever else was found in them."""
    good = [row for row in rows if not row.bad]
    left = int(GOOD_DOUBTED * len(good)) - sum(bool(row.found) for row in good)
    return sorted(row.shown[measure] for row in good if not row.found)[max(0, left)]


def counts(rows: Sequence[Scored], measure: str, bound: float) -> Counts:
    doubted = [row for row in rows if row.found or row.shown[measure] < bound]
    return Counts(
        len(rows),
        sum(row.bad for row in rows),
        len(doubted),
        sum(row.bad for row in doubted),
        sum(row.word_alone for row in doubted),
        round(sum(row.words_alone for row in doubted) / max(1, len(doubted)), 4),
    )


def in_words(of: Counts) -> str:
    """The shares of bad and of other translations that are doubted, and how many of the doubted are bad."""
    others = (of.doubted - of.rightly) / (of.sentences - of.bad)
    right = of.rightly / max(1, of.doubted)
    return f"{of.rightly / of.bad:.1%} of the bad, {others:.1%} of the other translations; {right:.1%} of those are bad"


def on_card(card: str, found: Mapping[str, Any]) -> str:
    """The model's card with the figures below their heading."""
    test = Counts(**found["test"])
    word, n = test.word / max(1, test.doubted), found["validation"]["sentences"]
    said = (
        f"The app says so where the mean probability of the pieces is under {found['bound']}, or where a word is\n"
        "in no translation by people that it learned from, nor made of words in them, nor in the English; where a\n"
        "word of the sentence is in at most one of theirs, or it is in capitals or German; and where a number or a\n"
        "name of it is missing. On the "
        f"{test.sentences:,} sentences it doubts\n{in_words(test)} (chrF under {BAD:.0f}).\nThe bound was chosen on "
        f"{n:,} others. No translation by people has the word that it underlines\nin {word:.0%} of these; of a word "
        f"drawn from each by chance, in {test.words:.0%}."
    )
    return re.sub(rf"(?<={HEADING}\n).*?(?=\n\n|\Z)", lambda _: said, card, flags=re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.measure.doubt", description=__doc__)
    parser.add_argument("validation", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("--learned", type=Path, nargs="+", required=True, help="what the model learned from")
    parser.add_argument("--model", type=Path, default=SHIPPED, help="folder of another model than the shipped one")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # sentence by sentence, more would only wait for one another
    folder: Path = arguments.model
    loaded = load_folder(folder)
    for name, found_words in ((WORDS, listed_words(arguments.learned)), (READ, read_words(arguments.learned))):
        (folder / name).write_text("\n".join(sorted(found_words)) + "\n", encoding="utf-8")
    lexicon = lexicon_of(folder)
    files: dict[str, Path] = {"validation": arguments.validation, "test": arguments.test}
    parts = {name: scored(loaded, file, lexicon) for name, file in files.items()}
    for measure in MEASURES:
        bound = bound_of(parts["validation"], measure)
        for name, rows in parts.items():
            print(f"{measure}, below {bound:.4f}, {name}: {in_words(counts(rows, measure, bound))}")
    for name, rows in parts.items():
        for why in sorted({row.found for row in rows} - {""}):
            kind = [row for row in rows if row.found == why]
            print(f"{why}, {name}: {sum(row.bad for row in kind)} bad, {sum(not row.bad for row in kind)} others")
    shown = next(iter(MEASURES))
    bound = math.floor(1e4 * bound_of(parts["validation"], shown)) / 1e4
    found = {
        "data": {
            name: {"file": (file := getattr(arguments, name)).name, "sha256": fingerprint(file)} for name in parts
        },
        "model": {"file": WEIGHTS, "sha256": fingerprint(folder / WEIGHTS)},
        "german": {"file": WORDS, "sha256": fingerprint(folder / WORDS)},
        "english": {"file": READ, "sha256": fingerprint(folder / READ)},
        "shows": shown,
        "bound": bound,
        **{name: asdict(counts(rows, shown, bound)) for name, rows in parts.items()},
    }
    (folder / FILE).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    card = folder / CARD
    if card.exists():
        card.write_text(on_card(card.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
