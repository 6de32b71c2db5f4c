"""What tests of classes do again and again."""

from typing import NamedTuple

from classroom.classes import Member, Place, Teacher, open_class
from classroom.database import Database
from classroom.members import join
from classroom.polls import Asked, Boards, Shown, chosen_in

NOW = 1_800_000_000
DAY = 24 * 3600
QUESTION = Asked("Which is prime?", ("4", "5", "6"), frozenset({1}), "5 has no divisors.")


def new_class(db: Database, title: str = "Physics", now: int = NOW) -> Teacher:
    return open_class(db, title, "teacher's", now)[0]


def learners(db: Database, teacher: Teacher, count: int, now: int = NOW) -> list[Member]:
    return [join(db, teacher.code, f"token {n}", f"Learner {n}", "school", now) for n in range(count)]


class View(NamedTuple):
    """What a learner sees: the newest question, their own answer to it, where the class was sent."""

    poll: Shown | None
    chosen: frozenset[int]
    place: Place | None


def view(db: Database, member: Member) -> View:
    seen = Boards(db).of(member)
    return View(seen.poll, chosen_in(db, member, seen.poll.poll_id) if seen.poll else frozenset(), seen.place)
