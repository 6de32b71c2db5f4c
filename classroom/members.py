"""What learners do in a class: join it, come back, say where they are and how far they have come, leave.

Whoever does something holds a `Member`, which only the right token gives. At the end: what their teacher does to them.
"""

from collections.abc import Mapping

from sqlalchemy import delete, exists, func, select
from sqlalchemy.orm import Session

from classroom import rate_limits
from classroom.classes import ENDED, HERE_SECONDS, Member, Teacher, by_code, delete_rows, own, seconds
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
TAKEN_OUT = (
    "Your teacher took you out of the class, and your answers there are deleted. To come back, open “Join a class” and "
    "type the code."
)
NO_LEARNER = "This learner is in the class no more."
NOT_LEFT = (
    "The server's disk is full, so your answers could not be deleted, and you are still in the class: tell your "
    "teacher."
)
NOT_TAKEN_OUT = (
    "The server's disk is full, so this learner is still in the class, with all answers: have somebody make room on "
    "the disk, then press again."
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
                class_id=room.id, token_hash=hashed(token), number=room.seats, nickname=as_nickname(nickname),
                joined=now, seen=now,
            )  # fmt: skip
            session.add(known)
            rate_limits.unmark(session, _out(room.id, known.token_hash))
    return _member(known, room)


def as_nickname(typed: str) -> str:
    """What is kept of a nickname. Several learners may have the same."""
    return clean(typed, MAX_NICKNAME)


def _member(known: Learner, room: Class) -> Member:
    return Member(room.id, known.id, known.nickname, room.title, known.token_hash)


def _out(class_id: int, token_hash: str) -> str:
    """The mark of a learner whom the teacher took out, so that their browser can say why, also after a reload."""
    return f"{token_hash} taken out of {class_id}"


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

    Raises: LeftError if their teacher took them out; StoreError
    """
    with db.reading() as session:
        room = session.scalar(select(Class).where(Class.code == read_code(code)))
        if room is None:
            return None
        known = session.scalar(select(Learner).where(Learner.class_id == room.id, Learner.token_hash == hashed(token)))
        if known is None and rate_limits.marked(session, _out(room.id, hashed(token))):
            raise LeftError(TAKEN_OUT)
        return _member(known, room) if known else None


def present(session: Session, member: Member, lock: bool = False) -> Learner:
    """The row of a learner; with a lock until the session ends, so that two changes come one after the other.

    Raises: LeftError if they have left or were taken out; NoSuchClassError if the class was deleted
    """
    found = session.get(Learner, member.learner_id, with_for_update={"key_share": True} if lock else None)
    if found is None:
        if session.get(Class, member.class_id) is None:
            raise NoSuchClassError(ENDED)
        raise LeftError(TAKEN_OUT if rate_limits.marked(session, _out(member.class_id, member.token_hash)) else LEFT)
    return found


def stand(db: Database, member: Member, page: str, now: int | None = None) -> None:
    """Note where a learner is, and that they are here.

    Raises: NoSuchClassError; StoreError
    """
    now = seconds() if now is None else now
    with db.writing() as session:
        found = present(session, member, lock=True)
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
        present(session, member, lock=True).sentence = clean(sentence, MAX_SENTENCE)


def leave(db: Database, member: Member) -> None:
    """Delete a learner with their answers. Once more does nothing.

    Raises: StoreError
    """
    gone = delete(Learner).where(Learner.id == member.learner_id)
    delete_rows(db, lambda session: session.execute(gone), NOT_LEFT)


# --- the teacher -----------------------------------------------------------------------------------------------------


def rename(db: Database, teacher: Teacher, learner_id: int, nickname: str) -> None:
    """Give a learner another nickname, by the rules of joining.

    Raises: NotPossibleError if there is no such learner in this class (any more); NoSuchClassError; StoreError
    """
    with db.writing() as session:
        own(session, teacher)
        found = session.get(Learner, learner_id, with_for_update={"key_share": True})
        if found is None or found.class_id != teacher.class_id:
            raise NotPossibleError(NO_LEARNER)
        found.nickname = as_nickname(nickname)


def take_out(db: Database, teacher: Teacher, learner_id: int, now: int | None = None) -> None:
    """Delete a learner with their answers, and have them told. Once more does nothing.

    Raises: NoSuchClassError; StoreError; then all of it is still there
    """
    now = seconds() if now is None else now

    def erase(session: Session) -> None:
        own(session, teacher, lock=True)  # as whoever answers does first
        found = session.get(Learner, learner_id, with_for_update=True)
        if found and found.class_id == teacher.class_id:
            rate_limits.mark(session, _out(found.class_id, found.token_hash), now)
            session.delete(found)

    delete_rows(db, erase, NOT_TAKEN_OUT)
