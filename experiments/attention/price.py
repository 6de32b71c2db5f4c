"""What attention costs in a text of N positions: seconds on this machine, multiplications, and bytes that are held."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from functools import partial

import torch
from torch import Tensor

from model.parts.attention import scaled_dot_product_attention
from model.parts.efficient_attention import linear_attention, windowed_attention

LENGTHS = tuple(2**n for n in range(4, 14))  # positions: 16 to 8,192
D_K, REACH, ROWS, RUNS = 64, 64, 256, 5  # ROWS: of the square at a time, so that no step holds up others for long
BYTES = 4  # of a number
WINDOW = 2 * REACH + 1

Seconds = dict[str, list[float]]
Way = Callable[[Tensor, Tensor, Tensor], Iterable[Callable[[], Tensor]]]


def every_pair(q: Tensor, k: Tensor, v: Tensor) -> Iterator[Callable[[], Tensor]]:
    """Softmax attention in strips of the square, each a step."""
    for start in range(0, q.size(-2), ROWS):
        yield partial(scaled_dot_product_attention, q[..., start : start + ROWS, :], k, v)


WAYS: Mapping[str, Way] = {
    "every pair": every_pair,
    "window": lambda q, k, v: [partial(windowed_attention, q, k, v, REACH)],
    "one state": lambda q, k, v: [partial(linear_attention, q, k, v)],
}


@torch.inference_mode()
def measure(seconds: Seconds, ways: Mapping[str, Way] = WAYS) -> Generator[float, None, Seconds]:
    """The seconds that one head takes by each way, the fastest of RUNS, written into `seconds` as they come.

    Yields:  how far it has come, from 0 to 1, after every step
    Returns: seconds for each of LENGTHS, by way
    """
    seconds.update((way, []) for way in ways)
    n_done, n_all = 0, len(LENGTHS) * len(ways) * RUNS
    for length in LENGTHS:
        q, k, v = torch.randn(3, 1, 1, length, D_K)
        for way, steps in ways.items():
            runs = []
            for _ in range(RUNS):
                spent = 0.0
                for step in steps(q, k, v):
                    start = time.perf_counter()
                    step()
                    spent += time.perf_counter() - start
                    yield n_done / n_all
                runs.append(spent)
                n_done += 1
            seconds[way].append(min(runs))
    return seconds


def work(way: str, length: int, d_model: int, n_heads: int) -> tuple[int, int]:
    """Of all heads together, from the projections to the result: multiplications, and bytes of weights or of a state
    and the sum of the keys.
    """
    d_k = d_model // n_heads
    meets = {"every pair": length, "window": WINDOW, "one state": d_k}[way]  # of each position
    return 2 * length * meets * d_model, BYTES * n_heads * (d_k * (d_k + 1) if way == "one state" else length * meets)
