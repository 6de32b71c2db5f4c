"""Opening, joining, teaching and deleting a class; where its learners stand, and where its teacher sends them.

Whoever does something holds a `Teacher` or a `Learner`, which only the right secret or token gives. Each belongs to one
class and reaches no other.
"""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from sqlalchemy import delete, or_, select, update
from sqlalchemy.orm import Session

from classroom import rate_limits
from classroom.codes import clean, hashed, new_code, new_secret, read_code, same
from classroom.database import Database
from classroom.errors import (
    FullError,
    NoSuchClassError,
    NotPossibleError,
    NotTheTeacherError,
    ReplacedError,
    StoreError,
    TooManyTriesError,
)
from classroom.rate_limits import Origin
from classroom.tables import Class, Learner

DAY = 24 * 3600
KEPT_DAYS = 30  # after its opening a class is deleted
HERE_SECONDS = 90  # since a learner was last heard of: they count as being here
MAX_TITLE = 60
MAX_STATE = 30, 2000  # parameters of a place, and signs of them all

ENDED = "This class is over: its teacher or its age has deleted it."
NO_CLASS = "There is no class with this code: look at it once more, it has six letters and digits."
NOT_YOURS = (
    "This is not the teacher's link of a class: use the whole link that you were given when you opened it, or the "
    "newest, if it was replaced."
)
REPLACED = (
    "The secret link by which you came here was replaced, so it works no more: open the new one, or load this page "
    "again in the browser that made it."
)
WAIT = "You have tried too many codes: wait ten minutes, then try again."
WAIT_ALL = (
    "Others in your network have tried too many codes: wait ten minutes, or ask your teacher to open their secret link "
    "in this network; then your code works at once."
)
NOT_DELETED = (
    "The server's disk is full, so the class could not be deleted, and all of it is still there: have somebody make "
    "room on the disk, then press again."
)
MANY_CLASSES = "You have opened many classes: wait an hour, or delete one that you have."
MANY_CLASSES_ALL = "Many classes were opened from your network: wait an hour, then try again."


@dataclass(frozen=True)
class Teacher:
    """Somebody who knows the secret of a class. secret_hash: of the one by which they were let in, see `own`"""

    class_id: int
    code: str
    title: str
    secret_hash: str


@dataclass(frozen=True)
class Member:
    """A learner in a class. token_hash: of their browser's token"""

    class_id: int
    learner_id: int
    nickname: str
    title: str
    token_hash: str


@dataclass(frozen=True)
class Place:
    """A page of the app and its state, as in its address. move: counts the places that a class was sent to"""

    page: str
    state: Mapping[str, str]
    move: int


@dataclass(frozen=True)
class Somebody:
    """A learner as the teacher sees one.

    number:   counts those who have ever joined, from 1
    here:     heard of just now; sentence: '' if they offered none
    progress: by lesson, how many questions they answered right, and how many it asks
    """

    learner_id: int
    number: int
    nickname: str
    page: str
    here: bool
    sentence: str
    progress: Mapping[str, tuple[int, int]]


def seconds() -> int:
    """The time, whole seconds since 1970."""
    return int(time.time())


# --- the teacher -----------------------------------------------------------------------------------------------------


def open_class(
    db: Database, title: str, address: str, now: int | None = None, visitor: str = ""
) -> tuple[Teacher, str]:
    """A new class, and the secret of its teacher, which is kept nowhere.

    Args:   address, visitor: see `rate_limits.Origin`
    Raises: TooManyTriesError; StoreError
    """
    now = seconds() if now is None else now
    secret, origin = new_secret(), Origin(address, visitor)
    with db.writing() as session:
        within = rate_limits.count(session, rate_limits.CLASSES, origin, now)
        if all(within):
            taken = set(session.scalars(select(Class.code)))
            code = next(code for code in iter(new_code, None) if code not in taken)
            made = Class(code=code, secret_hash=hashed(secret), title=clean(title, MAX_TITLE), opened=now)
            session.add(made)
            rate_limits.use(session, code, address, now)
    if not all(within):
        raise TooManyTriesError(MANY_CLASSES_ALL if within.visitor else MANY_CLASSES)
    return Teacher(made.id, made.code, made.title, made.secret_hash), secret


def teach(db: Database, code: str, secret: str, address: str, now: int | None = None) -> Teacher:
    """The teacher's side of a class, for whoever knows its secret, however many did not.

    Raises: NotTheTeacherError; StoreError
    """
    now = seconds() if now is None else now
    with db.reading() as session:
        found = session.scalar(select(Class).where(Class.code == read_code(code)))
        if not found or not same(secret, found.secret_hash):
            raise NotTheTeacherError(NOT_YOURS)
        known = rate_limits.in_use(session, found.code, address, now)
    if not known:
        with suppress(StoreError), db.writing() as session:  # a full disk shuts no teacher out
            rate_limits.use(session, found.code, address, now)
    return Teacher(found.id, found.code, found.title, found.secret_hash)


def by_code(db: Database, code: str, origin: Origin, now: int) -> Class:
    """The class with a code. A code that is in use at an address is right there, whoever else guesses.

    The try is counted before its result is known, so that of many at one moment no more than the limit learn anything.

    Raises: NoSuchClassError, TooManyTriesError
    """

    def look(session: Session, within: rate_limits.Within) -> Class | None:
        found = session.scalar(select(Class).where(Class.code == read_code(code))) if within.visitor else None
        known = within.address or (found and rate_limits.in_use(session, found.code, origin.address, now))
        return found if known else None

    with db.reading() as session:
        within = rate_limits.left(session, rate_limits.CODES, origin, now)
        found = look(session, within)
    if found or all(within):
        with db.writing() as session:
            within = rate_limits.count(session, rate_limits.CODES, origin, now)
            found = look(session, within)
            if found:
                rate_limits.take_back(session, rate_limits.CODES, origin)
                rate_limits.use(session, found.code, origin.address, now)
    if found is None:
        if all(within):
            raise NoSuchClassError(NO_CLASS)
        raise TooManyTriesError(WAIT_ALL if within.visitor else WAIT)
    return found


