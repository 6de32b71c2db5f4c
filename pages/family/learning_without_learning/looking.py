"""What the last x looks at: one head of one task, cell by cell, and all heads at once."""

import numpy as np
import streamlit as st
import torch

from model.files.load_special_models import loaded_in_context
from model.files.loaded_model import LoadedModel
from pages.family.learning_without_learning.tasks import (
    CHUNK,
    DRAW,
    EXAMPLES,
    Array,
    chosen,
    first_task,
    name_of,
    numbered,
    prompts,
)
from training.loop.in_context import Regression
from ui import engine
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.control import Choice
from ui.course.check import Part, check_cell, checked_matrix
from ui.text import number

MOST_SHOWN = 12  # places of a prompt side by side
FEWEST = 3  # pairs from which a correlation says something


def choices() -> tuple[Choice[int], Choice[int]]:
    """Layer and head."""
    attentions = loaded_in_context().anatomy.attentions["decoder"]
    layers, heads = range(1, len(attentions) + 1), range(1, attentions[0].n_heads + 1)
    return Choice("Layer", "icl_layer", tuple(layers)), Choice("Head", "icl_head", tuple(heads))


def one_weight() -> None:
    """The weights of one head for the last x of the first task, and how one of them came about."""
    layer, head = (choice.draw() for choice in choices())
    task, last = first_task(), 2 * EXAMPLES.value()
    name = f"decoder.layers.{layer - 1}.self_attn.weights"
    seen = task.tensors[name][head - 1, last, : last + 1]
    columns = sorted(np.argsort(-seen, kind="stable")[:MOST_SHOWN].tolist())
    checked_matrix(
        task,
        name,
        Caption(
            f"What {name_of(last)}, the last x, looks at: layer {layer}, head {head}",
            f"Task 1 of the draw. The {len(columns)} places with the largest weights.",
        ),
        head=head - 1,
        labels=Labels([name_of(last)], [name_of(place) for place in columns], "{row} looks at {column}: {value}"),
        part=Part(rows=[last], columns=columns),
    )
    check_cell(task)


@torch.inference_mode()
def last_weights(loaded: LoadedModel, regression: Regression, draw: int, n: int) -> tuple[Array, Array]:
    """How each head divides the weight of the last x, in the first tasks of a draw.

    Returns: weights (B,L,H,n+1) on each pair, its x and its y added, and on the last x itself; (B,n) how near the x of
             each pair is: minus its distance from the last x
    """
    drawn = prompts(regression, draw)
    x, y = (drawn[name][:CHUNK, : n + 1] for name in "xy")
    rows: list[torch.Tensor] = []

    def tap(name: str, value: torch.Tensor) -> torch.Tensor:
        if name.endswith(".weights"):
            rows.append(value[:, :, 2 * n, : 2 * n + 1].cpu())
        return value

    loaded.model(x.to(loaded.device.torch), y.to(loaded.device.torch), tap)
    weights = torch.stack(rows, dim=1).double().numpy()
    pairs = weights[..., :-1].reshape(*weights.shape[:-1], n, 2).sum(-1)
    far = (x[:, :n] - x[:, n:]).double().norm(dim=-1).numpy()
    return np.concatenate([pairs, weights[..., -1:]], axis=-1), -far


def follows(weights: Array, near: Array) -> Array:
    """How the weight on a pair goes with its nearness, for each head (L,H): the mean correlation over the tasks."""
    pairs = weights[..., :-1]
    one = pairs - pairs.mean(-1, keepdims=True)
    two = (near - near.mean(-1, keepdims=True))[:, None, None]
    along = (one * two).sum(-1) / np.sqrt((one**2).sum(-1) * (two**2).sum(-1))
    return np.asarray(along.mean(0))


def all_heads() -> None:
    """All heads of the first task, and which of them looks at near neighbours."""
    st.subheader("What the last x looks at, in every head", anchor=False)
    n = EXAMPLES.value()
    weights, near = engine.run(last_weights, loaded_in_context(), chosen(), int(DRAW.value()), n)
    n_layers, n_heads = weights.shape[1:3]
    names = [f"{layer}.{head}" for layer in range(1, n_layers + 1) for head in range(1, n_heads + 1)]
    pairs = [f"pair {place}" for place in range(1, n + 1)]
    matrix(
        weights[0].reshape(len(names), n + 1),
        Labels(names, [*pairs, numbered("x", n + 1)], "head {row} looks at {column}: {value}"),
        Caption(
            "Weights of the last x",
            "Task 1 of the draw. Row 2.3 is head 3 of layer 2. The weights on the x and the y of a pair are added.",
        ),
        key="icl_heads",
        scale=Scale("weight"),
    )
    if n < FEWEST:
        st.caption(f"With fewer than {FEWEST} examples nobody can say whether a head looks at the near ones.")
        return
    along = follows(weights, near)
    layer, head = (int(place) + 1 for place in np.unravel_index(int(along.argmax()), along.shape))
    st.caption(
        f"Does it look at the examples whose x is near? In {len(weights)} tasks the head whose weights go with "
        f"nearness most is layer {layer}, head {head}: a mean correlation of {number(float(along.max()), 2)} "
        "(1 would be exactly so, 0 not at all). Where a head looks does not say what the model does with it: the "
        "table in See says whose guesses its own are near."
    )
