"""What a model is for, in words: the languages it works with, and sentences worth trying. Read from about.json."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = "about.json"


@dataclass(frozen=True)
class Example:
    """A sentence one click away.

    says: what the model is held to, a translation, or the word that it guesses first where that is hidden; '' where it
          is known to go wrong
    """

    label: str
    sentence: str
    why: str
    says: str = ""


@dataclass(frozen=True)
class Telling:
    """The head of one kind of attention to look at first, counted from 0, and what it looks at more than any other."""

    layer: int
    head: int
    looks_at: str


@dataclass(frozen=True)
class About:
    """A model in words.

    examples, surprises: sentences one click away; everyday: sentences that lessons compare the visitor's with
    called: what a lesson calls it, within a sentence; unlike: what to expect of it for a text that is no everyday
            English
    source, target: what goes in and comes out, like "English" and "German"; language: the code of the second, like "de"
    untrained_like: the name of the model whose shape this one has, with random weights from `seed`; '' if trained
    vocabulary_of: the name of the model whose vocabulary, languages and sentences this one shares; '' if it has its own
    """

    title: str
    source: str = "input"
    target: str = "output"
    language: str = ""
    examples: tuple[Example, ...] = ()
    surprises: tuple[str, ...] = ()
    everyday: tuple[str, ...] = ()
    telling: Mapping[str, Telling] | None = None
    untrained_like: str = ""
    vocabulary_of: str = ""
    seed: int = 0
    called: str = ""
    unlike: str = ""


def load_about(folder: Path) -> About:
    """Raises: OSError, ValueError, TypeError, KeyError for a file that is missing or damaged"""
    data: dict[str, Any] = json.loads((folder / FILE).read_text(encoding="utf-8"))
    data["examples"] = tuple(Example(**example) for example in data.get("examples", ()))
    data |= {name: tuple(data.get(name, ())) for name in ("surprises", "everyday")}
    data["telling"] = {
        kind: Telling(head["layer"] - 1, head["head"] - 1, head["looks_at"])
        for kind, head in data.get("telling", {}).items()
    }
    return About(**data)
