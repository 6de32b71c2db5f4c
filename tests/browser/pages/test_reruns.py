"""Only what changed is computed again: what the server sends after a click, read from its messages."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, WebSocket, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.conftest import ROOT
from tests.browser.kit import settled
from tests.course import LESSONS
from ui.course.lesson import Lesson

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def url(serve: Callable[..., str]) -> str:
    return serve(ROOT / "app.py")


@contextmanager
def messages(page: Page, received: list[bytes]) -> Iterator[list[ForwardMsg]]:
    """What the server sends until the block ends and the page has settled."""
    received.clear()
    found: list[ForwardMsg] = []
    yield found
    settled(page)
    for frame in received:
        found.append(ForwardMsg.FromString(frame))


def kinds(sent: list[ForwardMsg]) -> set[str]:
    """Which kinds of element are among them."""
    return {str(m.delta.new_element.WhichOneof("type")) for m in sent if m.delta.HasField("new_element")}


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)
def test_a_click_in_see_leaves_predict_code_and_the_map_alone(lesson: Lesson, page: Page, url: str) -> None:
    received: list[bytes] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: received.append(frame) if isinstance(frame, bytes) else None)

    page.on("websocket", listen)
    page.goto(f"{url}/{lesson.slug}?sentence=A dog sees a cat.")
    expect(page.locator(".st-key-way_on")).to_be_visible()
    settled(page)
    cells = page.locator(".st-key-part_see [role=grid] tbody td")
    if not cells.count():  # its pictures have no cells to choose
        return
    with messages(page, received) as sent:
        cells.nth(3).click()
    finished = [m.script_finished for m in sent if m.WhichOneof("type") == "script_finished"]
    assert set(finished) == {ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY}
    assert "bidi_component" in kinds(sent)
    assert not kinds(sent) & {"radio", "page_link"}
    drawn = [m.delta.new_element.bidi_component.id for m in sent if m.delta.new_element.HasField("bidi_component")]
    assert not [id for id in drawn if "map_here" in id]
    code = [m.delta.new_element.code.code_text for m in sent if m.delta.new_element.HasField("code")]
    assert all("np.load" in text for text in code)  # Check's lines, not those of the part on code
    expect(page.locator("h1")).to_contain_text(lesson.title)
