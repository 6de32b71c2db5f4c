"""What a low-rank adapter learned: one matrix of it on a sentence, its singular values, what a share of it and what
merging changes.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import torch

from experiments.passes import forward
from figures.statistics import softmax
from model.adapting import adapters
from model.adapting.adapters import load_adapter, with_adapter
from model.adapting.lora import ALPHA, LowRank, with_merged
from model.anatomy.structure import Made
from model.files.loaded_model import Array, LoadedModel
from model.tap import Recorder
from model.text.tokenizer import SOS_ID, Token
from model.trace import Trace, trace

X, DOWN, UP, FROZEN, SUM = "x", "down", "up", "frozen", "sum"


@dataclass(frozen=True)
class Tipping:
    """What a translator writes with shares of an adapter: pieces and text of each share; at the first place where the
    first and the last share part, both their pieces, and how probable each share finds them (shares,2).

    Where they write the same, it is the end, and the second piece is the next likeliest there.
    """

    pieces: tuple[tuple[Token, ...], ...]
    texts: tuple[str, ...]
    place: int
    both: tuple[Token, ...]
    chances: Array

    def apart(self, share: int) -> tuple[range, range]:
        """Where the pieces of the first share and of another differ: from where they part to where they meet again."""
        before, now = self.pieces[0], self.pieces[share]
        if before == now:
            return range(0), range(0)
        meet = 0
        while meet < min(len(before), len(now)) - self.place and before[-1 - meet].id == now[-1 - meet].id:
            meet += 1
        return range(self.place, len(before) - meet), range(self.place, len(now) - meet)


def tipping(loaded: LoadedModel, text: str, file: Path, shares: tuple[float, ...]) -> Tipping:
    """Raises: CheckpointError if the adapter's file is missing or broken"""
    models = [with_adapter(loaded, file, share) for share in shares]
    read = [trace(one, text) for one in models]
    first, last = read[0].label_ids, read[-1].label_ids
    place = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first) - 1)
    begun = [SOS_ID, *first[:place]]
    chances = [softmax(forward(one, read[0].src_ids, begun)["logits"][-1]) for one in models]
    next_best = int(np.argsort(-chances[0], kind="stable")[1])
    ids = [first[place], last[place] if first != last else next_best]
    return Tipping(
        tuple(one.labels for one in read),
        tuple(one.translation for one in read),
        place,
        loaded.tokenizer.tokens(ids),
        np.array([one[ids] for one in chances]),
    )


def most_changed(loaded: LoadedModel, file: Path) -> tuple[Array, Array, Array, Array]:
    """W₀ (d,k), B (d,r), A (r,k) and what is added, (α/r)·BA, where an adapter changes most. Raises: CheckpointError"""
    adapter = load_adapter(file)
    names = (name.removesuffix(adapters.DOWN) for name in adapter if name.endswith(adapters.DOWN))
    most = max(names, key=lambda name: float((adapter[name + adapters.UP] @ adapter[name + adapters.DOWN]).norm()))
    frozen = loaded.model.get_parameter(f"{most}.weight").detach().cpu().numpy()
    up, down = adapter[most + adapters.UP].numpy(), adapter[most + adapters.DOWN].numpy()
    return frozen, up, down, ALPHA / len(down) * up @ down


def low_rank(adapted: LoadedModel, path: str) -> LowRank:
    """The low-rank layer at a path like "encoder.layers.0.self_attn.w_q"."""
    layer = adapted.model.get_submodule(path)
    assert isinstance(layer, LowRank)
    return layer


def with_steps(read: Trace, path: str) -> Trace:
    """A sentence as an adapted model read it, with nothing but one low-rank layer: what goes in and every step.

    Its tensors are X (T,k), DOWN (T,r), UP, FROZEN and SUM (T,d).
    """
    made = read.model.anatomy.tensors
    attention, _, matrix = path.rpartition(".")
    into = made[f"{attention}.{matrix.removeprefix('w_')}"].reads[0]
    rows, layer, recorder = made[into].axes[0], low_rank(read.model, path), Recorder()
    x = read.tensors[into]
    with torch.inference_mode():
        layer(torch.tensor(x, device=read.model.device.torch), recorder)
    steps = {
        DOWN: Made("linear", (X,), (f"{path}.down.weight",), (rows, "rank")),
        UP: Made("linear", (DOWN,), (f"{path}.up.weight",), (rows, "d_model")),
        FROZEN: Made("linear", (X,), (f"{path}.frozen.weight",), (rows, "d_model")),
        SUM: Made("add_low_rank", (FROZEN, UP), (), (rows, "d_model"), (layer.scale,)),
    }
    tensors = {X: x} | {name: value.cpu().numpy() for name, value in recorder.tensors.items()}
    anatomy = replace(read.model.anatomy, tensors=steps)
    return replace(read, model=replace(read.model, anatomy=anatomy), tensors=MappingProxyType(tensors))


@torch.no_grad()
def singular_values(adapted: LoadedModel, path: str) -> Array:
    """Those of what was added to a matrix, (α/r)·BA, the largest first; computed in float64."""
    layer = low_rank(adapted, path)
    up, down = layer.up.weight.cpu().double(), layer.down.weight.cpu().double()
    values: Array = torch.linalg.svdvals(layer.scale * up @ down).float().numpy()
    return values


def rank_of(values: Array) -> int:
    """How many singular values are not 0: larger than what rounding leaves of the largest."""
    return int((values > 1e-6 * values.max(initial=0)).sum()) if values.max(initial=0) > 0 else 0


def merged(adapted: LoadedModel) -> LoadedModel:
    """The model with what was learned added to its matrices: it is built like the one that was not adapted."""
    return replace(adapted, name=f"{adapted.name} and merged", model=with_merged(adapted.model))


def merging_changes(read: Trace) -> tuple[str, float]:
    """What the merged model writes, and the largest difference of a logit for what the adapted one wrote."""
    plain = merged(read.model)
    logits = trace(plain, read.text, read.translation).tensors["logits"]
    same = trace(read.model, read.text, read.translation).tensors["logits"]
    return trace(plain, read.text).translation, float(np.abs(logits - same).max())
