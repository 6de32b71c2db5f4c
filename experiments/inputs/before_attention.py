"""How recurrent networks read a text, beside one layer of self-attention: how far each token reaches, and how long it
takes.
"""

import itertools
import time
from collections.abc import Callable, Generator, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from model.families.readers import READERS, LoadedReaders, Readers, ReadersConfig, gradients
from model.files.loaded_model import Array
from model.parts.recurrent import compiled

LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)  # positions, for measuring time


@torch.inference_mode()
def reading_times(d_model: int) -> Generator[float, None, Mapping[str, tuple[float, ...]]]:
    """Seconds that each reader takes for LENGTHS positions on the processor, the fastest of four runs.

    The loops over steps are the project's own, in Python; "compiled" is torch.nn.LSTM with its loop in C++.

    Yields:  how far it has come, from 0 to 1
    Returns: seconds for each of LENGTHS, by reader
    """
    readers = Readers(ReadersConfig(vocab_size=1, d_model=d_model, max_len=max(LENGTHS)))
    ways: dict[str, Callable[[Tensor], object]] = {name: readers.get_submodule(name) for name in READERS}
    ways["compiled"] = compiled(readers.lstm)
    seconds: dict[str, tuple[float, ...]] = dict.fromkeys(ways, ())
    for done, (length, (name, read)) in enumerate(itertools.product(LENGTHS, ways.items())):
        yield done / (len(LENGTHS) * len(ways))
        x, times = torch.randn(1, length, d_model), []
        for _ in range(4):
            start = time.perf_counter()
            read(x)
            times.append(time.perf_counter() - start)
        seconds[name] += (min(times),)
    return seconds


def reaches(loaded: LoadedReaders, ids: Sequence[int]) -> Mapping[str, Array]:
    """How far each token moves a reader's state at each position; 1 for the token that moves it furthest there.

    Returns: by reader (T,T): row s, column t: token s, the state at t; 0 where t < s. Self-attention carries no state:
             each token reaches the end directly, so all columns are those of the last position
    """
    readers, length = loaded.model, len(ids)
    x = readers.embed(torch.tensor([list(ids)], device=loaded.device.torch))
    arrays = {}
    for name in READERS:
        shares = np.zeros((length, length), np.float32)
        for t in range(length):
            lengths = gradients(readers, name, x if name == "attention" else x[:, : t + 1]).cpu().numpy()
            shares[: t + 1, t] = (lengths / lengths.max())[: t + 1]
        arrays[name] = shares
    return arrays
