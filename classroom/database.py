"""The store: SQLite in a file, or PostgreSQL where one setting names it; its migrations, transactions and troubles."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

from classroom.errors import BusyError, FullError, GoneError, NewerError, NotPossibleError, SettingError, StoreError
from classroom.setting import FILE, SETTING

MIGRATIONS = Path(__file__).parent / "migrations"

PATIENCE_SECONDS = 5  # for others who write, for a free connection, for a server that does not answer
CONNECTIONS = 10  # of one process
_LOCK = 7_206_061_997  # of PostgreSQL's advisory locks, the one for migrations
_migrating = threading.Lock()  # alembic knows one migration at a time in a process

NOT_NAMED = f"The setting {SETTING} must name a database as sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME."
ODD = "This cannot be kept: it holds a number or a sign that no database can hold."
BUSY = "Too many are writing at this moment, so this was not kept: send it once more."
FULL = "The server's disk is full, so this was not kept; what was kept before is still there."
GONE = "The database of classes cannot be reached, so this was not kept: try again, or tell whoever runs the server."
NEWER = "The database of classes was made by a newer version of this app: update the app, or name another database."


def url_of(setting: str | None) -> URL:
    """What the setting names; a file beside the app if it is empty.

    Raises: SettingError; it does not repeat the setting, which may hold a password
    """
    if not setting:
        return URL.create("sqlite", database=str(FILE))
    try:
        url = make_url(setting)
        if url.get_backend_name() == "postgresql":
            return url.set(drivername="postgresql+psycopg")
        if url.drivername != "sqlite" or url.database in (None, "", ":memory:"):
            raise SettingError(NOT_NAMED)
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise SettingError(NOT_NAMED) from error
    return url


class Database:
    """The store, for all threads of a process. Any number of processes may share one."""

    def __init__(self, setting: str | None = None) -> None:
        """Open the store, make it where there is none, and bring its tables up to date.

        Args:   setting: what names it; by default the environment does
        Raises: StoreError
        """
        self._url = url_of(os.environ.get(SETTING) if setting is None else setting)
        self._file = Path(self._url.database or "") if self._url.get_backend_name() == "sqlite" else None
        with _told():
            if self._file:
                try:
                    self._file.parent.mkdir(parents=True, exist_ok=True)
                    self._file.touch(mode=0o600)  # nobody else on the machine reads it
                except OSError as error:
                    raise GoneError(GONE) from error
            self.engine = self._connected()
            self._opened = self._inode()
            try:
                self._migrate()
            except BaseException:
                self.engine.dispose()
                raise

    def _connected(self) -> Engine:
        pool: dict[str, Any] = {"pool_size": CONNECTIONS, "max_overflow": 0, "pool_timeout": PATIENCE_SECONDS}
        if not self._file:
            waits = {"connect_timeout": PATIENCE_SECONDS, "options": f"-c lock_timeout={PATIENCE_SECONDS}s"}
            # A machine that is gone answers nothing, and without this a connection waits for it a quarter of an hour.
            waits |= {"tcp_user_timeout": 1000 * PATIENCE_SECONDS, "keepalives_idle": PATIENCE_SECONDS}
            return create_engine(self._url, pool_pre_ping=True, connect_args=waits, **pool)
        engine = create_engine(self._url, creator=partial(_open_file, self._file), **pool)
        # Python's module would begin a transaction only before the first change: too late to keep others out.
        event.listen(engine, "begin", _begin)
        return engine

    def _migrate(self) -> None:
        """Raises: NewerError"""
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        with _migrating, self._transaction(writing=True) as session:
            connection = session.connection()
            if not self._file:  # processes that start together wait for the first; SQLite makes them wait anyway
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, "head")
            except CommandError as error:  # the database's version is none of ours
                raise NewerError(NEWER) from error

    def _inode(self) -> int:
        """Which file it is. A file that was removed is still written to by those who have it open, and then lost."""
        try:
            return self._file.stat().st_ino if self._file else 0
        except OSError:
            return 0

    def _still_there(self) -> None:
        if self._file and (not self._inode() or self._inode() != self._opened):
            self._opened = self._inode()  # another may have taken its place: the next one is opened anew
            self.engine.dispose()
            raise GoneError(GONE)

    @contextmanager
    def _transaction(self, writing: bool) -> Iterator[Session]:
        with _told():
            self._still_there()
            options: dict[str, Any] = {"writing": writing}
            if not self._file and not writing:  # all that is read together is of one moment, as it is with SQLite
                options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
            with Session(self.engine.execution_options(**options), expire_on_commit=False) as session:
                yield session
                if writing:
                    session.flush()
                    self._still_there()
                    session.commit()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that sees the store as it is at one moment.

        Raises: StoreError
        """
        with self._transaction(writing=False) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A session whose changes are on the disk when the block has ended, or none of them if by an exception.

        Raises: StoreError
        """
        with self._transaction(writing=True) as session:
            yield session

    def tidy(self) -> None:
        """What was deleted leaves SQLite's journal, too, as soon as nobody reads an older state.

        Raises: StoreError
        """
        if self._file:
            with _told():
                self._still_there()
                connection = self.engine.raw_connection()
                try:
                    connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
                finally:
                    connection.close()

    def close(self) -> None:
        self.engine.dispose()


def _open_file(file: Path) -> sqlite3.Connection:
    """A connection to a file that is there already.

    Every confirmed change is on the disk (FULL: a power cut loses none), and what is deleted is overwritten.
    """
    connection = sqlite3.connect(
        f"{file.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=PATIENCE_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}").close()
    return connection


def _begin(connection: Connection) -> None:
    """Who is going to write waits for other writers before reading, so that nothing changes in between."""
    writing = connection.get_execution_options().get("writing")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


@contextmanager
def _told() -> Iterator[None]:
    """What a database says, in one sentence of ours."""
    try:
        yield
    except PoolTimeoutError as error:
        raise BusyError(BUSY) from error
    except DBAPIError as error:
        if (getattr(error.orig, "sqlstate", None) or "").startswith("22"):
            raise NotPossibleError(ODD) from error
        raise _sentence(error.orig) from error
    except (sqlite3.Error, OSError) as error:
        raise _sentence(error) from error
    except (OverflowError, UnicodeError) as error:  # a number or a text that no database can hold
        raise NotPossibleError(ODD) from error


def _sentence(error: BaseException | None) -> StoreError:
    """By SQLite's code or PostgreSQL's SQLSTATE."""
    code = getattr(error, "sqlite_errorcode", None)
    state = getattr(error, "sqlstate", None) or ""
    if code is not None:
        code &= 0xFF  # the rest tells more than is needed
    if code == sqlite3.SQLITE_FULL or state == "53100":
        return FullError(FULL)
    # Locked; or two did the same at one moment (a constraint, a deadlock), or too many are connected.
    busy = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CONSTRAINT)
    if code in busy or state[:2] in ("23", "40", "55") or state == "53300":
        return BusyError(BUSY)
    if (code == sqlite3.SQLITE_ERROR and "no such" in str(error)) or state in ("42P01", "42703"):
        return NewerError(NEWER)
    return GoneError(GONE)
