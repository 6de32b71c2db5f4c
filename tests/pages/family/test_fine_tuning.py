"""The learner's own classifier on the page: trained, worked out and tried; what cannot be learned from is told."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.kit import assert_sound, component, markdown, notices, opened, press, table, values
from training.live.labelling import AUXILIARY, MINUS, MOST, PLUS, Labelling, Progress
from training.live.processes import STOPPED, LiveTraining

SLUG = "fine-tuning"
pytestmark = pytest.mark.usefixtures("own_fork_server")


def said(app: AppTest) -> str:
    """All notices as they are read."""
    return "\n".join(notices(app)).replace("\\", "").replace("\u2060", "")


def test_two_sentences_make_a_classifier_that_is_worked_out_and_tried() -> None:
    labelled = "+ The ship sails.\n- The cow eats grass."
    app = opened(SLUG, labelled_places=labelled, learns="the head alone", sentence="The ship sails.")
    assert markdown(app).count("First press *Train* in See.") == 2
    press(app, "Train", "fine_tuning")
    _, training = app.session_state["fine_tuning"]
    assert notices(app) == ["The training is over."]
    first, *_, last = training.reports
    assert last.runs["pre-trained"].loss < first.runs["pre-trained"].loss
    assert set(last.moved.values()) == {0.0}
    assert f"**{2 * 256 + 2}** numbers may change." in markdown(app)
    # Do and Check: the label is that of the larger score, and its chance is the softmax of both.
    minus, plus = values(app, "see_matrix")[0]
    assert plus > minus
    assert "“The ship sails.” is **at sea**." in markdown(app).replace("\\", "")
    (farm, negative), (sea, positive) = table(app, "label", "probability")
    assert (farm, sea) == ("on a farm", "at sea")
    assert float(positive) == pytest.approx(1 / (1 + np.exp(minus - plus)), abs=1e-3)
    assert float(negative) == pytest.approx(1 - float(positive), abs=2e-4)
    # Other sentences, another classifier: this one is forgotten.
    app.text_area(key="labelled_places").set_value("+ One.\n+ Two.").run()
    assert_sound(app)
    assert "All sentences are labelled “at sea”: at least one must be “on a farm”." in said(app)
    assert markdown(app).count("First mend the sentences in See") == 2


@pytest.mark.parametrize(("name", "auxiliary"), [("gpt-mini", AUXILIARY), ("bert-mini", 0.0)])
def test_twenty_long_sentences_fit_into_the_memory_of_a_training(name: str, auxiliary: float) -> None:
    """All weights of both models learn: the most that the page can ask for."""
    labelled = tuple((f"{n} {'The old horse ran along the road. ' * 9}", PLUS if n % 2 else MINUS) for n in range(MOST))
    training = LiveTraining[Progress](Labelling(name, labelled, labelled, auxiliary=auxiliary))
    steps = training.run()
    for _ in steps:
        if training.reports and training.reports[-1].step:
            break
    steps.close()
    assert training.ended == STOPPED


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("<script>alert(1)</script>", "has no label: begin each line with + or -."),
        ("+ a\n- b\n" + "\n".join(f"+ {n}" for n in range(30)), "These are 32 sentences: write at most 20."),
        ("+ " + "word " * 2000 + "\n- b", "All sentences are labelled “at sea”: at least one must be “on a farm”."),
        ("- A.\n- B.", "All sentences are labelled “on a farm”: at least one must be “at sea”."),
        (" \n", "There is nothing to learn yet: write a line with + and one with -."),
    ],
)
def test_what_cannot_be_learned_from_is_told(written: str, says: str) -> None:
    app = opened(SLUG, labelled_places=written)
    assert says in said(app)
    assert "Train" not in [one.label for one in app.button]
    firsts = [one.value for one in app.caption if one.value.startswith("First ")]  # in Check and in Do
    assert [one.split(":")[0] for one in firsts] == ["First mend the sentences in See"] * 2


def test_contradictory_labels_are_told_and_learned_from() -> None:
    app = opened(SLUG, labelled_places="+ The ship sails.\n- The ship sails.\n- A cow.")
    assert "“The ship sails.” lies on both sides. It counts for both" in markdown(app).replace("\\", "")
    assert "Train" in [one.label for one in app.button]


def test_a_click_moves_a_sentence_to_the_other_side_and_the_verdict_follows() -> None:
    app = opened(
        SLUG, labelled_places="+ The ship sails.\n- The cow eats grass.\n- The hen sat.", sentence="The hen sat."
    )
    assert "Your sentence: **on a farm**" in markdown(app)
    app.button_group(key="heap_places-").set_value("The hen sat.").run()
    assert_sound(app)
    assert app.text_area(key="labelled_places").value == "+ The ship sails.\n- The cow eats grass.\n+ The hen sat."
    assert "Your sentence: **at sea**" in markdown(app)
    app.button_group(key="heap_places-").set_value("The cow eats grass.").run()
    assert "All sentences are labelled “at sea”: at least one must be “on a farm”." in said(app)
    assert component(app, "scene")["control"] == "Steps on 20 labels", "those given, as long as none can be learned"
    app.button_group(key="heap_places+").set_value("The cow eats grass.").run()
    assert_sound(app)
    assert "So says GPT's head, trained alone on these 3 labels." in markdown(app)
    assert component(app, "scene")["control"] == "Steps on 3 labels"


def test_the_picture_opens_where_pre_training_tells() -> None:
    """The default sentence and labels: more right than by chance on top of the one, and not on the other."""
    shown = component(opened(SLUG), "scene")
    one, other = (int(row[0]["big"].rstrip("%")) for row in shown["frames"][shown["at"]]["rows"])
    assert one - other >= 25
    assert abs(other - 50) <= 13, "two standard errors"
