"""For tests of pages without a browser."""

from collections.abc import Iterator

import pytest

from pages import lesson_page


@pytest.fixture(autouse=True, scope="session")
def no_head_start() -> Iterator[None]:
    """Nobody waits here for a browser to draw."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lesson_page, "HEAD_START", 0)
        yield
