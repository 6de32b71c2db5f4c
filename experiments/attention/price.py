"""What attention costs in a text of N positions: seconds and memory on this machine, multiplications, bytes held."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from model.parts.attention import scaled_dot_product_attention
from model.parts.efficient_attention import linear_attention, windowed_attention

LENGTHS = tuple(2**n for n in range(4, 14))  # positions: 16 to 8,192
D_K, REACH, ROWS, RUNS = 64, 64, 256, 5  # ROWS: of the square at a time, so that no step holds up others for long
BYTES = 4  # of a number
WINDOW = 2 * REACH + 1

Way = Callable[[Tensor, Tensor, Tensor], Iterable[Callable[[], Tensor]]]


class Price(NamedTuple):
    """What one head took. bytes: of all arrays made on the way, those let go before the end among them"""

    seconds: float
    bytes: int


Prices = dict[str, list[Price]]  # of each of LENGTHS, by way


class Allocations(TorchDispatchMode):
    """While entered, adds up the bytes of what this thread's operations make; views make nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        given = storages((args, kwargs))
        self.bytes += sum(size for at, size in storages(made).items() if at not in given)
        return made


def storages(values: Any) -> dict[int, int]:
    """Where the tensors among some values lie, and how many bytes each such place has."""
    found = (one.untyped_storage() for one in tree_leaves(values) if isinstance(one, Tensor))
    return {one.data_ptr(): one.nbytes() for one in found}


def every_pair(q: Tensor, k: Tensor, v: Tensor) -> Iterator[Callable[[], Tensor]]:
    """Softmax attention in strips of the square, each a step."""
    for start in range(0, q.size(-2), ROWS):
        yield partial(scaled_dot_product_attention, q[..., start : start + ROWS, :], k, v)


WAYS: Mapping[str, Way] = {
    "every pair": every_pair,
    "window": lambda q, k, v: [partial(windowed_attention, q, k, v, REACH)],
    "one state": lambda q, k, v: [partial(linear_attention, q, k, v)],
}


def allocated(step: Callable[[], Tensor]) -> int:
    """Bytes that torch allocates for a step, its result among them."""
    # In inference mode torch would show products of matrices as one operation and hide the copies made inside.
    with torch.inference_mode(mode=False), torch.no_grad(), Allocations() as seen:
        step()
    return seen.bytes


@torch.inference_mode()
def measure(prices: Prices, ways: Mapping[str, Way] = WAYS) -> Generator[float, None, Prices]:
    """What one head takes by each way: the seconds of the fastest of RUNS, and the bytes of one more that is not timed.

    Yields:  how far it has come, from 0 to 1, after every step; prices are written into `prices` as they come
    """
    prices.update((way, []) for way in ways)
    n_done, n_all = 0, len(LENGTHS) * len(ways) * (RUNS + 1)
    for length in LENGTHS:
        q, k, v = torch.randn(3, 1, 1, length, D_K)
        for way, steps in ways.items():
            size, runs = 0, []
            for step in steps(q, k, v):
                size += allocated(step)
                yield n_done / n_all
            n_done += 1
            for _ in range(RUNS):
                spent = 0.0
                for step in steps(q, k, v):
                    start = time.perf_counter()
                    step()
                    spent += time.perf_counter() - start
                    yield n_done / n_all
                runs.append(spent)
                n_done += 1
            prices[way].append(Price(min(runs), size))
    return prices


def work(way: str, length: int, d_model: int, n_heads: int) -> tuple[int, int]:
    """Of all heads together, from the projections to the result: multiplications, and bytes of weights or of a state
    and the sum of the keys.
    """
    d_k = d_model // n_heads
    meets = {"every pair": length, "window": WINDOW, "one state": d_k}[way]  # of each position
    return 2 * length * meets * d_model, BYTES * n_heads * (d_k * (d_k + 1) if way == "one state" else length * meets)
