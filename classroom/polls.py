"""Questions put to a class, and the answers: each learner's first one counts, and none that came too late."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import cachetools
from sqlalchemy import func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from classroom.classes import ENDED, HERE_SECONDS, Member, Place, Teacher, own, place_of, seconds
from classroom.codes import clean
from classroom.database import Database
from classroom.errors import AlreadyAnsweredError, LateError, NoSuchClassError, NotPossibleError
from classroom.members import present
from classroom.tables import Answer, Class, Learner, Poll

MAX_OPTIONS, MAX_OPTION, MAX_TEXT, MAX_POLLS = 10, 400, 2000, 100
FRESH_SECONDS = 0.5

LATE = "This question is closed, so your answer was not counted."
TWICE = "You have answered this question already; your first answer counts."
NO_POLL = "There is no such question in this class."
NO_OPTION = "Choose one of the options."


@dataclass(frozen=True)
class Asked:
    """A question as it is put to a class; see `tables.Poll`."""

    text: str
    options: tuple[str, ...]
    right: frozenset[int] = frozenset()
    why: str = ""
    several: bool = False
    lesson: str = ""


@dataclass(frozen=True)
class Shown:
    """A question of a class with what has come in. counts: of each option; answered: how many learners have"""

    poll_id: int
    number: int
    asked: Asked
    closed: bool
    revealed: bool
    counts: tuple[int, ...]
    answered: int


@dataclass(frozen=True)
class Overview:
    """What a teacher sees of a class: its questions, the newest first; learners in it, and how many are here."""

    polls: tuple[Shown, ...]
    learners: int
    here: int
    locked: bool
    place: Place | None


@dataclass(frozen=True)
class Board:
    """What all learners of a class see: the newest question, with counts only once they are revealed.

    nicknames: of those who are in the class, by their ids
    """

    poll: Shown | None
    place: Place | None
    nicknames: Mapping[int, str]


def read_chosen(text: str) -> frozenset[int]:
    """The options in a row of `tables.Answer`."""
    return frozenset(map(int, text.split()))


# --- the teacher -----------------------------------------------------------------------------------------------------


def checked(asked: Asked) -> Asked:
    """The question, its texts of one's own cleaned.

    Raises: NotPossibleError, saying what is missing
    """
    texts = (asked.text, asked.why, *asked.options)
    if asked.lesson:  # these come from the app itself, and may have lines
        text, why, *options = (text.replace("\0", "").encode("utf-8", "replace").decode() for text in texts)
    else:
        text, why, *options = (clean(text, MAX_TEXT) for text in texts)
    if not text or len(text) > MAX_TEXT or len(why) > MAX_TEXT:
        raise NotPossibleError(f"A question needs a text, of {MAX_TEXT:,} signs at most.")
    if not 2 <= len(options) <= MAX_OPTIONS or not all(options) or len(set(options)) < len(options):
        raise NotPossibleError(f"A question needs two to {MAX_OPTIONS} options, and no two the same.")
    if any(len(option) > MAX_OPTION for option in options):
        raise NotPossibleError(f"An option may have {MAX_OPTION} signs at most.")
    if not asked.right <= set(range(len(options))) or (len(asked.right) > 1 and not asked.several):
        raise NotPossibleError("The right answer must be one of the options.")
    return Asked(text, tuple(options), asked.right, why, asked.several, asked.lesson)


def ask(db: Database, teacher: Teacher, asked: Asked, now: int | None = None) -> int:
    """Put a question to a class; the one before is closed. Its id. The one that is open already stays: a second click.

    Raises: NotPossibleError; NoSuchClassError; StoreError
    """
    asked = checked(asked)
    with db.writing() as session:
        own(session, teacher, lock=True)
        polls = session.scalars(select(Poll).where(Poll.class_id == teacher.class_id).with_for_update()).all()
        newest = max(polls, key=lambda poll: poll.number, default=None)
        if newest and not (newest.closed or newest.revealed) and _shown(newest, [], 0).asked == asked:
            return newest.id
        if len(polls) >= MAX_POLLS:
            raise NotPossibleError(f"A class can have {MAX_POLLS} questions; delete it and open another.")
        for before in polls:
            before.closed = True
        poll = Poll(
            class_id=teacher.class_id,
            number=newest.number + 1 if newest else 1,
            lesson=asked.lesson,
            text=asked.text,
            options=list(asked.options),
            right=sorted(asked.right),
            why=asked.why,
            several=asked.several,
            asked=seconds() if now is None else now,
        )
        session.add(poll)
    return poll.id


def set_state(
    db: Database, teacher: Teacher, poll_id: int, *, closed: bool | None = None, revealed: bool | None = None
) -> None:
    """Close or open a question, reveal or hide what was answered.

    Raises: NotPossibleError if it is none of this class; NoSuchClassError; StoreError
    """
    with db.writing() as session:
        own(session, teacher)
        poll = session.get(Poll, poll_id, with_for_update=True)  # whoever is answering is waited for
        if poll is None or poll.class_id != teacher.class_id:
            raise NotPossibleError(NO_POLL)
        poll.closed = poll.closed if closed is None else closed
        poll.revealed = poll.revealed if revealed is None else revealed


def overview(db: Database, teacher: Teacher, now: int | None = None) -> Overview:
    """Everything that a teacher sees of a class but its learners' names.

    Raises: NoSuchClassError; StoreError
    """
    now = seconds() if now is None else now
    with db.reading() as session:
        found = own(session, teacher)
        polls = session.scalars(select(Poll).where(Poll.class_id == found.id).order_by(Poll.number.desc())).all()
        ours = Learner.class_id == found.id
        here = Learner.seen.between(now - HERE_SECONDS, now + HERE_SECONDS)
        learners = session.scalar(select(func.count()).where(ours)) or 0
        n_here = session.scalar(select(func.count()).where(ours, here)) or 0
        return Overview(_with_counts(session, polls), learners, n_here, found.locked, place_of(found))


def _with_counts(session: Session, polls: Sequence[Poll]) -> tuple[Shown, ...]:
    counts = {poll.id: [0] * len(poll.options) for poll in polls}
    answered = Counter[int]()
    of_these = select(Answer.poll_id, Answer.chosen, func.count()).where(Answer.poll_id.in_(counts))
    for poll_id, chosen, count in session.execute(of_these.group_by(Answer.poll_id, Answer.chosen)):
        answered[poll_id] += count
        for option in read_chosen(chosen):
            counts[poll_id][option] += count
    return tuple(_shown(poll, counts[poll.id], answered[poll.id]) for poll in polls)


def _shown(poll: Poll, counts: Sequence[int], answered: int) -> Shown:
    asked = Asked(poll.text, tuple(poll.options), frozenset(poll.right), poll.why, poll.several, poll.lesson)
    return Shown(poll.id, poll.number, asked, poll.closed, poll.revealed, tuple(counts), answered)


# --- a learner -------------------------------------------------------------------------------------------------------


def answer(db: Database, member: Member, poll_id: int, chosen: frozenset[int], now: int | None = None) -> None:
    """Answer a question. The same answer once more is as good as once.

    When this returns, the answer is on the disk.

    Raises: LateError, AlreadyAnsweredError, NotPossibleError; NoSuchClassError; StoreError
    """
    now = seconds() if now is None else now
    with db.writing() as session:
        # In this order everybody locks: the class, so that it is deleted before or after, then the question, so that a
        # teacher who closes it waits, and the counts no longer change once that is done.
        session.execute(select(Class.id).where(Class.id == member.class_id).with_for_update(read=True, key_share=True))
        present(session, member)
        poll = session.get(Poll, poll_id, with_for_update={"read": True})
        if poll is None or poll.class_id != member.class_id:
            raise NotPossibleError(NO_POLL)
        if not chosen or not chosen <= set(range(len(poll.options))) or (len(chosen) > 1 and not poll.several):
            raise NotPossibleError(NO_OPTION)
        before = session.get(Answer, (poll_id, member.learner_id))
        if before is None:
            if poll.closed:
                raise LateError(LATE)
            make = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
            text = " ".join(map(str, sorted(chosen)))
            row = make(Answer).values(poll_id=poll_id, learner_id=member.learner_id, chosen=text, given=now)
            session.execute(row.on_conflict_do_nothing())  # another tab, at this very moment
            before = session.get_one(Answer, (poll_id, member.learner_id))
        if read_chosen(before.chosen) != chosen:
            raise AlreadyAnsweredError(TWICE)


def chosen_in(db: Database, member: Member, poll_id: int) -> frozenset[int]:
    """What a learner answered to a question; nothing if they have not.

    Raises: StoreError
    """
    with db.reading() as session:
        mine = session.get(Answer, (poll_id, member.learner_id))
        return read_chosen(mine.chosen) if mine else frozenset()


def board(db: Database, member: Member) -> Board:
    """What a learner may see of their class, but for their own answer.

    Raises: NoSuchClassError; StoreError
    """
    with db.reading() as session:
        found = session.get(Class, member.class_id)
        if found is None:
            raise NoSuchClassError(ENDED)
        of_ours = select(Learner.id, Learner.nickname).where(Learner.class_id == found.id)
        nicknames = {row.id: row.nickname for row in session.execute(of_ours)}
        poll = session.scalar(select(Poll).where(Poll.class_id == found.id).order_by(Poll.number.desc()).limit(1))
        if poll is None:
            return Board(None, place_of(found), nicknames)
        (shown,) = _with_counts(session, [poll]) if poll.revealed else (_shown(poll, [0] * len(poll.options), 0),)
        if not (poll.closed and poll.revealed):  # nobody learns from the page's data what they are still asked
            shown = replace(shown, asked=replace(shown.asked, right=frozenset(), why=""))
        return Board(shown, place_of(found), nicknames)


class Boards:
    """Boards of classes, read once in half a second however many learners look. For all threads of a process."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._lock = threading.Lock()
        self._known: cachetools.TTLCache[int, Board] = cachetools.TTLCache(1000, FRESH_SECONDS)

    def of(self, member: Member) -> Board:
        """Raises: LeftError if they are in it no more; NoSuchClassError; StoreError"""
        with self._lock:
            known = self._known.get(member.class_id)
            if known is None:
                known = self._known[member.class_id] = board(self._db, member)
        if member.learner_id not in known.nicknames:  # unless they have joined just now
            with self._db.reading() as session:
                present(session, member)
        return known
