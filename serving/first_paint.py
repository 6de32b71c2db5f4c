"""A page brings along what its first paint needs: the project's styles, and where the code for its first picture lies.

Streamlit sends what a script shows, styles too, over a socket that opens after the first paint, and a browser asks for
code only when it has something to draw with it.
"""

import gzip
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serving.streamlit_private import STATIC

STYLES = Path(__file__).parents[1] / "assets" / "styles.css"
# Behind all that Streamlit puts into the head later: of two rules that weigh the same, ours holds.
PLACE = b"</body>"
# Streamlit's page would first ask under /masking/ whether its server is there, hear no, and ask once more under /; and
# only then open its socket. Told where its server is and who may embed it, it opens the socket at once.
HEAD = b"<head>"
CONNECTION = (
    b"<script>window.__streamlit = { BACKEND_BASE_URL: new URL('.', document.baseURI).href, HOST_CONFIG: "
    b"{ allowedOrigins: [location.origin], useExternalAuthToken: false, metricsUrl: '' } }</script>"
)
NOT_SENT_ON = {b"accept-encoding", b"if-none-match", b"if-modified-since", b"range"}
# Of the page without the styles: a browser that kept it must not believe that it has the new one.
NOT_OURS = ("etag", "last-modified", "content-encoding", "accept-ranges")


COMPONENT = "BidiComponent"  # Streamlit's code that draws any component


@cache
def modules(name: str = COMPONENT) -> list[str]:
    """Files of Streamlit's code for browsers that a page asks for when it has this to draw; none if it has no such."""
    page, folder = (STATIC / "index.html").read_text(encoding="utf-8"), STATIC / "static" / "js"
    found: list[str] = []
    asked = [path.name for path in folder.glob(f"{name}.*.js")]
    while asked:
        file = asked.pop()
        if file not in found and file not in page:
            found.append(file)
            asked += re.findall(r'(?:from|import)"\./([^"]+)"', (folder / file).read_text(encoding="utf-8"))
    return found


class FirstPaint:
    """ASGI middleware: puts assets/styles.css into every page of HTML, and what it needs for its first picture.

    Args: code_of: for the path of a page, without a slash, the addresses of the code that draws its first picture
    """

    def __init__(self, app: ASGIApp, code_of: Callable[[str], list[str]] = lambda path: []) -> None:
        self._app, self._code_of = app, code_of
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
            late = self._styles + self._early_code(scope["path"])
            page = body.replace(HEAD, HEAD + CONNECTION, 1).replace(PLACE, late + PLACE, 1)
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

    def _early_code(self, path: str) -> bytes:
        code = self._code_of(path.rpartition("/")[2])
        links = [f"static/js/{file}" for file in modules()] + code if code else []
        return "".join(f'<link rel="modulepreload" crossorigin href="./{link}">' for link in links).encode()
