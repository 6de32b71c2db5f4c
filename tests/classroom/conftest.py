"""The store of classes, on SQLite and on a real PostgreSQL server."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from classroom.database import Database
from tests.postgresql import new_url, server

__all__ = ["server"]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The setting that names a new database of each kind."""
    return new_url(request.param, tmp_path, request)


@pytest.fixture
def open_store() -> Iterator[Callable[[str], Database]]:
    """open_store(url) → a store that is closed after the test."""
    opened: list[Database] = []

    def open_one(setting: str) -> Database:
        opened.append(Database(setting))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()


@pytest.fixture
def db(url: str, open_store: Callable[[str], Database]) -> Database:
    return open_store(url)
