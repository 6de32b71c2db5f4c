"""Ten learners who train a model each on one server: what others wait for an answer meanwhile, and what it costs.

Then a class that presses Start at once: how long the last of them waits until their own training begins.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress

import psutil

from benchmarks.kit.report import Figure, percentile, report
from benchmarks.kit.sentences import sentences
from benchmarks.kit.serving import Server, serve
from benchmarks.kit.visitor import Answer, Visitor, visitor
from benchmarks.kit.wire import wire
from serving.streamlit_private import BackMsg, ForwardMsg
from serving.work_queue import WORKERS

PAGE = "train-it-yourself"
LEARNERS, SENTENCES, CLASS = 10, 40, 24
SLOWER_BAR, MEMORY_BAR_MB, CLASS_BAR_SECONDS = 1.5, 300.0, 180.0


class Learner(Visitor):
    """A visitor of the lesson, whose browser draws the moving part of the page as often as the page asks for."""

    start_button = ""
    fragment, interval = "", 1.0

    def _read(self, reply: ForwardMsg, answer: Answer) -> None:
        button = reply.delta.new_element.button
        if button.label == "Start":
            self.start_button = button.id
        super()._read(reply, answer)

    def _note(self, reply: ForwardMsg) -> None:
        if reply.WhichOneof("type") == "auto_rerun":
            self.fragment, self.interval = reply.auto_rerun.fragment_id, reply.auto_rerun.interval

    async def open_lesson(self) -> None:
        await self._run(self._message())

    def _message(self) -> BackMsg:
        message = BackMsg()
        message.rerun_script.page_name = PAGE
        return message

    async def train(self) -> None:
        """Press the button, then look on."""
        message = self._message()
        state = message.rerun_script.widget_states.widgets.add()
        state.id, state.trigger_value = self.start_button, True
        await self._run(message)
        while True:
            await asyncio.sleep(self.interval)
            message = self._message()
            message.rerun_script.fragment_id, message.rerun_script.is_auto_rerun = self.fragment, True
            await self._run(message)


async def _waits(someone: Visitor, n: int, seed: int) -> list[float]:
    """How long each of n new sentences takes."""
    new, seconds = sentences(seed), []
    for _ in range(n):
        answer = await someone.type(next(new))
        assert not answer.error, answer.error
        seconds.append(answer.seconds)
        await asyncio.sleep(0.1)
    return seconds


def trainings(server: Server) -> list[psutil.Process]:
    """The processes that train: grandchildren of the server's."""
    return [child for fork_server in psutil.Process(server.process.pid).children() for child in fork_server.children()]


async def _start(server: Server, learners: int, stack: AsyncExitStack) -> None:
    """So many learners, each with the lesson open, press Start at once, and look on until the stack is closed."""
    people = []
    for _ in range(learners):
        people.append(Learner(await stack.enter_async_context(wire(server.stream))))
        await people[-1].open_lesson()
    tasks = [asyncio.create_task(one.train()) for one in people]

    async def leave() -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    stack.push_async_callback(leave)


async def _last_begins(server: Server, learners: int) -> float:
    """Seconds until the training of each of so many has begun; each has a process of its own."""
    async with AsyncExitStack() as stack:
        await _start(server, learners, stack)
        started, begun = time.monotonic(), set[int]()
        while len(begun) < learners:
            begun |= {process.pid for process in trainings(server)}
            assert time.monotonic() < started + 3 * CLASS_BAR_SECONDS, f"{len(begun)} of {learners} have begun"
            await asyncio.sleep(0.2)
        return time.monotonic() - started


async def _crowd(server: Server, learners: int, n: int) -> tuple[list[float], list[float], list[int], list[float]]:
    """Waits before and during the trainings; how many ran at a time; the private memory of each, in 10⁶ bytes."""
    async with AsyncExitStack() as stack:
        someone = await stack.enter_async_context(visitor(server.stream))
        await _waits(someone, n // 2, seed=1)  # to warm up
        before = await _waits(someone, n, seed=2)
        await _start(server, learners, stack)
        end = time.monotonic() + 60
        while len(trainings(server)) < min(WORKERS, learners) and time.monotonic() < end:
            await asyncio.sleep(0.2)
        await asyncio.sleep(2)
        running, memory = [len(trainings(server))], []
        for process in trainings(server):
            with suppress(psutil.NoSuchProcess):
                memory.append(process.memory_full_info().uss / 1e6)
        during = await _waits(someone, n, seed=3)
        running.append(len(trainings(server)))
    return before, during, running, memory


def measure(learners: int = LEARNERS, n: int = SENTENCES) -> list[Figure]:
    with serve() as server:
        before, during, running, memory = asyncio.run(_crowd(server, learners, n))
    with serve() as server:
        last = asyncio.run(_last_begins(server, CLASS))
    waits = Figure(f"training: the last of {CLASS} waits for their own", last, "s", CLASS_BAR_SECONDS)
    return [*figures(learners, before, during, running, memory), waits]


def figures(
    learners: int, before: Sequence[float], during: Sequence[float], running: Sequence[int], memory: Sequence[float]
) -> list[Figure]:
    """Args: before, during: waits in seconds; running: how many trained at a time; memory: of each training, in MB"""
    name = f"training: {learners} learners"
    slower = percentile(during, 50) / percentile(before, 50)
    return [
        Figure(f"{name}, at a time", max(running), "", WORKERS),
        Figure(f"{name}, others wait, median before", percentile(before, 50), "s"),
        Figure(f"{name}, others wait, median meanwhile", percentile(during, 50), "s"),
        Figure(f"{name}, times as long", slower, "", SLOWER_BAR),
        Figure(f"{name}, others wait, p95 before", percentile(before, 95), "s"),
        Figure(f"{name}, others wait, p95 meanwhile", percentile(during, 95), "s"),
        Figure(f"{name}, memory of one beyond the warm process", max(memory), "MB", MEMORY_BAR_MB),
    ]


if __name__ == "__main__":
    report(measure())
