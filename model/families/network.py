"""What the app asks of a model of any family."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn

from model.decoding.cache import KeyValueCache
from model.parts.layers import Memory
from model.tap import Tap, no_tap


class Inputs(NamedTuple):
    """What goes into a model for a text. src: ids that are read; begun: ids that the target begins with."""

    src: list[int]
    begun: tuple[int, ...] = ()


class Network(nn.Module):
    """A model that may read a source (`encode`) and may write a target (`decode`). The families say what they do.

    embedding: has `matrix`, its nn.Embedding, and `positions`, its position scheme
    n_marks:   how many special tokens stand beside a text
    """

    embedding: Any
    n_marks = 1

    def inputs(self, ids: Sequence[int]) -> Inputs:
        """What goes in for a text of these ids, with its special tokens."""
        raise NotImplementedError

    def new_cache(self) -> KeyValueCache:
        """An empty cache for `decode`. Raises: NotImplementedError where nothing is written"""
        raise NotImplementedError(f"{type(self).__name__} writes nothing")

    def encode(self, src_ids: Tensor, tap: Tap = no_tap) -> Memory:
        """What is read of src_ids (B,S), with who may attend to it; empty where a model has no source."""
        raise NotImplementedError

    def decode(self, tgt_ids: Tensor, memory: Memory, cache: KeyValueCache | None = None, tap: Tap = no_tap) -> Tensor:
        """logits (B,t,vocab_size) of tgt_ids (B,T): of all t = T positions, or of the newest t that a cache lacks.

        Raises: NotImplementedError where nothing is written
        """
        raise NotImplementedError(f"{type(self).__name__} writes nothing")

    def output(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        """logits (B,T,vocab_size) of the rows x (B,T,d_model) that the last stack returns."""
        raise NotImplementedError
