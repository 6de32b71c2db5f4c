"""What learners do in a class: join it, come back, say where they are and how far they have come, leave.

Whoever does something holds a `Member`, which only the right token gives.
"""

from collections.abc import Mapping

from sqlalchemy import delete, exists, func, select
from sqlalchemy.orm import Session

from classroom import rate_limits
from classroom.classes import ENDED, HERE_SECONDS, Member, by_code, delete_rows, seconds
from classroom.codes import clean, hashed, read_code
from classroom.database import Database
from classroom.errors import LeftError, NoSuchClassError, NotPossibleError, TooManyTriesError
from classroom.rate_limits import Origin
from classroom.tables import Answer, Class, Learner

MAX_NICKNAME, MAX_SENTENCE = 24, 300
MAX_LEARNERS = 500

LOCKED = "This class lets nobody else in: ask your teacher."
CROWDED = f"This class is full: {MAX_LEARNERS} learners are in it."
MANY_SEATS = "Many have joined classes from this browser: wait an hour, then try again."
MANY_SEATS_ALL = "Many have joined classes from your network: wait an hour, then try again."
LEFT = (
    "You are in this class no more: you left it in another tab, or it was full while you were away. To come back, open "
    "“Join a class” and type the code."
)
NOT_LEFT = (
    "The server's disk is full, so your answers could not be deleted, and you are still in the class: tell your "
    "teacher."
)


def join(
    db: Database, code: str, token: str, nickname: str, address: str, now: int | None = None, visitor: str = ""
) -> Member:
    """Join a class, or come back to it under the name that one gave first.

    Args:   token: the browser's own, from `codes.new_secret`; address, visitor: see `rate_limits.Origin`
    Raises: NoSuchClassError, TooManyTriesError, NotPossibleError; StoreError
    """
    now, origin = seconds() if now is None else now, Origin(address, visitor)
    found = by_code(db, code, origin, now)
    with db.writing() as session:
        room = session.get(Class, found.id, with_for_update=True)
        if room is None:
            raise NoSuchClassError(ENDED)
        known = session.scalar(select(Learner).where(Learner.class_id == room.id, Learner.token_hash == hashed(token)))
        if known is None:
            if room.locked:
                raise NotPossibleError(LOCKED)
            within = rate_limits.count(session, rate_limits.SEATS, origin, now)
            if not all(within):
                raise TooManyTriesError(MANY_SEATS_ALL if within.visitor else MANY_SEATS)
            make_room(session, room, now)
            room.seats += 1
            known = Learner(
                class_id=room.id, token_hash=hashed(token), number=room.seats, nickname=clean(nickname, MAX_NICKNAME),
                joined=now, seen=now,
            )  # fmt: skip
            session.add(known)
    return Member(room.id, known.id, known.nickname, room.title)


def make_room(session: Session, room: Class, now: int) -> None:
    """If a class is full, whoever has been away longest of those who never answered makes room.

    Without that, one person could take all seats under ever new names.

    Raises: NotPossibleError
    """
    count = session.scalar(select(func.count()).where(Learner.class_id == room.id)) or 0
    if count < MAX_LEARNERS:
        return
    away = (Learner.class_id == room.id) & ~Learner.seen.between(now - HERE_SECONDS, now + HERE_SECONDS)
    silent = ~exists().where(Answer.learner_id == Learner.id)
    idle = session.scalar(select(Learner).where(away, silent).order_by(Learner.seen, Learner.id).limit(1))
    if idle is None:
        raise NotPossibleError(CROWDED)
    session.delete(idle)


def offered(db: Database, member: Member) -> str:
    """The sentence that the teacher may show, or ''.

    Raises: NoSuchClassError; StoreError
    """
    with db.reading() as session:
        return present(session, member).sentence


def come_back(db: Database, code: str, token: str) -> Member | None:
    """The learner with this token in the class with this code; None if there is none (any more).

    Raises: StoreError
    """
    with db.reading() as session:
        row = session.execute(
            select(Learner, Class).join(Class).where(Class.code == read_code(code), Learner.token_hash == hashed(token))
        ).first()
        return Member(row.Class.id, row.Learner.id, row.Learner.nickname, row.Class.title) if row else None


def present(session: Session, member: Member, lock: bool = False) -> Learner:
    """The row of a learner; with a lock until the session ends, so that two changes come one after the other.

    Raises: LeftError if they have left; NoSuchClassError if the class was deleted
    """
    found = session.get(Learner, member.learner_id, with_for_update={"key_share": True} if lock else None)
    if found is None:
        raise NoSuchClassError(ENDED) if session.get(Class, member.class_id) is None else LeftError(LEFT)
    return found


def stand(db: Database, member: Member, page: str, now: int | None = None) -> None:
    """Note where a learner is, and that they are here.

    Raises: NoSuchClassError; StoreError
    """
    now = seconds() if now is None else now
    with db.writing() as session:
        found = present(session, member)
        found.page, found.seen = clean(page, 60), now


def report(db: Database, member: Member, progress: Mapping[str, tuple[int, int]]) -> None:
    """Note what a learner has answered right in some lessons; of the others, what was noted before stays.

    Args:   progress: see `Somebody`
    Raises: NoSuchClassError; StoreError
    """
    with db.writing() as session:
        found = present(session, member, lock=True)
        found.progress = {**found.progress, **{lesson: list(counts) for lesson, counts in progress.items()}}


def offer(db: Database, member: Member, sentence: str) -> None:
    """Let the teacher show a learner's sentence; '' takes it back, and nothing of it is kept.

    Raises: NoSuchClassError; StoreError
    """
    with db.writing() as session:
        present(session, member).sentence = clean(sentence, MAX_SENTENCE)


def leave(db: Database, member: Member) -> None:
    """Delete a learner with their answers. Once more does nothing.

    Raises: StoreError
    """
    delete_rows(db, delete(Learner).where(Learner.id == member.learner_id), NOT_LEFT)
