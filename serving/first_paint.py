"""The project's styles come with the page itself, so that its first paint has them and nothing jumps when they arrive.

Streamlit sends what a script shows, styles too, over a socket that opens after the first paint.
"""

import gzip
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

STYLES = Path(__file__).parents[1] / "assets" / "styles.css"
# Behind all that Streamlit puts into the head later: of two rules that weigh the same, ours holds.
PLACE = b"</body>"
NOT_SENT_ON = {b"accept-encoding", b"if-none-match", b"if-modified-since", b"range"}
# Of the page without the styles: a browser that kept it must not believe that it has the new one.
NOT_OURS = ("etag", "last-modified", "content-encoding", "accept-ranges")


class FirstPaint:
    """ASGI middleware: puts assets/styles.css into every page of HTML."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._styles = b"<style>" + STYLES.read_bytes() + b"</style>"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else None
        if headers is None or scope["method"] != "GET" or "text/html" not in headers.get("accept", ""):
            await self._app(scope, receive, send)
            return
        zipped = "gzip" in headers.get("accept-encoding", "")
        plain = [(name, value) for name, value in scope["headers"] if name not in NOT_SENT_ON]
        start: Message = {}
        body = b""

        async def dressed(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                start = message
                return
            if "text/html" not in Headers(raw=start["headers"]).get("content-type", ""):
                if not start.get("sent"):
                    start["sent"] = True
                    await send({name: value for name, value in start.items() if name != "sent"})
                await send(message)
                return
            body += message.get("body", b"")
            if message.get("more_body"):
                return
            page = body.replace(PLACE, self._styles + PLACE, 1)
            answer = gzip.compress(page, 6, mtime=0) if zipped else page
            mine = MutableHeaders(raw=list(start["headers"]))
            for name in NOT_OURS:
                del mine[name]
            mine["content-length"] = str(len(answer))
            mine.add_vary_header("Accept-Encoding")
            if zipped:
                mine["content-encoding"] = "gzip"
            await send({**start, "headers": mine.raw})
            await send({"type": "http.response.body", "body": answer})

        await self._app({**scope, "headers": plain}, receive, dressed)
