"""The app answers under its own names alone, and tells other sites nothing of an address.

A page of another site could give itself this machine's number (DNS rebinding), and then read what the app shows. It
cannot take a name that nobody can register, nor a number; others are named in a setting.
"""

import ipaddress
import os
import re
import socket
from functools import cache
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SETTING = "WALKTHROUGH_HOSTS"
# No name that ends so can be registered (RFC 6761, RFC 6762, RFC 8375, and ICANN's list of collisions).
OF_A_NETWORK = ("localhost", "local", "lan", "home", "home.arpa", "internal", "intranet", "corp", "private", "test")
UNKNOWN = (
    "The app does not know itself as “{}”. Whoever runs it can allow this name: "
    f"set {SETTING} to it, or to several with spaces between them (*.example.org for all names that end so)."
)


@cache
def _of_this_machine() -> frozenset[str]:
    return frozenset({socket.gethostname().lower(), socket.getfqdn().lower()})


def host_of(place: str) -> str:
    """The name in `name:port`, in small letters; '' if it is none."""
    try:
        found = urlsplit(f"//{place}")
        named = found.netloc == place and found.username is None and found.port != 0
        return (found.hostname or "").rstrip(".") if named else ""
    except ValueError:
        return ""


def is_own(host: str) -> bool:
    """Whether the app answers under this name."""
    allowed = os.environ.get(SETTING, "").lower().split()
    if "*" in allowed or host in allowed or any(one[:2] == "*." and host.endswith(one[1:]) for one in allowed):
        return True
    try:
        ipaddress.ip_address(host)
        return True
    except ValueError:
        pass
    in_network = re.fullmatch("[a-z0-9_-]+", host) or any(host.endswith(f".{end}") for end in OF_A_NETWORK)
    return bool(in_network) or host in _of_this_machine()


class OwnNames:
    """ASGI middleware: refuses foreign names and pages of other origins; no page tells the next where one was."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = HTTPConnection(scope).headers
        place, origin = headers.get("host", ""), headers.get("origin")
        foreign = scope["type"] == "websocket" and origin is not None and origin.partition("://")[2] != place
        if not is_own(host_of(place)) or foreign:
            await self._refuse(scope, receive, send, place)
            return

        async def without_referrer(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Referrer-Policy"] = "no-referrer"
            await send(message)

        await self._app(scope, receive, without_referrer)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, place: str) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})  # before it is accepted: 403
        else:
            await PlainTextResponse(UNKNOWN.format(host_of(place)[:100]), 421)(scope, receive, send)
