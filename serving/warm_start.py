"""The first visit to a server is its own: what the pages import is there before anybody comes.

Until it is over, /ready answers 503; then 200. That is where whoever starts processes of the app looks.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from streamlit import App

from serving.streamlit_private import BackMsg, ForwardMsg, SessionClient, get_instance

PATIENCE_SECONDS = 60.0  # a page that takes longer is served all the same

_over = asyncio.Event()


class _Nobody(SessionClient):
    """A visitor without a browser, who waits until the page has been sent."""

    def __init__(self) -> None:
        self.served = asyncio.Event()

    def write_forward_msg(self, msg: ForwardMsg) -> None:
        if msg.WhichOneof("type") == "script_finished":
            self.served.set()


async def _visit() -> None:
    runtime, nobody = get_instance(), _Nobody()
    session = runtime.connect_session(nobody, user_info={})
    try:
        message = BackMsg()
        message.rerun_script.query_string = ""
        runtime.handle_backmsg(session, message)
        with suppress(TimeoutError):
            await asyncio.wait_for(nobody.served.wait(), PATIENCE_SECONDS)
    finally:
        runtime.close_session(session)
        _over.set()


@asynccontextmanager
async def first_visit(_app: App) -> AsyncIterator[None]:
    """Visit the app as soon as it runs. For `st.App(lifespan=…)`."""
    visit = asyncio.create_task(_visit())
    yield
    visit.cancel()


async def ready(_request: Request) -> PlainTextResponse:
    """Whether the first visit is over. For a `Route`."""
    return PlainTextResponse("ready") if _over.is_set() else PlainTextResponse("not yet", 503)
