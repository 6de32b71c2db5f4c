"""Nothing is shown that no oracle claims: every statement of every lesson, computed again by tests/oracle."""

from pathlib import Path
from types import ModuleType

import pytest

from hub.export.folder import export
from tests.course import LESSONS
from tests.hub.small_models import FAMILIES, make
from tests.oracle.course import COURSE
from tests.oracle.page import Page
from tests.oracle.walk import State, answered, claims_of, unclaimed
from tests.pages.draft_claims import draft
from tests.pages.kit import ROOT, opened
from ui.course.lesson import COURSE as APP
from ui.course.lesson import Lesson


@pytest.mark.timeout(600)
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: one.slug)
def test_every_statement_of_a_lesson_is_claimed(lesson: Lesson) -> None:
    module = claims_of(lesson.slug)
    assert module, (
        f"nobody claims what {lesson.slug} shows: write tests/oracle/pages/{lesson.slug.replace('-', '_')}.py; "
        f"python -m tests.pages.draft_claims {lesson.slug} writes a draft"
    )
    assert len(module.STATES) > 1, "STATES are the addresses to try: two at least"
    # In presenter mode a part's controls may be on another part.
    others = [dict(module.STATES[1]) | {"present": "true", "step": step} for step in ("2", "3", "4")]
    check_page(lesson.slug, lesson.slug, *others)


def test_a_draft_of_claims_runs_and_leaves_out_arrays_alone() -> None:
    module = ModuleType("draft")
    exec(draft("scaled-dot-product"), vars(module))
    messages = unclaimed(opened("scaled-dot-product"), module, Page("scaled-dot-product", module.STATES[0]))
    assert [one for one in messages if "to be computed" not in one] == []


def test_the_navigation_lists_the_course_in_its_order() -> None:
    shown = [(section, one.slug, one.title) for section, lessons in APP.sections.items() for one in lessons]
    assert shown == [(place.section, place.slug, place.title) for place in COURSE]


OTHERS = {"home": "home.py", "about": "about.py", "results": "results.py", "bertviz": "explore/bertviz.py"}
OTHERS |= {"join": "classes/join.py", "teach": "classes/teach.py"}
FOREIGN = {"any_model": "explore/any_model.py", "compare": "explore/compare.py"}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", OTHERS)
def test_every_statement_of_another_page_is_claimed(name: str) -> None:
    check_page(name, ROOT / "pages" / OTHERS[name])


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for family in ("bert", "gpt2", "t5"):
        make(family, folder / family)
    export(folder / "ours")
    # So many weights that a view cannot hold all layers.
    model, configuration, settings, tokenizer = FAMILIES["gpt2"]
    large = model(configuration(**settings | {"vocab_size": len(tokenizer()), "n_layer": 7, "n_head": 12}))
    large.save_pretrained(folder / "large")
    tokenizer().save_pretrained(folder / "large")
    return folder


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", FOREIGN)
def test_every_statement_about_other_models_is_claimed(
    name: str, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALKTHROUGH_MODELS", str(models))
    check_page(name, ROOT / "pages" / FOREIGN[name])


def check_page(name: str, page: str | Path, *others: State) -> None:
    """Opens a page in every state of its claims, and in others, and answers what it asks."""
    module = claims_of(name)
    wrong: dict[str, list[State]] = {}  # by message: the states in which it holds
    for nth, state in enumerate((*module.STATES, *others)):
        app, about = opened(page, **state), Page(name, state)
        for message in unclaimed(app, module, about) or answered(app, module, about, nth):
            wrong.setdefault(message, []).append(state)
    assert not wrong, "".join(
        f"\n{message}\n    with {dict(states[0])}" + f" and {len(states) - 1} more" * (len(states) > 1)
        for message, states in wrong.items()
    )
