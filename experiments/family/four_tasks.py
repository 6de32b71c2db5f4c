"""Four tasks by the small BERT, each with a head of its own: a class for a text or a pair, a span, a tag a word."""

import functools
import re
from dataclasses import dataclass

import numpy as np
import torch

from model.adapting.fine_tuned import FineTunedReader
from model.families.encoder_only import EncoderOnly
from model.files.loaded_model import Array, LoadedModel
from model.parts.task_heads import file_of, load_task
from model.text.tokenizer import CLS_ID, SEP_ID

SENTIMENT, PARAPHRASE, QUESTION, TAGS = "sentiment", "paraphrase", "qa_babi", "pos"  # their files' names
# Words as in the texts from which the tags were learned: "don't" is "do" and "n't", "Tom's" is "Tom" and "'s".
WORD = re.compile(r"n't\b|\w+?(?=n't\b)|'(?:s|m|d|ll|re|ve)\b|\w+|[^\w\s]", re.IGNORECASE)

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Answer:
    """A span of a text: its first and last token, counted in the text, and how probable both ends together are."""

    first: int
    last: int
    probability: float


@functools.lru_cache(maxsize=4)
def fine_tuned(loaded: LoadedModel, task: str) -> FineTunedReader:
    """Raises: CheckpointError, naming the file and the repair"""
    assert isinstance(loaded.model, EncoderOnly)
    return load_task(loaded.model, file_of(task))


@torch.inference_mode()
def chances(loaded: LoadedModel, task: str, first: Ids, second: Ids | None = None) -> Array:
    """Softmax of the scores: of the classes of a text or a pair (classes), or of those of its tokens (S,classes).

    The tokens stand as BERT reads them: [CLS] first [SEP], or [CLS] first [SEP] second [SEP].
    """
    model, behind = fine_tuned(loaded, task), () if second is None else (*second, SEP_ID)
    ids = (CLS_ID, *first, SEP_ID, *behind)
    segments = [0] * (len(first) + 2) + [1] * len(behind)
    device = loaded.device.torch
    scores = model(torch.tensor([ids], device=device), torch.tensor([segments], device=device))[0]
    if task == QUESTION:  # which token begins the answer, and which ends it
        return np.asarray(scores.softmax(0).cpu().numpy())
    return np.asarray(scores.softmax(-1).cpu().numpy())


def answer(loaded: LoadedModel, question: Ids, text: Ids) -> Answer:
    """The most probable span of a text, as an answer to a question; the chances of both ends are multiplied."""
    begins, ends = chances(loaded, QUESTION, question, text)[len(question) + 2 : -1].astype(np.float64).T
    both = np.triu(begins[:, None] * ends)  # no span ends before it begins
    first, last = np.unravel_index(both.argmax(), both.shape)
    return Answer(int(first), int(last), float(both[first, last]))


def tags(loaded: LoadedModel, words: tuple[Ids, ...]) -> Array:
    """The probability of each tag for each word (words,tags): what stands at its first token."""
    starts = np.cumsum([1, *map(len, words)])[:-1]
    return chances(loaded, TAGS, tuple(id for word in words for id in word))[starts]
