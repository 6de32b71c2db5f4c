"""For tests of pages without a browser."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import cachetools
import pytest

from model.trace import Trace
from pages import lesson_page
from ui.components import stage
from ui.components.stage.data import stage_data


@pytest.fixture(autouse=True, scope="session")
def no_head_start() -> Iterator[None]:
    """Nobody waits here for a browser to draw."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lesson_page, "HEAD_START", 0)
        yield


@pytest.fixture(autouse=True, scope="session")
def each_stage_once() -> Iterator[None]:
    """What a stage sends follows from what it is given. Pages are run many times with the same sentence."""
    made: cachetools.LRUCache[Any, tuple[Trace, dict[str, Any]]] = cachetools.LRUCache(64)

    def once(
        trace: Trace, links: Mapping[str, str] | None = None, shows: Collection[str] = (), view: Any = None
    ) -> dict[str, Any]:
        given = id(trace), tuple((links or {}).items()), tuple(shows), view
        if given not in made:
            made[given] = (
                trace,
                stage_data(trace, links, shows, view),
            )  # it is kept, so that no other gets its id
        return made[given][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "stage_data", once)
        yield
