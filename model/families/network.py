"""What the app asks of a model of any family."""

from typing import Any

from torch import Tensor, nn

from model.decoding.cache import KeyValueCache
from model.tap import Tap, no_tap


class Network(nn.Module):
    """A model that may read a source (`encode`) and may write a target (`decode`). The families say what they do."""

    embedding: Any  # has `matrix`, its nn.Embedding, and `positions`, its position scheme

    def new_cache(self) -> KeyValueCache:
        """An empty cache for `decode`. Raises: NotImplementedError where nothing is written"""
        raise NotImplementedError(f"{type(self).__name__} writes nothing")

    def encode(self, src_ids: Tensor, tap: Tap = no_tap) -> Any:
        """What the target is written from: the memory (B,S,d_model) of src_ids (B,S), or None without a source."""
        raise NotImplementedError

    def decode(
        self, tgt_ids: Tensor, memory: Any, src_ids: Tensor, tap: Tap = no_tap, cache: KeyValueCache | None = None
    ) -> Tensor:
        """logits (B,t,vocab_size) of tgt_ids (B,T): of all t = T positions, or of the newest t that a cache lacks.

        Raises: NotImplementedError where nothing is written
        """
        raise NotImplementedError(f"{type(self).__name__} writes nothing")

    def output(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        """logits (B,T,vocab_size) of the rows x (B,T,d_model) that the last stack returns."""
        raise NotImplementedError
