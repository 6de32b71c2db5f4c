"""The translation as text, and the line that says where the model may be lost."""

import functools
import itertools
import json
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import number, visible
from tests.oracle.language.common import Statements
from tests.oracle.language.page import chances
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import pieces, text_of, words
from tests.oracle.passes.decode import LONGEST
from tests.oracle.passes.forward import EOS, FOLDER, Forward

prose = Prose("translation")
TO_TWELVE = "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"


@functools.cache
def listed(file: str) -> frozenset[str]:
    return frozenset((FOLDER / file).read_text(encoding="utf-8").split())


def is_known(word: str) -> bool:
    return not {word.lower(), word.lower().split("'")[0]}.isdisjoint(listed("english_words.txt"))


@functools.cache
def is_german(word: str) -> bool:
    """A word of the list, or words of four letters and more with what German puts between them; never over 60."""
    german = listed("german_words.txt")
    if word in german:
        return True
    return len(word) <= 60 and any(
        word[:end] in german and any(is_german(word[end:].removeprefix(joint)) for joint in joints(word[end:]))
        for end in range(4, len(word) - 3)
    )


def joints(rest: str) -> list[str]:
    return [
        joint
        for joint in ("", "s", "n", "en", "es", "e", "er")
        if rest.startswith(joint) and len(rest) - len(joint) >= 4
    ]


def missing(text: str, german: str) -> str:
    """The first number, or name amid the sentence, that the translation has not; words for numbers to twelve alone."""
    numbers = [re.sub(r"\D", "", one) for one in re.findall(r"[\d.,:/]+", german)]
    numbers += [str(n) for n, word in enumerate(TO_TWELVE.split()) if re.search(rf"\b{word}\b", german, re.IGNORECASE)]
    for one in re.findall(r"\d(?:[\d.,:/]*\d)?", text):
        if re.sub(r"\D", "", one) not in numbers:
            return one
    typed = text.split(" ")
    after = [re.findall(r"[^\W\d_]*", b)[0] for a, b in itertools.pairwise(typed) if re.search(r"[\w,]$", a)]
    names = [name for name in after if len(name) > 1 and name[0].isupper() and not is_known(name)]
    return next((name for name in names if not re.search(rf"\b{name}s?\b", german, re.IGNORECASE)), "")


def translation(text: str, oracle: Forward, own: bool = True) -> Statements:
    """What is written, whether it is doubted, and whether it had come to an end."""
    yield from doubted(text, oracle, own)
    if oracle.labels[-1] != EOS:
        yield from prose("no end", LONGEST)


def doubted(text: str, oracle: Forward, own: bool) -> Statements:
    """One word of it is underlined, and a line says why, if there is something to doubt in what the model chose."""
    labels, shares = pieces(oracle.labels), chances(oracle)
    german, written = text_of(oracle.labels), words(labels)
    measured = json.loads((FOLDER / "doubt.json").read_text())
    mean = float(np.mean([p for p, label in zip(shares, labels, strict=True) if label.id != EOS] or shares))
    plain = Statement("translation", visible(german) or "(no words)")
    yield Statement("label", "German translation")

    lettered = [word for word in written if word.text.isalpha()]
    typed = re.findall(r"[^\W\d_]+", text)
    given = {word for found in typed for word in (found.lower(), f"{found.lower()}s")}
    unknown = [one for one in lettered if one.text.lower() not in given and not is_german(one.text.lower())]
    strange = [word for word in typed if word[1:] and word.lower() not in listed("english_words.txt")]
    in_german = set(re.findall(r"[^\W\d_]+", german.lower()))
    strange = [word for word in strange if word.islower() or in_german.isdisjoint((word.lower(), f"{word.lower()}s"))]
    looks_german = [word for word in typed if word.lower() in listed("german_words.txt") and not is_known(word)]
    absent = missing(text, german)
    if typed and len(looks_german) > len(typed) / 2:
        run, among = "lost in German", []
    elif text == text.upper() != text.lower() and sum(len(word) > 1 for word in typed) > 1:
        run, among = "lost in capitals", []
    elif absent:
        of_kind = [word for word in written if not {*re.findall(r"\d+", word.text)} <= {*re.findall(r"\d+", text)}]
        if not absent[0].isdigit():
            of_kind = [word for word in lettered if not is_german(word.text.lower())]
        run, among = "lost what is in the sentence", of_kind or lettered
    elif unknown:
        run, among = "lost in an unknown word", unknown
    elif strange:
        run, among = "lost in a word hardly read", lettered
    else:
        run, among = "lost and least sure" if lettered else "lost", lettered
        own = own and mean < measured["bound"]
    if not own:
        yield plain
        return
    least = min(among, key=lambda one: math.prod(float(shares[n]) for n in one.pieces), default=None)
    of_text = {"lost what is in the sentence": absent, "lost in a word hardly read": next(iter(strange), "")}
    said = [of_text[run]] if run in of_text else [least.text] if least else []
    yield plain if least is None else underlined(german, oracle.labels[: least.pieces[-1] + 1], least.text) or plain
    yield Statement("opens", {"line": prose.line(run, *map(visible, said)), "more": how_often(mean, measured)})


def underlined(german: str, ids: Sequence[int], word: str) -> Statement | None:
    """The translation with a word underlined that these ids end in; nothing where bytes hide it."""
    through = text_of(ids)
    parts = through.removesuffix(word), word, german.removeprefix(through)
    return Statement("translation", [visible(part) for part in parts]) if "".join(parts) == german else None


def how_often(mean: float, measured: dict[str, Any]) -> str:
    """What the file beside the weights says of the sentences on which the bound was chosen."""
    n, bad, doubted, rightly, word, all_words = measured["validation"].values()
    return prose.line(
        "how often it is right",
        number(mean, 3),
        number(measured["bound"], 3),
        f"{n:,}",
        doubted,
        rightly,
        doubted - rightly,
        bad - rightly,
        word,
        f"{all_words:.0%}",
    )
