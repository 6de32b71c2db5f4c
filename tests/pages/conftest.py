"""For tests of pages without a browser."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pytest

from model.trace import Trace
from tests.pages.kit import forget, stages
from ui.components import stage
from ui.components.stage.data import stage_data


@pytest.fixture(autouse=True, scope="session")
def each_stage_once() -> Iterator[None]:
    """What a stage sends follows from what it is given. Pages are run many times with the same sentence."""

    def once(
        trace: Trace, links: Mapping[str, str] | None = None, shows: Collection[str] = (), view: Any = None
    ) -> dict[str, Any]:
        given = id(trace), tuple((links or {}).items()), tuple(shows), view
        if given not in stages:
            stages[given] = (
                trace,
                stage_data(trace, links, shows, view),
            )  # it is kept, so that no other gets its id
        made: dict[str, Any] = stages[given][1]
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "stage_data", once)
        yield


@pytest.fixture(autouse=True, scope="module")
def forgotten() -> Iterator[None]:
    """No file of tests leaves its results in memory for the next one."""
    yield
    forget()
