"""A real PostgreSQL server for tests, and the settings that name a store of each kind."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest


def binary(name: str) -> str | None:
    """A program of PostgreSQL's server. Debian keeps them out of the way."""
    return shutil.which(name) or next(map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)


class Server:
    """A PostgreSQL server of our own, in a folder of its own, reached through a socket in it; never run by root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.who: dict[str, object] = {}
        if os.geteuid() == 0:
            owner = "postgres"
            shutil.chown(folder, owner, owner)
            self.who = {"user": owner, "group": owner, "extra_groups": []}
        setup = [str(binary("initdb")), "-D", f"{folder}/data", "-U", "tester", "-A", "trust", "--no-sync"]
        command = [*setup, "-E", "UTF8", "--locale=C"]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, **self.who)  # type: ignore
        self.start()

    def start(self) -> None:
        command = [str(binary("postgres")), "-D", f"{self.folder}/data", "-k", str(self.folder)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(  # type: ignore[call-overload]
                [*command, "-c", "listen_addresses=", "-c", "max_connections=60"],
                cwd=self.folder, stdout=log, stderr=log, start_new_session=True, **self.who,
            )  # fmt: skip
        deadline = time.monotonic() + 60
        while True:
            with suppress(psycopg.OperationalError):
                return self.execute("SELECT 1")
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.05)

    def execute(self, statement: str) -> None:
        with psycopg.connect(host=str(self.folder), user="tester", dbname="postgres", autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]

    def new_url(self) -> str:
        """The setting that names the database, emptied: much quicker than a new one."""
        self.execute("DROP SCHEMA public CASCADE")
        self.execute("CREATE SCHEMA public")
        return f"postgresql://tester@/postgres?host={self.folder}"

    def kill(self) -> None:
        """As by kill -9 of all its processes at once."""
        children = psutil.Process(self.process.pid).children()
        self.process.kill()  # first: it would start others in their place
        for child in children:
            with suppress(psutil.NoSuchProcess):  # one that noticed
                child.kill()
        self.process.wait()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    if not binary("postgres"):
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        started = Server(Path(folder))
        yield started
        started.kill()


def new_url(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    """The setting that names a new database. kind: sqlite or postgresql"""
    if kind == "sqlite":
        return f"sqlite:///{folder}/classes.db"
    started: Server = request.getfixturevalue("server")
    return started.new_url()
