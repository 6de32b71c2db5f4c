"""Models beside the visitor's own: loaded by name; the small GPT and BERT, at work on the visitor's text."""

import unicodedata

from experiments.family.seeds import trained_again
from model.decoding.strategies import Greedy
from model.files.checkpoint import broken
from model.files.loaded_model import MODELS, LoadedModel, UnknownModelError
from model.trace import Trace, most_tokens
from ui import engine
from ui.text import number

BERT, GPT = "bert-mini", "gpt-mini"
ADDED = "A full stop was added: BERT and GPT learned from texts that end with a mark."
LONGER = 20  # pieces that the GPT writes at most


def family_model(name: str) -> LoadedModel:
    """A model that comes with the app. Raises: CheckpointError if it is missing or broken"""
    try:
        return engine.model(name)
    except UnknownModelError as error:
        raise broken(MODELS / name, error) from error


def again(measured: str) -> str:
    """What chance alone does to a figure of BERT: that of two more, in percent. Raises: CheckpointError"""
    return " and ".join(f"{number(100 * share, 1)}%" for share in trained_again(measured))


def finished(text: str) -> str:
    """A text with a full stop behind it if no mark ends it, as one ends the texts that the two learned from."""
    return text if unicodedata.category(text.rstrip()[-1:] or ".").startswith("P") else f"{text.rstrip()}."


def goes_on(text: str, first: tuple[int, ...] = ()) -> Trace:
    """The GPT writes behind a text, always the likeliest piece; of a text that fills all its places, behind the
    beginning.

    Args:   first: the pieces that it has to write first
    Raises: CheckpointError
    """
    loaded = family_model(GPT)
    ids, most = loaded.tokenizer.encode(text), most_tokens(loaded)
    if len(ids) >= most:
        ids = ids[: most - LONGER]
        text = loaded.tokenizer.decode(ids)
    return engine.trace(text, decoding=Greedy(min(len(ids) + LONGER, most), first), name=GPT)
