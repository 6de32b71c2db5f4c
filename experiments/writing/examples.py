"""Some everyday sentences to compare the learner's with, run through the model in one batch."""

from collections.abc import Mapping, Sequence

import numpy as np

from experiments.writing.batched_translation import Translated, record_together
from model.files.loaded_model import Array, LoadedModel
from model.text.tokenizer import Token


def example_sentences(loaded: LoadedModel) -> list[str]:
    """The everyday sentences that a model comes with."""
    return list(loaded.about.everyday)


def run_examples(loaded: LoadedModel) -> Mapping[str, Translated]:
    """All of them, run in one batch: one by one they would keep the first visitor waiting."""
    sentences = example_sentences(loaded)
    return dict(zip(sentences, record_together(loaded, sentences, (".hidden", ".sum")), strict=True))


def example_rows(run: Translated, stack: str) -> tuple[Sequence[Token], Mapping[str, Array]]:
    """Pieces of an example sentence, or of its translation; the hidden units and the sums of both stacks."""
    return run.src if stack == "encoder" else run.tgt, run.tensors


def hidden_in_examples(loaded: LoadedModel, stack: str, layer: int) -> tuple[tuple[str, ...], Array]:
    """All pieces of the example sentences, and the hidden units (N,d_ff) of a feed-forward network for each."""
    path = loaded.anatomy.sublayer(stack, layer, "feed_forward").path
    rows = [example_rows(run, stack) for run in run_examples(loaded).values()]
    texts = tuple(token.text for tokens, _ in rows for token in tokens)
    return texts, np.concatenate([tensors[f"{path}.hidden"] for _, tensors in rows])
