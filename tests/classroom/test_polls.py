"""Questions and answers, on both databases."""

import csv
import io
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from classroom.classes import people
from classroom.database import Database
from classroom.errors import AlreadyAnsweredError, ClassError, LateError, NotPossibleError
from classroom.export import HEAD, results
from classroom.members import join, leave
from classroom.polls import (
    FRESH_SECONDS,
    LATE,
    MAX_POLLS,
    NO_OPTION,
    TWICE,
    Asked,
    Boards,
    answer,
    ask,
    overview,
    set_state,
)
from tests.classroom.kit import NOW, QUESTION, learners, new_class, view


def one(*options: int) -> frozenset[int]:
    return frozenset(options)


def test_answers_are_counted_and_hidden_from_learners_until_they_are_revealed(db: Database) -> None:
    teacher = new_class(db)
    members = learners(db, teacher, 7)
    poll = ask(db, teacher, QUESTION, NOW)
    for n, member in enumerate(members):
        answer(db, member, poll, one(n % 2))
    (seen,) = overview(db, teacher).polls
    assert (seen.counts, seen.answered, seen.asked, seen.number) == ((4, 3, 0), 7, QUESTION, 1)
    hidden = view(db, members[0])
    assert hidden.poll
    assert (hidden.poll.counts, hidden.poll.answered, hidden.chosen) == ((0, 0, 0), 0, one(0))
    assert (hidden.poll.asked.right, hidden.poll.asked.why) == (one(), "")
    set_state(db, teacher, poll, revealed=True)
    while_open = view(db, members[0]).poll
    assert while_open
    assert (while_open.counts, while_open.asked.right) == ((4, 3, 0), one())
    set_state(db, teacher, poll, closed=True)
    after = view(db, members[0]).poll
    assert after
    assert after.asked == QUESTION
    set_state(db, teacher, poll, revealed=False)
    assert view(db, members[0]).poll.counts == (0, 0, 0)  # type: ignore[union-attr]


def test_an_answer_counts_once_whatever_is_sent_again(db: Database) -> None:
    teacher = new_class(db)
    (member,) = learners(db, teacher, 1)
    poll = ask(db, teacher, QUESTION)
    for _ in range(3):
        answer(db, member, poll, one(2))
    with pytest.raises(AlreadyAnsweredError, match=f"^{TWICE}$"):
        answer(db, member, poll, one(1))
    assert overview(db, teacher).polls[0].counts == (0, 0, 1)


def test_a_late_answer_is_refused_and_one_that_was_in_time_may_come_again(db: Database) -> None:
    teacher = new_class(db)
    early, late = learners(db, teacher, 2)
    poll = ask(db, teacher, QUESTION)
    answer(db, early, poll, one(1))
    set_state(db, teacher, poll, closed=True)
    with pytest.raises(LateError, match=f"^{LATE}$"):
        answer(db, late, poll, one(1))
    answer(db, early, poll, one(1))
    assert overview(db, teacher).polls[0].answered == 1
    set_state(db, teacher, poll, closed=False)
    answer(db, late, poll, one(1))
    assert overview(db, teacher).polls[0].answered == 2


def test_a_new_question_closes_the_one_before(db: Database) -> None:
    teacher = new_class(db)
    (member,) = learners(db, teacher, 1)
    first = ask(db, teacher, QUESTION)
    ask(db, teacher, replace(QUESTION, text="Another?"))
    assert [(poll.number, poll.closed) for poll in overview(db, teacher).polls] == [(2, False), (1, True)]
    assert view(db, member).poll.asked.text == "Another?"  # type: ignore[union-attr]
    with pytest.raises(LateError):
        answer(db, member, first, one(0))


def test_only_options_that_there_are_can_be_chosen(db: Database) -> None:
    teacher = new_class(db)
    (member,) = learners(db, teacher, 1)
    poll = ask(db, teacher, QUESTION)
    for wrong in (one(), one(3), one(-1), one(0, 1)):
        with pytest.raises(NotPossibleError, match=f"^{NO_OPTION}$"):
            answer(db, member, poll, wrong)
    several = ask(db, teacher, replace(QUESTION, several=True, right=one(0, 2)))
    answer(db, member, several, one(0, 2))
    assert overview(db, teacher).polls[0].counts == (1, 0, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        Asked("", ("a", "b")), Asked(" \x00", ("a", "b")), Asked("x" * 2001, ("a", "b"), lesson="masking"),
        Asked("?", ("a",)), Asked("?", ("a", "a ")), Asked("?", ("a", "")), Asked("?", tuple("abcdefghijk")),
        Asked("?", ("a", "b" * 401)), Asked("?", ("a", "b"), one(2)), Asked("?", ("a", "b"), one(0, 1)),
    ],
)  # fmt: skip
def test_a_question_that_is_none_is_refused(wrong: Asked, db: Database) -> None:
    with pytest.raises(NotPossibleError):
        ask(db, new_class(db), wrong)


def test_a_teachers_own_texts_are_cleaned_and_a_lessons_are_kept(db: Database) -> None:
    teacher = new_class(db)
    ask(db, teacher, Asked("Is\x00 it\n so? \ud800", ("\u202eyes", "no ")))
    ask(db, teacher, Asked("$a$\n\n**b**", ("`x`", "y\n"), lesson="masking"))
    lesson, own = (poll.asked for poll in overview(db, teacher).polls)
    assert (own.text, own.options) == ("Is it so?", ("yes", "no"))
    assert (lesson.text, lesson.options) == ("$a$\n\n**b**", ("`x`", "y\n"))


