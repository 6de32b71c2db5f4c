"""How often somebody may try a thing: counted in the store, so that all processes keep one limit."""

from dataclasses import dataclass

from sqlalchemy import case, delete, or_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from classroom.errors import TooManyTriesError
from classroom.tables import Tries
from classroom.words import hashed


@dataclass(frozen=True)
class Limit:
    """At most so many tries of a thing in so many seconds from one address."""

    thing: str
    most: int
    seconds: int

    def who(self, address: str) -> str:
        """What is kept of an address: it cannot be read from it at a glance."""
        return hashed(f"{self.thing} {address}")


# A class of 100 behind one address mistypes now and then; who guesses, two months for one of a hundred classes.
CODES = Limit("code", 40, 600)
SECRETS = Limit("secret", 20, 600)
CLASSES = Limit("class", 30, 3600)

_WAIT = "There were too many tries from your network: wait ten minutes, then try again."


def refuse(session: Session, limit: Limit, address: str, now: int) -> None:
    """Raises: TooManyTriesError if an address has no try left; costs no writing, however often it is asked"""
    known = session.get(Tries, limit.who(address))
    if known and known.since <= now < known.since + limit.seconds and known.count >= limit.most:
        raise TooManyTriesError(_WAIT)


def count(session: Session, limit: Limit, address: str, now: int) -> bool:
    """Count a try, in a session that writes; whether it is within the limit. Two at once are counted as two.

    A clock that jumped, either way, begins to count anew.
    """
    make = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    fresh = Tries.since.between(now - limit.seconds + 1, now)
    row = make(Tries).values(who=limit.who(address), since=now, count=1)
    row = row.on_conflict_do_update(
        index_elements=[Tries.who],
        set_={
            "count": case((fresh, Tries.count + 1), else_=1),
            "since": case((fresh, Tries.since), else_=now),
        },
    )
    return session.execute(row.returning(Tries.count)).scalar_one() <= limit.most


def take_back(session: Session, limit: Limit, address: str) -> None:
    """The last try was none: the code was right."""
    known = session.execute(select(Tries).where(Tries.who == limit.who(address)).with_for_update()).scalar_one()
    known.count -= 1


def forget(session: Session, now: int) -> None:
    """Remove what no limit needs any more."""
    longest = max(limit.seconds for limit in (CODES, SECRETS, CLASSES))
    session.execute(delete(Tries).where(or_(Tries.since < now - longest, Tries.since > now)))
