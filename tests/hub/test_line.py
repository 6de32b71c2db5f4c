"""Whoever has waited longest is next."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from hub.fair_lock import Line


def wait_for(n: int, line: Line) -> None:
    while len(line._waiting) < n:
        time.sleep(0.001)


def test_it_goes_to_whoever_has_waited_longest() -> None:
    line, order = Line(), []
    assert line.enter(0)

    def visit(n: int) -> None:
        assert line.enter(20)
        order.append(n)
        line.leave()

    visitors = [threading.Thread(target=visit, args=(n,)) for n in range(12)]
    for n, one in enumerate(visitors):
        one.start()
        wait_for(n + 1, line)
    line.leave()
    for one in visitors:
        one.join()
    assert order == list(range(12))
    assert not line.taken


def test_nobody_jumps_the_queue() -> None:
    line = Line()
    assert line.enter(0)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(line.enter, 20)
        wait_for(1, line)
        line.leave()
        assert not line.enter(0)  # it is the other's already, though nobody has woken up yet
        assert waiting.result()
    line.leave()
    assert line.enter(0)


def test_who_gives_up_does_not_get_it_later() -> None:
    line = Line()
    assert line.enter(0)
    assert not line.enter(0.01)
    assert line.taken
    line.leave()
    assert not line.taken
    assert line.enter(0)
