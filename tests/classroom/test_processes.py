"""Several processes on one store, and processes that are killed: what was confirmed is counted, once."""

import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select

from classroom.classes import open_class
from classroom.database import Database
from classroom.polls import ask, overview
from classroom.tables import Answer, Learner
from tests.classroom.kit import QUESTION
from tests.postgresql import Server

ROOT = Path(__file__).parents[2]


def worker(url: str, code: str, poll: int, first: int, last: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.classroom.worker", url, code, str(poll), str(first), str(last)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def confirmed(lines: str) -> set[int]:
    """The learners whose answers were confirmed. A line that a kill cut short confirms nothing."""
    whole = lines[: lines.rfind("\n") + 1].split()
    assert whole[:1] in ([], ["ready"]), lines
    return {int(line) for line in whole[1:]}


def counted(db: Database) -> dict[int, str]:
    with db.reading() as session:
        of_each = select(Learner.nickname, Answer.chosen).join(Answer, Answer.learner_id == Learner.id)
        rows = session.execute(of_each).all()
    assert len({name for name, _ in rows}) == len(rows)
    return {int(name): chosen for name, chosen in rows}


@pytest.mark.slow
def test_two_processes_write_at_once_and_every_answer_counts_once(
    url: str, open_store: Callable[[str], Database]
) -> None:
    db = open_store(url)
    teacher, _ = open_class(db, "", "here")
    poll = ask(db, teacher, QUESTION)
    both = [worker(url, teacher.code, poll, first, first + 60) for first in (0, 30)]  # 30 learners in both
    said = [confirmed(one.communicate(timeout=300)[0]) for one in both]
    assert said[0] | said[1] == set(range(90))
    assert counted(db) == {n: str(n % 3) for n in range(90)}
    (seen,) = overview(db, teacher).polls
    assert (seen.answered, seen.counts) == (90, (30, 30, 30))


@pytest.mark.slow
def test_processes_that_are_killed_lose_nothing_confirmed(url: str, open_store: Callable[[str], Database]) -> None:
    """Three on one store, each killed at another time; then one that answers for those who had, and for others."""
    db = open_store(url)
    teacher, _ = open_class(db, "", "here")
    poll, told, untold = ask(db, teacher, QUESTION), set[int](), 0
    for seed in (1, 2, 3):
        one = worker(url, teacher.code, poll, 150 * seed, 150 * seed + 150)  # a class takes 500
        assert one.stdout
        assert one.stdout.readline() == "ready\n"
        time.sleep(random.Random(seed).uniform(0.05, 0.4))
        one.kill()
        told |= confirmed("ready\n" + one.stdout.read())
        one.wait()
        one.stdout.close()
        kept = counted(open_store(url))
        assert told <= kept.keys()
        assert len(kept) - len(told) <= untold + 1  # one at most of each was kept and not yet told
        untold = len(kept) - len(told)
    following = worker(url, teacher.code, poll, 140, 160)
    assert confirmed(following.communicate(timeout=300)[0]) == set(range(140, 160))
    assert {n: str(n % 3) for n in counted(db)} == counted(db)


@pytest.mark.slow
def test_a_database_server_killed_in_the_middle_loses_nothing_confirmed(
    server: Server, open_store: Callable[[str], Database]
) -> None:
    url = server.new_url()
    db = open_store(url)
    teacher, _ = open_class(db, "", "here")
    poll = ask(db, teacher, QUESTION)
    one = worker(url, teacher.code, poll, 0, 400)
    lines: list[str] = []
    assert one.stdout
    reader = threading.Thread(target=lambda: lines.extend(one.stdout or ()))
    reader.start()
    while len(lines) < 30 and one.poll() is None:
        time.sleep(0.01)
    server.kill()
    (server.folder / "data" / "postmaster.pid").unlink(missing_ok=True)
    time.sleep(0.2)
    server.start()
    one.wait(timeout=300)
    reader.join()
    one.stdout.close()
    told = confirmed("".join(lines))
    assert len(told) >= 29
    assert told <= counted(db).keys()  # the same store as before: it connects anew by itself
