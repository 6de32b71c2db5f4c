"""How often somebody may try a thing: counted in the store, so that all processes keep one limit.

A try counts for the visitor first and, generously, for the address: a whole school may share one. A secret has no
limit: its 128 random bits cannot be guessed, and a limit would only shut out its teacher.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import case, delete, or_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from classroom.codes import hashed
from classroom.tables import Tries


class Origin(NamedTuple):
    """Where a try comes from. address: of the network; visitor: a sign of one browser, '' if there is none"""

    address: str
    visitor: str = ""


class Within(NamedTuple):
    """Whether a try is within the limit of its visitor, and within that of its address."""

    visitor: bool
    address: bool


@dataclass(frozen=True)
class Limit:
    """At most so many tries of a thing in so many seconds: of one visitor, and of all at one address."""

    thing: str
    of_visitor: int
    of_address: int
    seconds: int

    def keys(self, origin: Origin) -> tuple[str, str]:
        """What is kept of a visitor, '' if there is none, and of an address. Neither can be read at a glance."""
        visitor = hashed(f"{self.thing} by {origin.visitor}") if origin.visitor else ""
        return visitor, hashed(f"{self.thing} at {origin.address}")


# A school of 300 behind one address may mistype three times each. Who guesses there under ever new names needs two days
# for one of a hundred classes.
CODES = Limit("code", 20, 1000, 600)
CLASSES = Limit("class", 10, 1000, 3600)
SEATS = Limit("seat", 10, 1000, 3600)  # taken in any class: who comes back to theirs takes none
IN_USE_SECONDS = 24 * 3600


def left(session: Session, limit: Limit, origin: Origin, now: int) -> Within:
    """Whether there is a try left; costs no writing, however often it is asked."""

    def one(key: str, most: int) -> bool:
        known = session.get(Tries, key) if key else None
        return not (known and known.since <= now < known.since + limit.seconds and known.count >= most)

    visitor, address = limit.keys(origin)
    return Within(one(visitor, limit.of_visitor), one(address, limit.of_address))


def count(session: Session, limit: Limit, origin: Origin, now: int) -> Within:
    """Count a try, in a session that writes. Two at once are counted as two.

    A clock that jumped, either way, begins to count anew.
    """
    fresh = Tries.since.between(now - limit.seconds + 1, now)
    more = {"count": case((fresh, Tries.count + 1), else_=1), "since": case((fresh, Tries.since), else_=now)}
    visitor, address = limit.keys(origin)
    return Within(
        not visitor or _note(session, visitor, now, more) <= limit.of_visitor,
        _note(session, address, now, more) <= limit.of_address,
    )


def take_back(session: Session, limit: Limit, origin: Origin) -> None:
    """The last try was none: the code was right."""
    for key in filter(None, limit.keys(origin)):
        session.execute(select(Tries).where(Tries.who == key).with_for_update()).scalar_one().count -= 1


def use(session: Session, code: str, address: str, now: int) -> None:
    """Note that the class with this code is taught or visited from an address."""
    mark(session, f"{code} in use at {address}", now)


def in_use(session: Session, code: str, address: str, now: int) -> bool:
    """Whether it was within a day. Nobody there learns anything from such a code that others there do not know."""
    known = session.get(Tries, hashed(f"{code} in use at {address}"))
    return known is not None and abs(now - known.since) < IN_USE_SECONDS


def mark(session: Session, what: str, now: int) -> None:
    """Note something for a day, as a hash in which nobody can read it."""
    _note(session, hashed(what), now, {"since": now})


def marked(session: Session, what: str) -> bool:
    return session.get(Tries, hashed(what)) is not None


def unmark(session: Session, what: str) -> None:
    session.execute(delete(Tries).where(Tries.who == hashed(what)))


def _note(session: Session, key: str, now: int, again: dict[str, Any]) -> int:
    """Begin a row with one try, or change the one that there is; its tries."""
    make = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    row = make(Tries).values(who=key, since=now, count=1)
    row = row.on_conflict_do_update(index_elements=[Tries.who], set_=again)
    return int(session.execute(row.returning(Tries.count)).scalar_one())


def forget(session: Session, now: int) -> None:
    """Remove what no limit needs any more."""
    session.execute(delete(Tries).where(or_(Tries.since < now - IN_USE_SECONDS, Tries.since > now)))
