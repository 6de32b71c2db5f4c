"""Nothing is shown that no oracle claims: every statement of every lesson, computed again by tests/oracle."""

import ast
import re
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest
from streamlit.testing.v1 import AppTest

from tests.course import LESSONS
from tests.hub.small_models import stand_in_models
from tests.oracle.language import approved
from tests.oracle.language.page import Page
from tests.oracle.language.reader import RAW, read
from tests.oracle.language.walk import PARTS, State, answered, claims_of, unclaimed
from tests.oracle.shown.course import COURSE
from tests.pages.draft_claims import draft
from tests.pages.kit import FOREIGN, OTHERS, assert_sound, forget, opened
from ui.course.lesson import COURSE as APP
from ui.course.lesson import Lesson


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "lesson", [pytest.param(one, id=one.slug, marks=pytest.mark.xdist_group(one.slug)) for one in LESSONS]
)
def test_every_statement_of_a_lesson_is_claimed(lesson: Lesson) -> None:
    module = claims_of(lesson.slug)
    assert module, (
        f"nobody claims what {lesson.slug} shows: write tests/oracle/pages/SECTION/{lesson.slug.replace('-', '_')}.py; "
        f"python -m tests.pages.draft_claims {lesson.slug} writes a draft"
    )
    assert len(module.STATES) > 1, "STATES are the addresses to try: two at least"
    # In presenter mode a part's controls may be on another part.
    others = [dict(module.STATES[1]) | {"present": "true", "step": step} for step in ("2", "3", "4")]
    check_page(lesson.slug, lesson.slug, *others)


def test_a_draft_of_claims_runs_and_leaves_out_arrays_alone() -> None:
    module, (text, prose) = ModuleType("draft"), draft("scaled-dot-product")
    exec(text, vars(module))
    vars(module)["prose"] = prose  # instead of what is approved
    messages = unclaimed(opened("scaled-dot-product"), module, Page("scaled-dot-product", module.STATES[0]))
    assert [one for one in messages if "to be computed" not in one] == []


def test_the_navigation_lists_the_course_in_its_order() -> None:
    shown = [(section, one.slug, one.title) for section, lessons in APP.sections.items() for one in lessons]
    assert shown == [(place.section, place.slug, place.title) for place in COURSE]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", OTHERS)
def test_every_statement_of_another_page_is_claimed(name: str) -> None:
    check_page(name, OTHERS[name])


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    stand_in_models(folder)
    return folder


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", FOREIGN)
def test_every_statement_about_other_models_is_claimed(
    name: str, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALKTHROUGH_MODELS", str(models))
    check_page(name, FOREIGN[name])


HOSTILE = (  # of the signs that the reader looks for, the translator repeats quotation marks
    'He said: "No!" ~ <img src=x onerror=alert(1)> </script><script>alert(1)</script> <eos> <pad> ฉัน <sos>',
    '"Yes!" ~ abc\u202edef\u2066 \u200bzero\u200dwidth\ufeff \x00\x1b[31m' + " Z\u0337\u0347\u0301a\u0334\u0303lgo" * 3,
    '"Go!" ~ **b** [x](javascript:alert(1)) # h | a || `c` :red[x] :smile: $\\frac{1}{0}$ $$y$$ ' + "w" * 10_000,
    '"{~}"',  # it takes a tenth of the time
)


def acting(app: AppTest, nth: int) -> list[str]:
    """Types hostile text, in every second state into all boxes; messages for what would not be shown as text.

    In the first states it is long, in all others short.
    """
    text = HOSTILE[min(nth, len(HOSTILE) - 1)]
    boxes = [box for box in (*app.text_input, *app.text_area) if box.key == "sentence" or nth % 2]
    for box in boxes:
        box.input(text)
    app.run()
    assert_sound(app)
    assert all(box.value == text for box in app.text_input if box.key == "sentence")
    bodies = [one.proto.body for one in app.get("html")]
    raw = [one for one in read(app) if RAW in str(one.content)]
    return [f"acts: {one}" for one in (*raw, *(body for body in bodies if re.search("<(img src=x|script)", body)))]


# Runs that other tests ask for, since a button or a file brings them.
BEHIND_BUTTONS = {
    "the training is over", "its german already says", "the loudest second", "every word is hidden",
    "a convolution takes n",
}  # fmt: skip
# What other weights would show, or a sentence that nobody has found.
RARE = {
    "inference": {"hiding any one", "it did not come", "none of the beginnings"},
    "torn-text": {"not ended"},
    "only-what-is-missing": {"not ended"},
    "how-it-learned": {"as far as both", "on no head formed"},
    "fill-in-the-blank": {"nothing to the right"},
    "windows-that-shift": {"swin is points the"},
    "self-attention": {"the larger share changes", "the larger share changes over"},
    "positions-six-ways": {"these are drawn at"},
    "pictures-meet-words": {"that would be less"},
}


def check_page(name: str, page: str | Path, *others: State) -> None:
    """Opens a page in every state of its claims, and in others, and answers what it asks."""
    forget()  # what the lesson before needed is of no use to this one, and takes up to a gigabyte
    module = claims_of(name)
    wrong: dict[str, list[State]] = {}  # by message: the states in which it holds
    needed, tried = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)  # by control: its options
    for nth, state in enumerate((*module.STATES, *others)):
        app, about = opened(page, **state), Page(name, state)
        for message in unclaimed(app, module, about) or answered(app, module, about, nth) or acting(app, nth):
            wrong.setdefault(message, []).append(state)
        for control, (options, chosen) in about.asked.items():
            needed[control].update(options)
            tried[control].add(chosen)
    if prose := getattr(module, "prose", None):
        needless = prose.runs.keys() - prose.asked - {*PARTS} - BEHIND_BUTTONS - RARE.get(name, set())
        for run in needless | (RARE.get(name, set()) & prose.asked):
            wrong[f"[{run}] is shown in no state, or stands wrongly in RARE or BEHIND_BUTTONS"] = [{}]
    for control, options in needed.items():
        if options - tried[control]:
            wrong[f"no state sets {control} to {sorted(options - tried[control])}"] = [{}]
    assert not wrong, "".join(
        f"\n{message}\n    with {dict(states[0])}" + f" and {len(states) - 1} more" * (len(states) > 1)
        for message, states in wrong.items()
    )


@pytest.mark.parametrize("file", sorted(approved.FOLDER.rglob("*.txt")), ids=lambda file: file.stem)
def test_every_approved_text_is_claimed(file: Path) -> None:
    """Each run is named by the claims; a part that is one run has its name."""
    name = file.stem.replace("-", "_")
    (module,) = (approved.FOLDER.parent / "oracle").glob(f"*/**/{name}.py")
    named = {node.value for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Constant)}
    assert approved.Prose(name).runs.keys() - named - {*PARTS} == set()
