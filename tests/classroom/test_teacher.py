"""What a teacher may do to one learner, and to their own secret, on both databases."""

import inspect
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import delete

from classroom import classes, export, members, polls
from classroom.classes import ENDED, REPLACED, Teacher, lock_class, open_class, people, replace_secret, teach
from classroom.database import Database
from classroom.errors import ClassError, LeftError, NotPossibleError, NotTheTeacherError, ReplacedError
from classroom.export import results
from classroom.members import (
    LEFT,
    LOCKED,
    NO_LEARNER,
    TAKEN_OUT,
    come_back,
    join,
    leave,
    offer,
    rename,
    report,
    stand,
    take_out,
)
from classroom.polls import Boards, answer, ask, overview
from classroom.tables import Base, Learner
from tests.classroom.kit import NOW, QUESTION, learners, new_class


def out(why: str, *calls: Callable[[], object]) -> None:
    """Each says this to a learner who is in the class no more."""
    for call in calls:
        with pytest.raises(LeftError) as caught:
            call()
        assert str(caught.value) == why


def test_who_is_taken_out_is_in_no_count_and_is_told_so(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classroom.members.MAX_LEARNERS", 2)
    teacher = new_class(db)
    ada, bob = learners(db, teacher, 2)
    poll = ask(db, teacher, QUESTION)
    for who, option in ((ada, 0), (bob, 1)):
        answer(db, who, poll, frozenset({option}))
    for _ in range(2):  # a second click, which came late
        take_out(db, teacher, ada.learner_id)
    seen = overview(db, teacher)
    assert (seen.learners, seen.polls[0].counts) == (1, (0, 1, 0))
    assert b"Learner 0" not in results(db, teacher)
    out(
        TAKEN_OUT,
        lambda: Boards(db).of(ada),
        lambda: stand(db, ada, "masking"),
        lambda: answer(db, ada, poll, frozenset({0})),
        lambda: come_back(db, teacher.code, "token 0"),  # after a reload
    )
    lock_class(db, teacher, True)
    with pytest.raises(NotPossibleError, match=f"^{LOCKED}$"):
        join(db, teacher.code, "token 0", "Ada", "school")
    lock_class(db, teacher, False)
    again = join(db, teacher.code, "token 0", "Ada", "school")  # there is a seat
    assert [(one.nickname, one.number) for one in people(db, teacher)] == [("Learner 1", 2), ("Ada", 3)]
    leave(db, again)
    out(LEFT, lambda: Boards(db).of(again))
    assert come_back(db, teacher.code, "token 0") is None


@pytest.mark.parametrize("typed", ["Bob", "", "x" * 10_000, " <b>\x00\ud800 *x*\n", "=1+1", "Learner 1"])
def test_a_learner_is_renamed_by_the_rules_of_joining(typed: str, db: Database) -> None:
    teacher, other = new_class(db), new_class(db)
    ada, bob = learners(db, teacher, 2)
    rename(db, teacher, ada.learner_id, typed)
    joined = join(db, other.code, "token", typed, "school")
    assert Boards(db).of(bob).nicknames == {ada.learner_id: joined.nickname, bob.learner_id: "Learner 1"}
    assert come_back(db, teacher.code, "token 0") == join(db, teacher.code, "token 0", "Ada", "school")
    assert people(db, teacher)[0].nickname == joined.nickname


def test_no_teacher_reaches_a_learner_of_another_class_or_one_who_is_gone(db: Database) -> None:
    teacher, other = new_class(db), new_class(db)
    ada, gone = learners(db, teacher, 2)
    leave(db, gone)
    take_out(db, other, ada.learner_id)
    for who, whom in ((other, ada), (teacher, gone)):
        with pytest.raises(NotPossibleError, match=f"^{NO_LEARNER}$"):
            rename(db, who, whom.learner_id, "x")
    assert Boards(db).of(ada).nicknames == {ada.learner_id: "Learner 0"}


@pytest.mark.slow
@pytest.mark.parametrize("do", ["stand", "offer", "report"])
def test_what_a_learner_does_while_they_are_taken_out_ends_in_a_sentence(do: str, db: Database) -> None:
    (ada,) = learners(db, new_class(db), 1)
    doing = {
        "stand": lambda: stand(db, ada, "masking"),
        "offer": lambda: offer(db, ada, "A dog."),
        "report": lambda: report(db, ada, {"masking": (1, 2)}),
    }[do]
    with ThreadPoolExecutor(1) as pool:
        with db.writing() as session:
            session.execute(delete(Learner).where(Learner.id == ada.learner_id))
            begun = pool.submit(doing)
            threading.Event().wait(0.3)  # it waits for this change to end
        with pytest.raises(LeftError):
            begun.result(timeout=30)


# --- another secret --------------------------------------------------------------------------------------------------

HAS_TEACHER = {
    "lock_class": (True,), "delete_class": (), "people": (), "send": ("", {}, frozenset([""])), "replace_secret": (),
    "ask": (QUESTION,), "set_state": (1,), "overview": (), "results": (), "rename": (1, "x"), "take_out": (1,),
}  # fmt: skip


def test_who_came_by_a_secret_that_was_replaced_does_and_learns_nothing(db: Database) -> None:
    functions = {
        name: function
        for module in (classes, members, polls, export)
        for name, function in vars(module).items()
        if inspect.isfunction(function) and list(inspect.signature(function).parameters)[:2] == ["db", "teacher"]
    }
    assert functions.keys() == HAS_TEACHER.keys()
    teacher, secret = open_class(db, "Physics", "here", NOW)
    (ada,) = learners(db, teacher, 1)
    ask(db, teacher, QUESTION)
    new, new_secret = replace_secret(db, teacher)
    with db.reading() as session:
        before = [session.execute(table.select()).all() for table in Base.metadata.sorted_tables]
    assert new_secret not in str(before)
    for name, arguments in HAS_TEACHER.items():
        with pytest.raises(ReplacedError) as caught:
            functions[name](db, teacher, *arguments)
        assert str(caught.value) == REPLACED, name
    with pytest.raises(NotTheTeacherError):
        teach(db, teacher.code, secret, "here", NOW)
    with db.reading() as session:
        assert [session.execute(table.select()).all() for table in Base.metadata.sorted_tables] == before
    assert teach(db, teacher.code, new_secret, "here", NOW) == new
    assert Boards(db).of(ada).poll
    classes.delete_class(db, new)
    with pytest.raises(ClassError, match=f"^{ENDED}$"):
        overview(db, teacher)


def test_of_two_who_replace_a_secret_at_once_one_does(db: Database) -> None:
    teacher = new_class(db)

    def press(_: int) -> tuple[Teacher, str] | str:
        try:
            return replace_secret(db, teacher)
        except ReplacedError as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(press, range(8)))
    assert said.count(REPLACED) == 7
    ((new, secret),) = (one for one in said if not isinstance(one, str))
    assert teach(db, teacher.code, secret, "here") == new
