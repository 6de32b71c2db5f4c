"""The tables of the store. Times are whole seconds since 1970 (UTC)."""

from typing import Any, ClassVar

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, MetaData, String, Text, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from classroom.codes import CODE_LENGTH

HASH_LENGTH = 64

# Names that do not depend on the database, so that a migration can find what it changes.
_NAMES = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
}


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=_NAMES)
    type_annotation_map: ClassVar = {dict[str, Any]: JSON, list[str]: JSON, list[int]: JSON}


# SQLite would give the number of a class that was deleted to the next one, and whoever still holds it would read that.
_NEVER_AGAIN = {"sqlite_autoincrement": True}


class Class(Base):
    """A class. Everything else belongs to one, and goes with it.

    code:        by which learners join; secret_hash: of the teacher's secret, which itself is kept nowhere
    locked:      nobody else may join
    place:       the page and its state that the teacher last sent the class to; moves: how often there was one
    seats:       how many have ever joined
    due_since:   when its last day was first seen to have begun, see `classes.sweep`
    """

    __tablename__ = "classes"
    __table_args__ = _NEVER_AGAIN

    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(String(CODE_LENGTH), unique=True)
    secret_hash: Mapped[str] = mapped_column(String(HASH_LENGTH))
    title: Mapped[str] = mapped_column(String(80))
    opened: Mapped[int] = mapped_column(BigInteger, index=True)
    locked: Mapped[bool] = mapped_column(default=False)
    place: Mapped[dict[str, Any]] = mapped_column(default=dict)
    moves: Mapped[int] = mapped_column(default=0)
    seats: Mapped[int] = mapped_column(default=0)
    due_since: Mapped[int | None] = mapped_column(BigInteger)


class Learner(Base):
    """Somebody who joined a class with one browser.

    token_hash: of the random token that the browser keeps
    number:     counts those who joined the class from 1; who left keeps theirs, so that the others keep theirs
    page:       the address of the page that they are on; seen: when they were last heard of
    sentence:   their own, if they agreed that the teacher may show it, else ''
    progress:   by the address of a lesson: how many questions they answered right, and how many it asks
    """

    __tablename__ = "learners"
    __table_args__ = (UniqueConstraint("class_id", "token_hash"), _NEVER_AGAIN)

    id: Mapped[int] = mapped_column(primary_key=True)
    class_id: Mapped[int] = mapped_column(ForeignKey(Class.id, ondelete="CASCADE"))
    token_hash: Mapped[str] = mapped_column(String(HASH_LENGTH))
    number: Mapped[int]
    nickname: Mapped[str] = mapped_column(String(40))
    joined: Mapped[int] = mapped_column(BigInteger)
    seen: Mapped[int] = mapped_column(BigInteger)
    page: Mapped[str] = mapped_column(String(60), default="")
    sentence: Mapped[str] = mapped_column(Text, default="")
    progress: Mapped[dict[str, Any]] = mapped_column(default=dict)


class Poll(Base):
    """A question put to a class.

    number:   counts the questions of the class from 1
    lesson:   the address of the lesson that it comes from; '' for one of the teacher's own, whose texts are plain
    text:     Markdown, as are the options, if it comes from a lesson
    right:    indices of the right options, none if nobody said which; why: said when it is revealed
    several:  whether one may choose several options
    closed:   no answer is taken any more; revealed: everybody sees how many chose what
    """

    __tablename__ = "polls"
    __table_args__ = (UniqueConstraint("class_id", "number"), _NEVER_AGAIN)

    id: Mapped[int] = mapped_column(primary_key=True)
    class_id: Mapped[int] = mapped_column(ForeignKey(Class.id, ondelete="CASCADE"))
    number: Mapped[int]
    lesson: Mapped[str] = mapped_column(String(60), default="")
    text: Mapped[str] = mapped_column(Text)
    options: Mapped[list[str]]
    right: Mapped[list[int]]
    why: Mapped[str] = mapped_column(Text, default="")
    several: Mapped[bool] = mapped_column(default=False)
    closed: Mapped[bool] = mapped_column(default=False)
    revealed: Mapped[bool] = mapped_column(default=False)
    asked: Mapped[int] = mapped_column(BigInteger)


class Answer(Base):
    """What a learner answered to a question: one row, whatever is sent again.

    chosen: indices of options, in order, with spaces between them; as text, so that equal ones can be counted
    """

    __tablename__ = "answers"
    __table_args__ = (Index(None, "learner_id"),)

    poll_id: Mapped[int] = mapped_column(ForeignKey(Poll.id, ondelete="CASCADE"), primary_key=True)
    learner_id: Mapped[int] = mapped_column(ForeignKey(Learner.id, ondelete="CASCADE"), primary_key=True)
    chosen: Mapped[str] = mapped_column(String(40))
    given: Mapped[int] = mapped_column(BigInteger)


class Tries(Base):
    """How often somebody tried a thing since a moment, for `rate_limits`, and its marks. who: hash of what it is"""

    __tablename__ = "tries"

    who: Mapped[str] = mapped_column(String(HASH_LENGTH), primary_key=True)
    since: Mapped[int] = mapped_column(BigInteger)
    count: Mapped[int]
