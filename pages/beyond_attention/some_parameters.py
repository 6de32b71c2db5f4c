"""Lesson: mixture of experts, in which each piece passes through one of four networks; with balancing and without."""

from collections.abc import Sequence

import streamlit as st

from experiments.blocks.experts import gates, measured, parameters
from experiments.family.language_models import published
from experiments.training.siblings import noise
from model.files.loaded_model import LoadedModel
from model.parts.experts import MixtureOfExperts, balance_loss, largest
from model.trace import Trace
from pages.family_models import family_model
from ui import engine
from ui.components.matrix import Caption, Labels
from ui.components.scene import Bar, Bars, Card, Cards, Frame, Link, Row, Scene
from ui.controls.control import Choice
from ui.course.check import Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import number
from ui.views.charts.tables import table
from ui.views.siblings import measured as all_siblings
from ui.views.siblings import two_siblings

TRAINED = {"not balanced": "experts-free", "balanced": "experts-balanced", "balanced, two a piece": "experts-two"}
FREE, BALANCED, _ = TRAINED.values()
DRAWN = [*TRAINED][:2]  # in the scene, which a further translation would slow down
MODEL = Choice("Trained", "experts_of", tuple(TRAINED))
LAYERS = {
    f"{stack}, layer {n + 1}": f"{stack}.layers.{n}.feed_forward" for stack in ("encoder", "decoder") for n in range(2)
}
LAYER = Choice("Network", "experts_at", tuple(LAYERS), default="decoder, layer 1")  # as in the scene
INSIDE = {
    "shares": "The router's softmax: a row adds up to 1.",
    "gates": "What is left of the shares: 0 for an expert that the piece does not ask.",
}
TENSOR = Choice("Show", "experts_show", tuple(INSIDE))
ONE_TRANSLATION = "All three read the translation of the one that is not balanced."
SHOWN = 10  # pieces in the scene


def read(trace: Trace, name: str) -> Trace:
    """The sentence through one of the siblings, with one translation for all, so that the same pieces are sent to all
    experts. Raises: CheckpointError if it is missing
    """
    family_model(name)
    first = engine.trace(trace.text, name=FREE)
    return first if name == FREE else engine.trace(first.text, first.translation, name=name)


def siblings() -> list[LoadedModel]:
    return [family_model(TRAINED[name]) for name in DRAWN]


def scene(trace: Trace) -> Scene:
    """The pieces fall to the experts, in the network where these are least balanced without a rule."""
    free = measured(FREE).layers
    path = max(free, key=lambda one: free[one].busiest)
    stack, _, layer, _ = path.split(".")
    return Scene(
        "In a mixture of experts some parameters work at a time: a router sends each piece to one of four networks. "
        f"Drawn: two small translators' {stack}, layer {1 + int(layer)}. Both read one translation.",
        "Trained",
        [scene_frame(trace, name, path) for name in DRAWN],
        wide=(2, 1),
    )


def scene_frame(trace: Trace, name: str, path: str) -> Frame:
    one = read(trace, TRAINED[name])
    given = gates(one, path)
    asked = given.argmax(-1)
    tokens = (one.src if path.startswith("encoder") else one.tgt)[:SHOWN]
    n_experts, shown = given.shape[1], len(tokens)
    work, before = (measured(which).layers[path].work for which in (TRAINED[name], FREE))
    busiest = max(range(n_experts), key=lambda n: work[n])
    counts = [int((asked[:shown] == n).sum()) for n in range(n_experts)]
    experts = [Card(str(n + 1), "strong" if n == busiest else "", str(many)) for n, many in enumerate(counts)]
    links = [Link((0, t), (1, int(asked[t])), float(given[t].max())) for t in range(shown)]
    pieces = Row([Card(token.text) for token in tokens], "pieces")
    bars = [
        Bar(f"expert {n + 1}", work[n], f"{work[n]:.0%}", None if name == "not balanced" else before[n], n == busiest)
        for n in range(n_experts)
    ]
    dashed = "" if name == "not balanced" else "dashed: not balanced"
    answer = (
        f"Expert {busiest + 1} is asked by **{counts[busiest]}** of {shown} pieces. On test sentences it does "
        f"**{work[busiest]:.0%}** of the work, {number(work[busiest] * n_experts, 1)} times its even share."
    )
    return Frame(
        name,
        answer,
        [
            [
                Cards(
                    [pieces, Row(experts, "experts", "output")],
                    links,
                    "Whom each piece asks, and how many ask an expert",
                ),
                Bars(bars, "Who does the work, on test sentences", limit=1.0, note=dashed),
            ]
        ],
    )


def idea(trace: Trace) -> None:
    st.markdown(
        "A feed-forward network holds half of a layer's parameters or more, and every piece passes through all of "
        "them. A **mixture of experts** has several such networks. A small matrix, the **router**, gives each piece a "
        "share for each *expert*; the piece passes through the one with the largest share alone, or through the two "
        "with the largest. So a model can store much more than it works with."
    )
    st.markdown(
        "What keeps the router from sending all pieces to one expert? In training, a **load-balancing loss** is added. "
        "It is smallest when all experts are asked alike."
    )
    st.latex(r"\alpha\cdot E\sum_{e=1}^{E} f_e\,P_e")
    st.caption("*f*: the part of the pieces that ask expert e. *P*: the mean of its share. E experts; here α is 0.01.")


