"""What the lesson asks before it shows anything; the snapshots give the answers."""

from collections.abc import Sequence

from experiments.training.forming import Snapshot, first_above
from model.trace import Trace
from pages.training.how_it_learned.learned_first import shortened
from pages.training.how_it_learned.smoothing import least_smoothed
from pages.training.how_it_learned.snapshots import RECIPE, at_step, measured, steps
from ui.course.quiz import Question
from ui.text import bold, number

EARLY = 100  # steps
FEW, MANY = 50, 150  # translations


def predict(trace: Trace) -> Sequence[Question]:
    return what_comes_first(), how_many_translations(), smallest_loss()


def what_comes_first() -> Question:
    """Ends of sentences, rare pieces, or where to look: each learned when it goes right in more than half the cases."""
    file = measured()
    aligned = [max(one.aligned.values()) for one in file.snapshots]
    learned = [
        first_above(steps(), [min(one.right["end"], 1 - one.end_elsewhere) for one in file.snapshots]),
        first_above(steps(), aligned),
        first_above(steps(), [one.right["other"] for one in file.snapshots]),
    ]
    right = min(range(3), key=lambda n: learned[n] or steps()[-1] + 1)
    told = [
        f"the end mark was learned {when(learned[0])}",
        f"a head first put more than half of its weight on the word that it needs {when(learned[1])}",
        f"the rarer pieces were learned {when(learned[2])}",
    ]
    return Question(
        "first",
        f"The translator starts from random weights and is trained for {steps()[-1]:,} steps. What does it learn "
        "first? A piece counts as learned when the model ranks it first in more than half of the places where it "
        "belongs. The end mark must also stay away from more than half of all other places. Looking counts as learned "
        "when one head puts more than half of its weight on the right English word.",
        ("where a sentence ends", "to look at the English word that it needs", "to choose the rarer pieces"),
        frozenset({right}),
        f"On {file.n_sentences} new sentences, {told[0]}; {told[1]}; {told[2]}. Rarer are all but the "
        f"{file.n_common} commonest pieces.",
        wrong={n: f"We measured it: {text}." for n, text in enumerate(told) if n != right},
    )


def when(step: int | None) -> str:
    return "at no snapshot" if step is None else f"at step {step:,}"


def how_many_translations() -> Question:
    file = measured()
    early = snapshot_at(EARLY)
    right = range_of(early.different)
    return Question(
        "translations",
        f"After {EARLY} steps it translates {file.n_sentences} different sentences. How many different translations "
        "does it write?",
        (f"fewer than {FEW}", f"{FEW} to {MANY}", f"more than {MANY}"),
        frozenset({right}),
        f"It writes {early.different}, and {bold(shortened(early.repeated) or '(nothing)')} for {early.times} of the "
        f"{file.n_sentences} sentences. It hardly reads the English yet: with the English of another sentence its loss "
        f"is larger by only {number(early.loss_elsewhere - early.loss, 2)} nats a piece.",
        wrong={n: f"So many it writes {when(first_in(n))}." for n in range(3) if n != right},
    )


def range_of(count: int) -> int:
    """In which of the three ranges a count of translations lies."""
    return 0 if count < FEW else 1 if count <= MANY else 2


def first_in(option: int) -> int | None:
    """The first snapshot that writes so many different translations."""
    return next((one.step for one in measured().snapshots if range_of(one.different) == option), None)


def snapshot_at(step: int) -> Snapshot:
    return measured().snapshots[steps().index(step)]


def smallest_loss() -> Question:
    size, epsilon = at_step(steps()[-1]).config.vocab_size, RECIPE.label_smoothing
    least = least_smoothed(size, epsilon)
    return Question(
        "smoothing",
        f"In training the right piece counts only {1 - epsilon:g}. The other {epsilon:g} is shared by all {size:,} "
        "pieces. What is the smallest loss that a model can then reach, in nats?",
        ("0", "0.1", number(least, 2)),
        frozenset({2}),
        f"The best model gives just this: {number(1 - epsilon + epsilon / size, 4)} for the right piece, the rest "
        f"shared evenly. Its loss is {number(least, 2)}.",
        wrong={
            0: "For that it would have to be certain of the right piece. Then each other piece has probability 0, and "
            "the loss is infinite.",
            1: "The pieces that share 0.1 are many, and each is unlikely: −ln P is large for them.",
        },
    )