def own(session: Session, teacher: Teacher, lock: bool = False) -> Class:
    """The row of a teacher's class; with a lock until the session ends, so that two changes come one after the other.

    Raises: NoSuchClassError if it was deleted; ReplacedError if the secret is another now
    """
    found = session.get(Class, teacher.class_id, with_for_update=True if lock else None)
    if found is None:
        raise NoSuchClassError(ENDED)
    if found.secret_hash != teacher.secret_hash:
        raise ReplacedError(REPLACED)
    return found


def replace_secret(db: Database, teacher: Teacher) -> tuple[Teacher, str]:
    """A new secret in the place of one that leaked: whoever was let in by the old one is the teacher no more.

    Raises: NoSuchClassError; StoreError; then the old one still holds
    """
    secret = new_secret()
    with db.writing() as session:
        own(session, teacher, lock=True).secret_hash = hashed(secret)
    return replace(teacher, secret_hash=hashed(secret)), secret


def lock_class(db: Database, teacher: Teacher, locked: bool) -> None:
    """Let nobody else in, or again everybody who has the code.

    Raises: NoSuchClassError; StoreError
    """
    with db.writing() as session:
        own(session, teacher, lock=True).locked = locked


def delete_class(db: Database, teacher: Teacher) -> None:
    """Delete a class with everything in it. Once more does nothing.

    Raises: ReplacedError; StoreError; then all of it is still there
    """

    def erase(session: Session) -> None:
        ours = (Class.id == teacher.class_id) & (Class.secret_hash == teacher.secret_hash)
        session.execute(delete(Class).where(ours))
        if session.get(Class, teacher.class_id):
            raise ReplacedError(REPLACED)

    delete_rows(db, erase, NOT_DELETED)


def delete_rows(db: Database, erase: Callable[[Session], object], full: str) -> None:
    """Delete rows. A full disk may have room again once the journal is cleared. Args: full: what to say if not"""
    for again in (True, False):
        try:
            with db.writing() as session:
                erase(session)
            break
        except FullError as error:
            if not again:
                raise FullError(full) from error
            with suppress(StoreError):
                db.tidy()
    with suppress(StoreError):  # it is deleted; what is left in the journal goes with the next one
        db.tidy()


def people(db: Database, teacher: Teacher, now: int | None = None) -> list[Somebody]:
    """The learners of a class, in the order in which they joined.

    Raises: NoSuchClassError; StoreError
    """
    now = seconds() if now is None else now
    with db.reading() as session:
        own(session, teacher)
        rows = session.scalars(select(Learner).where(Learner.class_id == teacher.class_id).order_by(Learner.id))
        return [_somebody(one, now) for one in rows]


def _somebody(one: Learner, now: int) -> Somebody:
    progress = {lesson: (right, of) for lesson, (right, of) in one.progress.items()}
    here = abs(now - one.seen) <= HERE_SECONDS
    return Somebody(one.id, one.number, one.nickname, one.page, here, one.sentence, progress)


def send(db: Database, teacher: Teacher, page: str, state: Mapping[str, str], pages: frozenset[str]) -> None:
    """Send everyone to a page and its state.

    Args:   pages: the addresses that there are
    Raises: NotPossibleError if there is no such page or the state is none; NoSuchClassError; StoreError
    """
    if page not in pages:
        raise NotPossibleError("There is no such page in this app.")
    most, signs = MAX_STATE
    named = all(re.fullmatch(r"[a-z][a-z0-9_-]{0,39}", name, re.ASCII) for name in state)
    if not (named and len(state) <= most and sum(map(len, state.values())) <= signs):
        raise NotPossibleError("The class cannot be sent there: the address of that page is too long or damaged.")
    with db.writing() as session:
        found = own(session, teacher, lock=True)
        found.place, found.moves = (
            {"page": page, "state": {name: clean(value, signs) for name, value in state.items()}},
            found.moves + 1,
        )


# --- a learner -------------------------------------------------------------------------------------------------------


def place_of(found: Class) -> Place | None:
    """Where a class was last sent to, if it was."""
    return Place(found.place["page"], found.place["state"], found.moves) if found.moves else None


# --- age -------------------------------------------------------------------------------------------------------------


def sweep(db: Database, now: int | None = None) -> int:
    """Delete the classes that were opened 30 days ago; how many there were.

    A class goes only if its last day was seen to have begun a day ago. So a clock that jumps forward, or back, and is
    set right within a day deletes nothing.

    Raises: StoreError
    """
    now = seconds() if now is None else now
    last_day = Class.opened <= now - (KEPT_DAYS - 1) * DAY
    with db.writing() as session:
        rate_limits.forget(session, now)
        over = (Class.opened <= now - KEPT_DAYS * DAY) & (Class.due_since <= now - DAY)
        gone = list(session.scalars(delete(Class).where(over).returning(Class.id)))
        session.execute(update(Class).where(~last_day).values(due_since=None))
        unseen = or_(Class.due_since.is_(None), Class.due_since > now)
        session.execute(update(Class).where(last_day, unseen).values(due_since=now))
    if gone:
        db.tidy()
    return len(gone)
