"""What the stage draws of a model: its stacks as rows of columns, and the blocks between them. From its anatomy."""

from dataclasses import dataclass
from typing import Literal

from model.anatomy.structure import Anatomy, Stack
from model.files.model_card import About
from ui.components.architecture.plan import NORMS, Column, plan_of

Kind = Literal["embedding", "positions", "attention", "feed_forward", "norm", "output"]
ADDED = ("add_positions", "add_embeddings")  # operations


@dataclass(frozen=True)
class Part:
    """One block of a stack. It reads the row of columns below it and makes the one above it.

    id:      its name on the map; layer: counted from 1, 0 outside the layers; label: what stands on it
    kind:    what it looks like at work; "positions" adds other numbers to every column, those of its place or its text
    result:  the tensor above it; "" for the output, which ends in probabilities
    added:   of positions, the tensor that is added
    weights: of an attention, its weights; memory: the name of the other stack that it reads, or ""
    causal:  of an attention, whether it sees only what came before
    """

    id: str
    kind: Kind
    layer: int
    label: str
    result: str
    added: str = ""
    weights: str = ""
    memory: str = ""
    causal: bool = False


@dataclass(frozen=True)
class Panel:
    """One stack: its name, the axis of its tokens, and its blocks from bottom to top."""

    name: str
    tokens: str
    parts: tuple[Part, ...]

    @property
    def writes(self) -> bool:
        """Whether pieces are chosen from what comes out here: the next one, or that of a blank."""
        return self.parts[-1].kind == "output"


def panels_of(anatomy: Anatomy, about: About) -> tuple[Panel, ...]:
    """The stacks of a model as the stage shows them, in the order in which they run."""
    plan = plan_of(anatomy, about)
    return tuple(
        Panel(stack.name, stack.tokens, (*_inputs(anatomy, stack), *_layers(anatomy, stack), *_top(stack, column)))
        for stack, column in zip(anatomy.stacks, plan.columns, strict=True)
    )


def tensor_names(panels: tuple[Panel, ...]) -> tuple[str, ...]:
    """Every tensor that the stage draws, once. Those alike stand side by side, which packs them better."""
    parts = [part for panel in panels for part in panel.parts]
    names = [*(p.added for p in parts), *(p.result for p in parts), *(p.weights for p in parts)]
    return tuple(dict.fromkeys(name for name in names if name))


def _inputs(anatomy: Anatomy, stack: Stack) -> list[Part]:
    """The vectors of the tokens, what is added to them, and a norm, if there is one."""
    above: list[Part] = []
    name = stack.embedding_writes
    while (made := anatomy.tensors[name]).operation in (*ADDED, *NORMS):
        if made.operation in NORMS:
            above.insert(0, Part(f"{stack.name}.embedding.norm", "norm", 0, "Norm", name))
        else:
            what = "segments" if anatomy.tensors[made.reads[1]].operation == "look_up" else "positions"
            part = Part(f"{stack.name}.{what}", "positions", 0, f"+ {what.capitalize()}", name, made.reads[1])
            above.insert(0, part)
        name = made.reads[0]
    vectors = made.reads[0] if made.operation == "copy" else name
    return [Part(f"{stack.name}.embedding", "embedding", 0, "Token embedding", vectors), *above]


def _layers(anatomy: Anatomy, stack: Stack) -> list[Part]:
    parts = []
    for layer in stack.layers:
        for sublayer in layer.sublayers:
            id, number = f"{stack.name}.{sublayer.name}", layer.index + 1
            if sublayer.kind != "attention":
                parts.append(Part(id, "feed_forward", number, "Feed-forward", sublayer.result))
                continue
            reads = anatomy.tensors[f"{sublayer.path}.k"].reads
            memory = next((one.name for one in anatomy.stacks if one is not stack and one.writes in reads), "")
            causal = anatomy.attention_at(sublayer.path).causal
            label = "Reads the memory" if memory else "Masked self-attention" if causal else "Self-attention"
            weights = f"{sublayer.path}.weights"
            parts.append(
                Part(id, "attention", number, label, sublayer.result, weights=weights, memory=memory, causal=causal)
            )
    return parts


def _top(stack: Stack, column: Column) -> list[Part]:
    """What stands above the layers: a last norm, if there is one, and the output of the stack that writes."""
    parts = []
    if stack.writes != stack.layers[-1].writes and not column.outputs:
        parts.append(Part(f"{stack.name}.stack", "norm", 0, "Last norm", stack.writes))
    if column.outputs:
        *before, _, _ = column.outputs  # the last two make scores and probabilities
        for block in before:
            kind: Kind = "feed_forward" if block.kind == "head" else "norm"
            parts.append(Part(block.id, kind, 0, "Last norm" if kind == "norm" else "Head", block.tensor))
        label = "Next piece" if stack.tokens == "tgt" else "Hidden piece"
        parts.append(Part(column.outputs[-1].id, "output", 0, label, ""))
    return parts
