"""Keys and values that decoding need not compute again."""

from collections.abc import Callable

import torch
from torch import Tensor

KeysValues = tuple[Tensor, Tensor]


class NoCache:
    """Remembers nothing: every call computes all keys and values anew, as training does."""

    length = 0  # positions already seen

    def extend(self, path: str, k: Tensor, v: Tensor) -> KeysValues:
        return k, v

    def once(self, path: str, compute: Callable[[], KeysValues]) -> KeysValues:
        return compute()


class KeyValueCache(NoCache):
    """Keys and values of the decoder's past positions, handed to the decoder as an argument.

    Position t's key and value depend on positions 0…t alone (the causal mask sees to it), so they never change once
    computed. `entries` holds one pair k, v (B,H,T,d_k) under each attention's module path.
    """

    def __init__(self) -> None:
        self.entries: dict[str, KeysValues] = {}
        self.length = 0

    def extend(self, path: str, k: Tensor, v: Tensor) -> KeysValues:
        """Append the newest positions' k, v (B,H,t,d_k) to those kept under `path`; return all of them."""
        if path in self.entries:
            past_k, past_v = self.entries[path]
            k, v = torch.cat([past_k, k], dim=2), torch.cat([past_v, v], dim=2)
        self.entries[path] = k, v
        return k, v

    def once(self, path: str, compute: Callable[[], KeysValues]) -> KeysValues:
        """The pair kept under `path`, computed at the first call: the memory's keys and values never grow."""
        if path not in self.entries:
            self.entries[path] = compute()
        return self.entries[path]

    def select(self, rows: Tensor) -> None:
        """Keep these batch rows, in this order: beam search drops some hypotheses and doubles others."""
        self.entries = {path: (k[rows], v[rows]) for path, (k, v) in self.entries.items()}

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape (H,T,d_k) of the keys kept under each path, for one row of the batch; the values have the same."""
        return {path: tuple(k.shape[1:]) for path, (k, _) in self.entries.items()}

    @property
    def nbytes(self) -> int:
        """Memory that all keys and values take, in bytes."""
        return sum(k.nbytes + v.nbytes for k, v in self.entries.values())