def test_a_class_has_so_many_questions_and_no_more(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classroom.polls.MAX_POLLS", 3)
    assert MAX_POLLS == 100
    teacher = new_class(db)
    for n in range(3):
        ask(db, teacher, replace(QUESTION, text=str(n)))
    with pytest.raises(NotPossibleError):
        ask(db, teacher, QUESTION)


def test_from_two_tabs_at_the_same_moment_one_answer_counts(db: Database) -> None:
    teacher = new_class(db)
    poll_learners = learners(db, teacher, 5)
    poll = ask(db, teacher, QUESTION)

    def press(what: tuple[int, int]) -> str:
        try:
            answer(db, poll_learners[what[0]], poll, one(what[1]))
        except ClassError as error:
            return str(error)
        return "counted"

    presses = [(n, option) for n in range(5) for option in (0, 1, 0, 2)]
    with ThreadPoolExecutor(10) as pool:
        said = list(pool.map(press, presses))
    (seen,) = overview(db, teacher).polls
    assert (seen.answered, sum(seen.counts)) == (5, 5)
    assert set(said) <= {"counted", TWICE}
    for n, member in enumerate(poll_learners):  # who was told that it counted finds just that
        told = {option for (who, option), text in zip(presses, said, strict=True) if (who, text) == (n, "counted")}
        assert told == view(db, member).chosen


def test_after_a_question_is_closed_its_counts_stay(db: Database) -> None:
    """Answers that come while it is being closed are counted before that, or refused."""
    teacher = new_class(db)
    members = learners(db, teacher, 20)
    for _ in range(3):
        poll = ask(db, teacher, QUESTION)

        def press(member: object, poll: int = poll) -> bool:
            try:
                answer(db, member, poll, one(1))  # type: ignore[arg-type]
            except LateError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            told = [pool.submit(press, member) for member in members]
            set_state(db, teacher, poll, closed=True)
            when_closed = overview(db, teacher).polls[0].answered
        counted = sum(each.result() for each in told)
        assert counted == when_closed == overview(db, teacher).polls[0].answered


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server whose own time is half past one in the afternoon when it is eight in Greenwich."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Kolkata")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("far_east")
def test_the_results_are_a_table_that_no_spreadsheet_runs(db: Database) -> None:
    teacher = new_class(db)
    evil = join(db, teacher.code, "evil", "=HYPERLINK(1)", "school", NOW)
    good = join(db, teacher.code, "good", 'Zoë, "Z"', "school", NOW)
    poll = ask(db, teacher, Asked("+1?", ("-1", "@x"), one(0)), NOW)
    answer(db, evil, poll, one(0), NOW)
    answer(db, good, poll, one(1), NOW + 1)
    poll = ask(db, teacher, Asked("Both?", ("a", "b"), several=True), NOW)
    answer(db, good, poll, one(0, 1), NOW + 2)
    answer(db, evil, poll, one(1), NOW + 3)  # by question, and of each by who joined first
    other = new_class(db)
    answer(db, learners(db, other, 1)[0], ask(db, other, QUESTION), one(0))
    file = results(db, teacher)
    assert file.startswith(b"\xef\xbb\xbf")
    assert list(csv.reader(io.StringIO(file.decode("utf-8-sig"), newline=""))) == [
        list(HEAD),
        ["1", "'+1?", "1", "'=HYPERLINK(1)", "'-1", "yes", "2027-01-15 08:00:00"],
        ["1", "'+1?", "2", 'Zoë, "Z"', "'@x", "no", "2027-01-15 08:00:01"],
        ["2", "Both?", "1", "'=HYPERLINK(1)", "b", "", "2027-01-15 08:00:03"],
        ["2", "Both?", "2", 'Zoë, "Z"', "a; b", "", "2027-01-15 08:00:02"],
    ]


def test_a_learners_number_stays_when_others_leave_and_is_nobody_elses(db: Database) -> None:
    teacher = new_class(db)
    gone, stays, last = learners(db, teacher, 3)
    for who in (gone, last):
        leave(db, who)
    new = join(db, teacher.code, "new", "New", "school", NOW + 1)
    join(db, teacher.code, "token 1", "", "school", NOW + 2)  # comes back to their own
    poll = ask(db, teacher, QUESTION, NOW)
    for who in (stays, new):
        answer(db, who, poll, one(1), NOW)
    rows = list(csv.DictReader(io.StringIO(results(db, teacher).decode("utf-8-sig"), newline="")))
    assert [(row["learner"], row["nickname"]) for row in rows] == [("2", "Learner 1"), ("4", "New")]
    assert [one.number for one in people(db, teacher, NOW)] == [2, 4]
    learners(db, other := new_class(db), 1)
    assert [one.number for one in people(db, other, NOW)] == [1]


def test_many_who_look_at_once_cost_the_store_one_look(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    teacher = new_class(db)
    members = learners(db, teacher, 3)
    boards = Boards(db)
    assert boards.of(members[0]).poll is None
    ask(db, teacher, QUESTION)
    monkeypatch.setattr("classroom.polls.board", None)
    assert boards.of(members[1]).poll is None  # for half a second
    monkeypatch.undo()
    time.sleep(FRESH_SECONDS)
    assert boards.of(members[2]).poll is not None


def test_a_number_or_a_sign_that_no_database_holds_is_one_sentence(db: Database) -> None:
    teacher = new_class(db)
    (member,) = learners(db, teacher, 1)
    for huge in (10**30, -(10**30), 2**40):
        for do in (lambda n: answer(db, member, n, one(0)), lambda n: set_state(db, teacher, n, closed=True)):
            with pytest.raises(NotPossibleError, match=r"^(There is no such question|This cannot be kept)"):
                do(huge)
    ask(db, teacher, Asked("What is \ud800?", ("a\udfff", "b"), one(0), "\ud800", lesson="masking"))
    assert overview(db, teacher).polls[0].asked.text == "What is ??"
