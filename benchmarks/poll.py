"""A class of 200 answers one question within ten seconds: who is counted, how long each waits, how old the bars are."""

import asyncio
import os
import random
import re
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.kit.report import Figure, percentile, report
from benchmarks.kit.serving import serve
from benchmarks.kit.visitor import Answer, Visitor
from benchmarks.kit.wire import Wire, wire
from classroom.classes import open_class
from classroom.codes import new_secret
from classroom.database import Database
from classroom.members import join
from classroom.polls import Asked, ask, overview
from classroom.setting import SETTING
from serving.streamlit_private import BackMsg, ForwardMsg

LEARNERS, SECONDS = 200, 10.0
WAIT_BAR_SECONDS, BEHIND_BAR_SECONDS = 1.0, 1.0
OPTIONS = ("4", "5", "6")


class Somebody(Visitor):
    """A browser on a page of the class: it draws each part of the page as often as that asks for."""

    page, query = "join", ""

    def __init__(self, connection: Wire) -> None:
        super().__init__(connection)
        self.parts: dict[str, float] = {}  # the parts that ask to be drawn again, and after how many seconds
        self.radio, self.button, self.asked = "", "", ""
        self.counted, self.shown = False, -1

    def _message(self, part: str = "") -> BackMsg:
        message = BackMsg()
        message.rerun_script.page_name, message.rerun_script.query_string = self.page, self.query
        message.rerun_script.fragment_id = part
        return message

    def _read(self, reply: ForwardMsg, answer: Answer) -> None:
        element = reply.delta.new_element
        match element.WhichOneof("type"):
            case "radio":
                self.radio, self.asked = element.radio.id, reply.delta.fragment_id
            case "button" if element.button.label == "Answer":
                self.button = element.button.id
            case "alert" if element.alert.body.startswith("Your answer is counted"):
                self.counted = True
            case "markdown" if found := re.match(r"\*\*(\d+)\*\* of \d+ have answered", element.markdown.body):
                self.shown = int(found[1])
        super()._read(reply, answer)

    def _note(self, reply: ForwardMsg) -> None:
        if reply.WhichOneof("type") == "auto_rerun":
            self.parts[reply.auto_rerun.fragment_id] = reply.auto_rerun.interval

    async def open(self) -> None:
        answer = await self._run(self._message())
        assert not answer.error, answer.error

    async def look(self) -> None:
        """As the page does by itself: each part once."""
        for part in self.parts:
            message = self._message(part)
            message.rerun_script.is_auto_rerun = True
            await self._run(message)

    async def answer(self, option: str) -> float:
        """Choose, then press. Returns: seconds from the press to the confirmation"""
        for pressed in (False, True):
            message = self._message(self.asked)
            state = message.rerun_script.widget_states.widgets.add()
            state.id, state.string_value = self.radio, option
            if pressed:
                state = message.rerun_script.widget_states.widgets.add()
                state.id, state.trigger_value = self.button, True
            answer = await self._run(message)
        assert self.counted, answer
        return answer.seconds


class Projector(Somebody):
    """The teacher's page."""

    page, query = "teach", "desk=Questions"


async def _learner(someone: Somebody, at: float, confirmed: list[float], waits: list[float]) -> None:
    """Look on every two seconds as the page does, and answer when it is time."""
    while not someone.radio or time.perf_counter() < at:
        pause = random.uniform(0.5, 1.5) * min(someone.parts.values())
        await asyncio.sleep(min(pause, max(0.0, at - time.perf_counter())) if someone.radio else pause)
        await someone.look()
    waits.append(await someone.answer(random.choice(OPTIONS)))
    confirmed.append(time.perf_counter())


async def _projector(teacher: Projector, seen: list[tuple[float, int]]) -> None:
    """The counts that the teacher sees, with the moments at which they came."""
    while True:
        began = time.perf_counter()
        await teacher.look()
        seen.append((time.perf_counter(), teacher.shown))
        await asyncio.sleep(max(0.0, 1.0 - (time.perf_counter() - began)))


async def _class(stream: str, db: Database, n: int) -> tuple[list[float], list[float], int]:
    """How long each learner waited; how late each answer was seen; how many were counted."""
    teacher, secret = open_class(db, "", "here")
    tokens = [new_secret() for _ in range(n)]
    for token in tokens:
        join(db, teacher.code, token, "", "school")
    async with AsyncExitStack() as stack:

        async def come(kind: type[Somebody], cookie: str) -> Somebody:
            one = kind(await stack.enter_async_context(wire(stream, cookie)))
            await one.open()
            return one

        projector = await come(Projector, f"walkthrough_teacher={teacher.code}.{secret}")
        people = [await come(Somebody, f"walkthrough_learner={teacher.code}.{token}") for token in tokens]
        ask(db, teacher, Asked("Which is prime?", OPTIONS, frozenset({1})))
        await projector.open()
        confirmed: list[float] = []
        waits: list[float] = []
        seen: list[tuple[float, int]] = []
        watching = asyncio.create_task(_projector(projector, seen))  # type: ignore[arg-type]
        begin = time.perf_counter() + 3
        await asyncio.gather(*(_learner(one, begin + random.uniform(0, SECONDS), confirmed, waits) for one in people))
        await asyncio.sleep(2)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    return waits, behind(confirmed, seen), overview(db, teacher).polls[0].answered


def behind(confirmed: Sequence[float], seen: Sequence[tuple[float, int]]) -> list[float]:
    """How long after each answer the teacher saw a count that holds it.

    Args: confirmed: when answers were; seen: counts in the order of time, each with its moment
    """
    counted = enumerate(sorted(confirmed), 1)
    return [max(0.0, next(when for when, count in seen if count >= n) - moment) for n, moment in counted]


def measure(n: int = LEARNERS) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ[SETTING] = f"sqlite:///{Path(folder)}/classes.db"
        db = Database()
        with serve() as server:
            waits, late, counted = asyncio.run(_class(server.stream, db, n))
        db.close()
        del os.environ[SETTING]
    return figures(n, waits, late, counted)


def figures(n: int, waits: Sequence[float], late: Sequence[float], counted: int) -> list[Figure]:
    name = f"class: {n} learners answer"
    return [
        Figure(f"{name}, not counted or twice", abs(n - counted), "", 0),
        Figure(f"{name}, wait, median", percentile(waits, 50), "s"),
        Figure(f"{name}, wait, p95", percentile(waits, 95), "s", WAIT_BAR_SECONDS),
        Figure(f"{name}, the teacher's count behind, median", percentile(late, 50), "s"),
        Figure(f"{name}, the teacher's count behind, p95", percentile(late, 95), "s", BEHIND_BAR_SECONDS),
    ]


if __name__ == "__main__":
    report(measure())
