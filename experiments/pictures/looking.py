"""Where readers look in a picture, what each of their rows would say, and what hiding or changing a patch does."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from model.files.load_pictures import LoadedSwin, LoadedVision, VisionTrace, trace_picture
from model.files.loaded_model import Array
from model.interventions import Interventions
from model.parts.window_attention import into_windows
from model.trace import Trace


def hidden(loaded: LoadedVision, picture: Array, patches: frozenset[int]) -> VisionTrace:
    """The picture read while nobody looks at these patches, counted from 1."""
    return trace_picture(loaded, picture, Interventions(blocked=tuple(patches)))


def chances(read: Trace[Any, Any]) -> Array:
    """The probability of each class (n_classes)."""
    logits = read.tensors["logits"][0].astype(np.float64)
    shifted = np.exp(logits - logits.max())
    return np.asarray(shifted / shifted.sum())


def looked_at(read: VisionTrace) -> Array:
    """How much [class] looks at each patch in the last layer, on average over its heads (P)."""
    last = len(read.model.anatomy.attentions["encoder"]) - 1
    return np.asarray(read.attention("encoder", last).mean(0)[0, 1:])


def hidden_in_turn(loaded: LoadedVision, picture: Array, n: int) -> tuple[list[int], list[VisionTrace]]:
    """Patches, from 1, each the one that [class] looks at most once those before it are hidden (n); the picture read
    whole, then without the first, without the first two, and so on (n+1).
    """
    gone: list[int] = []
    reads = [hidden(loaded, picture, frozenset())]
    for _ in range(n):
        gone.append(int(np.argmax(looked_at(reads[-1]))) + 1)
        reads.append(hidden(loaded, picture, frozenset(gone)))
    return gone, reads


def rollout(read: VisionTrace) -> Array:
    """How much of each patch is in [class] at the end (P), if attention were all that mixed rows: the weights of each
    layer, averaged over heads, half of them replaced by the stream that runs past, and multiplied through all layers.

    Source: Abnar and Zuidema 2020, §3, attention rollout
    """
    flow = np.eye(len(read.src))
    for layer in range(len(read.model.anatomy.attentions["encoder"])):
        weights = read.attention("encoder", layer).mean(0).astype(np.float64)
        flow = (0.5 * weights + 0.5 * np.eye(len(weights))) @ flow
    return np.asarray(flow[0, 1:])


@torch.inference_mode()
def lens(read: VisionTrace) -> Array:
    """What each row would say if it were read as [class] is at the end (layers+1, rows, n_classes): the probabilities
    from the embeddings, then behind each layer.

    Source: nostalgebraist 2020, logit lens
    """
    model, (stack,) = read.model.model, read.model.anatomy.stacks
    names = [stack.embedding_writes, *(layer.writes for layer in stack.layers)]
    rows = torch.from_numpy(np.stack([read.tensors[name] for name in names])).to(read.model.device.torch)
    assert model.encoder.norm
    said: Array = model.head(model.encoder.norm(rows)).softmax(-1).cpu().numpy()
    return said


@dataclass(frozen=True)
class Effect:
    """What hiding each patch alone, beside those hidden already, makes of the probability of one class (P)."""

    before: float
    after: Array


@torch.inference_mode()
def effects(loaded: LoadedVision, picture: Array, gone: frozenset[int], of: int) -> Effect:
    """For a class; of a patch that is hidden already: what showing it again would make of it."""
    n = loaded.config.n_patches
    shown = torch.ones(n + 1, n + 1, dtype=torch.bool)  # (pictures, rows that are looked at)
    shown[:, list(gone)] = False
    shown[1:, 1:] ^= torch.eye(n, dtype=torch.bool)  # the first is read as it is
    masks = shown[:, None, None].to(loaded.device.torch)
    pictures = torch.from_numpy(picture).to(loaded.device.torch).expand(n + 1, -1, -1)
    logits = loaded.model(pictures, lambda name, value: masks if name == "encoder.mask" else value)
    said = logits.cpu().double().softmax(-1)
    before, *after = said[:, of].tolist()
    return Effect(before, np.array(after))


def window_of(cut: tuple[int, int, int], row: int, column: int) -> tuple[int, int, Array]:
    """The window in which a patch looks around, its place in it, and the patches of all places (M²). All from 0.

    Args: cut: side, window and shift, in patches
    """
    side, window, _ = cut
    every = into_windows(torch.arange(side**2)[None, :, None], *cut).reshape(-1, window**2).numpy()
    which, place = np.argwhere(every == side * row + column)[0].tolist()
    return which, place, every[which]


def turned(picture: Array, patch: int, size: int) -> Array:
    """The picture with ink for paper, and paper for ink, in one patch, counted from 0."""
    row, column = (size * at for at in divmod(patch, len(picture) // size))
    changed = picture.copy()
    changed[row : row + size, column : column + size] = 1 - changed[row : row + size, column : column + size]
    return changed


def travelled(loaded: LoadedSwin, picture: Array, patch: int) -> Array:
    """How much the row of each patch changes once one patch is turned (blocks+1,P): before the first block, then behind
    each, the length of the difference over that of the row. A patch that has not heard of the change has exactly 0.
    """
    before, after = (trace_picture(loaded, one) for one in (picture, turned(picture, patch, loaded.config.patch)))
    (stack,) = loaded.anatomy.stacks
    sizes = []
    for name in (stack.embedding_writes, *(layer.writes for layer in stack.layers)):
        rows, others = (one.tensors[name].astype(np.float64) for one in (before, after))
        lengths = np.linalg.norm(rows, axis=-1)
        changed = np.linalg.norm(others - rows, axis=-1)
        sizes.append(changed / np.where(lengths > 0, lengths, 1.0))  # paper alone may give a row of zeros
    return np.stack(sizes)
