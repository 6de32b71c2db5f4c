"""The three attentions of the Transformer side by side, as the model's anatomy tells them."""

from model.anatomy.structure import Anatomy, Attention
from model.trace import Trace
from ui.views.attention_kinds import KINDS
from ui.views.charts.tables import table

SOURCES = {"src": "your sentence", "tgt": "the translation so far", "labels": "the translation so far"}
LESSONS = {"encoder": "this one", "decoder": "Masking", "cross": "Encoder-decoder attention"}


def three_attentions(trace: Trace) -> None:
    """Where queries, keys and values come from, and what a row may look at, for each kind of attention."""
    anatomy = trace.model.anatomy
    table(
        ("attention", "queries from", "keys and values from", "a row may look at", "lesson"),
        [_line(anatomy, layers[0]) for layers in anatomy.attentions.values()],
    )


def _line(anatomy: Anatomy, attention: Attention) -> tuple[str, ...]:
    asks, answers = (anatomy.tensors[f"{attention.path}.{letter}"].reads[0] for letter in "qk")
    return (
        KINDS[attention.kind].name,
        SOURCES[attention.rows],
        SOURCES[attention.columns] + (", the same vectors" if asks == answers else ", as the encoder returns it"),
        "itself and what came before" if attention.causal else "every piece",
        LESSONS[attention.kind],
    )