def see(trace: Trace) -> Shown:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        name, layer, shows = MODEL.draw(), LAYER.draw(), TENSOR.draw()
    one = read(trace, TRAINED[name])
    labels = Labels(
        columns=tuple(f"expert {n + 1}" for n in range(one.model.config.n_experts)),
        describe=f"{shows[:-1]} of “{{row}}” for {{column}}: {{value}}",
    )
    caption = Caption(f"{shows}, {layer}, {name}", f"{INSIDE[shows]} {ONE_TRANSLATION}")
    return checked_matrix(one, f"{LAYERS[layer]}.{shows}", caption, labels=labels)


def work(trace: Trace) -> None:
    found = {name: measured(which) for name, which in TRAINED.items()}
    st.markdown("**Who is busy?** How many times its even share the busiest expert does, over the test sentences.")
    table(
        ("", *LAYERS),
        [(name, *(number(one.layers[path].busiest, 2) for path in LAYERS.values())) for name, one in found.items()],
    )
    st.markdown("**What does it store, what works for a piece, and what is its loss?** A lower loss is better.")
    table(
        ("", "parameters stored", "at work for a piece", "loss"),
        [
            (name, *(f"{n:,}" for n in counted(name)), number(loss(TRAINED.get(name, "plain-1")), 3))
            for name in ("plain", *TRAINED)
        ],
    )
    plain = [one.loss for one in all_siblings() if one.is_plain]
    if by_chance := noise(plain):
        st.caption(
            f"The {len(plain)} plain ones, which differ in their random numbers alone, have losses of "
            f"{number(min(plain), 3)} to {number(max(plain), 3)}. As far as so few can tell, one more like them would "
            f"lie between {number(by_chance.mean - by_chance.margin, 3)} and "
            f"{number(by_chance.mean + by_chance.margin, 3)}, 95 times in 100. A loss in between may be chance."
        )


def counted(name: str) -> tuple[int, int]:
    """Parameters stored and at work."""
    if name == "plain":
        n = family_model("plain-1").n_parameters
        return n, n
    return parameters(family_model(TRAINED[name]))


def loss(name: str) -> float:
    """Of a sibling on the validation pairs, as metrics.json has it."""
    return float(published(name)["training"]["validation_loss"])


def subjects(trace: Trace) -> None:
    """What is known of the expert from the piece, in bits."""
    found = measured(BALANCED)
    st.markdown("**Has each expert a subject?** How much of the choice of an expert one knows, in bits.")
    head = ("", "the choice", "known from how common the piece is", "from its word class", "from another's word class")
    lines = [
        (
            layer,
            *("–" if bits is None else number(bits, 2) for bits in (one.bits, one.common, one.classes, one.shuffled)),
        )
        for layer, path in LAYERS.items()
        for one in (found.layers[path],)
    ]
    table(head, lines)
    st.caption(
        f"The balanced sibling, {found.pairs:,} pairs of test sentences, and {found.sentences:,} sentences with word "
        "classes (English alone). Between four experts that are asked alike, a choice has 2 bits. The last column is "
        "chance: the classes of other pieces. Which piece it is, and where, may tell more: that is not measured."
    )


def side_by_side(trace: Trace) -> None:
    two_siblings(trace, "experts")


TRIALS = {"Who works": work, "Has each a subject": subjects, "Translate with two": side_by_side}
TRIAL = Choice("Try", "experts_trial", tuple(TRIALS))


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace)


def predict(trace: Trace) -> Sequence[Question]:
    stored, at_work = counted("balanced")
    free, even = (measured(name).layers for name in (FREE, BALANCED))
    top = [max(one.busiest for one in layers.values()) for layers in (free, even)]
    return (
        Question(
            "at-work",
            f"Each of 4 networks has four experts, and the model stores {stored:,} parameters. How many work for a "
            "piece?",
            (f"{stored // 4:,}", f"{at_work:,}", f"{stored:,}"),
            frozenset({1}),
            "Of each four experts one works. All else, such as the embeddings and the attention, works for every "
            f"piece: {at_work:,} parameters.",
            wrong={
                0: "A quarter of the experts works, but embeddings and attention are no experts.",
                2: "Three of four experts have no part in it.",
            },
        ),
        Question(
            "busiest",
            "One sibling was trained without the balancing loss. How busy is the busiest expert of its four networks?",
            ("1.0 times its even share", f"{number(top[0], 1)} times", "4.0 times: it does all"),
            frozenset({1}),
            f"It does {number(top[0], 1)} times its even share; with balancing, none does more than "
            f"{number(top[1], 1)} times.",
            wrong={0: "Nothing kept them even.", 2: "Then the other experts would never be asked: some are."},
        ),
    )


LESSON = Lesson(
    "some-parameters",
    "Some parameters at a time",
    asks="Four experts, and one works for each piece. Which one?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do),
    code=(MixtureOfExperts, largest, balance_loss),
    on_map=OnMap(model=lambda: family_model(FREE), pictured=("two small translators", siblings), scene=scene),
)
