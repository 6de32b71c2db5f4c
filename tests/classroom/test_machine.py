"""Whatever a class does in whatever order: the store says what a few dictionaries say."""

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from classroom.classes import Member, Teacher, delete_class, open_class, people
from classroom.database import Database
from classroom.errors import AlreadyAnsweredError, LateError, NoSuchClassError
from classroom.members import join, leave, take_out
from classroom.polls import answer, ask, overview, set_state
from tests.classroom.kit import NOW, QUESTION, view


class Classes(RuleBasedStateMachine):
    """The model: by class its learners, its questions in order, and their answers."""

    teachers: Bundle[Teacher] = Bundle("teachers")
    members: Bundle[Member] = Bundle("members")
    polls: Bundle[tuple[Teacher, int]] = Bundle("polls")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.db = Database(f"sqlite:///{Path(self.folder.name)}/classes.db")
        self.inside: dict[Teacher, list[int]] = {}
        self.asked: dict[Teacher, list[int]] = {}
        self.closed: set[int] = set()
        self.given: dict[tuple[int, int], frozenset[int]] = {}
        self.tokens = 0

    def teardown(self) -> None:
        self.db.close()
        self.folder.cleanup()

    def of(self, member: Member) -> Teacher | None:
        return next((t for t, inside in self.inside.items() if member.learner_id in inside), None)

    @rule(target=teachers)
    def open(self) -> Teacher:
        teacher, _ = open_class(self.db, "", str(len(self.inside)), NOW)
        self.inside[teacher], self.asked[teacher] = [], []
        return teacher

    @rule(target=members, teacher=teachers)
    def join(self, teacher: Teacher) -> object:
        self.tokens += 1
        try:
            member = join(self.db, teacher.code, str(self.tokens), "", "school", NOW)
        except NoSuchClassError:
            assert teacher not in self.inside
            return multiple()
        self.inside[teacher].append(member.learner_id)
        return member

    @rule(target=polls, teacher=teachers)
    def ask(self, teacher: Teacher) -> object:
        try:
            poll = ask(self.db, teacher, QUESTION, NOW)
        except NoSuchClassError:
            assert teacher not in self.inside
            return multiple()
        if self.asked[teacher] and self.asked[teacher][-1] not in self.closed:
            assert poll == self.asked[teacher][-1]  # the same question is open already
            return multiple()
        self.closed |= set(self.asked[teacher])
        self.asked[teacher].append(poll)
        return teacher, poll

    @rule(which=polls, closed=st.booleans(), revealed=st.booleans())
    def turn(self, which: tuple[Teacher, int], closed: bool, revealed: bool) -> None:
        teacher, poll = which
        try:
            set_state(self.db, teacher, poll, closed=closed, revealed=revealed)
        except NoSuchClassError:
            assert teacher not in self.inside
            return
        self.closed = self.closed | {poll} if closed else self.closed - {poll}

    @rule(member=members, option=st.integers(0, 2))
    def answer(self, member: Member, option: int) -> None:
        teacher = self.of(member)
        if teacher and not self.asked[teacher]:
            return
        poll = self.asked[teacher][-1] if teacher else 1
        key, chosen = (poll, member.learner_id), frozenset({option})
        try:
            answer(self.db, member, poll, chosen, NOW)
        except NoSuchClassError:
            assert teacher is None
        except LateError:
            assert poll in self.closed
            assert key not in self.given
        except AlreadyAnsweredError:
            assert self.given[key] != chosen
        else:
            assert teacher is not None
            assert key in self.given or poll not in self.closed
            assert self.given.setdefault(key, chosen) == chosen

    @rule(member=members, by=st.none() | teachers)
    def leave(self, member: Member, by: Teacher | None) -> None:
        """By themselves, or by a teacher, who reaches nobody else's learners."""
        if by is None:
            leave(self.db, member)
        else:
            take_out(self.db, by, member.learner_id, NOW)
        teacher = self.of(member)
        if teacher and by in (None, teacher):
            self.inside[teacher].remove(member.learner_id)
            self.given = {key: chosen for key, chosen in self.given.items() if key[1] != member.learner_id}

    @rule(teacher=consumes(teachers))
    def delete(self, teacher: Teacher) -> None:
        delete_class(self.db, teacher)
        self.inside.pop(teacher, None)
        gone = self.asked.pop(teacher, [])
        self.given = {key: chosen for key, chosen in self.given.items() if key[0] not in gone}

    @rule(member=members)
    def look(self, member: Member) -> None:
        teacher = self.of(member)
        try:
            shown = view(self.db, member)
        except NoSuchClassError:
            assert teacher is None
            return
        assert teacher is not None
        newest = self.asked[teacher][-1] if self.asked[teacher] else None
        assert (shown.poll.poll_id if shown.poll else None) == newest
        assert shown.chosen == self.given.get((newest or 0, member.learner_id), frozenset())

    @invariant()
    def the_same_is_counted(self) -> None:
        for teacher, inside in self.inside.items():
            seen = overview(self.db, teacher, NOW)
            assert [one.learner_id for one in people(self.db, teacher, NOW)] == inside
            assert [poll.poll_id for poll in seen.polls] == self.asked[teacher][::-1]
            for poll in seen.polls:
                given = [chosen for (asked, _), chosen in self.given.items() if asked == poll.poll_id]
                assert poll.counts == tuple(sum(n in chosen for chosen in given) for n in range(3))
                assert (poll.answered, poll.closed) == (len(given), poll.poll_id in self.closed)


TestClasses = Classes.TestCase
TestClasses.settings = settings(max_examples=8, stateful_step_count=20, deadline=None, derandomize=True)
