"""A WebSocket like a browser's, read with little work: a hundred of them must leave the processors to the server.

It speaks as much of RFC 6455 as a Streamlit server does to a browser: whole binary messages, pings, the end.
"""

import asyncio
import os
from base64 import b64encode
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha1
from urllib.parse import urlsplit

_ACCEPTED = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # see the RFC, 1.3
_BINARY, _CLOSE, _PING, _PONG = 2, 8, 9, 10  # kinds of frames
_WHOLE = 0x80  # with the kind: a message that does not come in parts
_MASKED = 0x80  # with the length
PATIENCE_SECONDS = 60.0


class Wire(asyncio.Protocol):
    """One connection. It is made once `opened` is done."""

    def __init__(self, request: bytes, accepts: bytes) -> None:
        self.opened = asyncio.get_running_loop().create_future()
        self._request, self._accepts = request, accepts
        self._bytes = bytearray()
        self._messages: deque[bytes] = deque()
        self._waiting: asyncio.Future[None] | None = None
        self._lost = ""

    async def send(self, message: bytes) -> None:
        """Raises: ConnectionError if the server has ended the connection"""
        if self._lost:
            raise ConnectionError(self._lost)
        self._write(_BINARY, message)

    async def recv(self) -> bytes:
        """The next message, when it has come whole.

        Raises: ConnectionError if the server has ended the connection
        """
        while not self._messages:
            if self._lost:
                raise ConnectionError(self._lost)
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting
        return self._messages.popleft()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = self._lost or f"The connection ended: {exc}"
        if not self.opened.done():
            self.opened.set_exception(ConnectionError(self._lost))
        self._wake()

    def data_received(self, data: bytes) -> None:
        self._bytes += data
        if not self.opened.done() and not self._open():
            return
        at = 0
        while (end := self._take(at)) > at:
            at = end
        del self._bytes[:at]
        if self._messages:
            self._wake()

    def _open(self) -> bool:
        """Read the server's consent. Returns: whether it has come"""
        head, found, rest = self._bytes.partition(b"\r\n\r\n")
        if not found:
            return False
        if not head.startswith(b"HTTP/1.1 101 ") or self._accepts not in head:
            self.opened.set_exception(ConnectionError(head.decode(errors="replace")))
            self._transport.close()
            return False
        self._bytes = rest
        self.opened.set_result(None)
        return True

    def _take(self, at: int) -> int:
        """Take the frame that begins here, if it has come whole. Returns: where it ends, or where it begins"""
        known = self._bytes
        if len(known) < at + 2:
            return at
        kind, length, start = known[at], known[at + 1], at + 2
        if length > 125:
            start += 2 if length == 126 else 8
            length = int.from_bytes(known[at + 2 : start], "big")
        if len(known) < start + length:
            return at
        content = bytes(memoryview(known)[start : start + length])
        if kind == _WHOLE | _BINARY:
            self._messages.append(content)
        elif kind == _WHOLE | _PING:
            self._write(_PONG, content)
        else:
            self._end(f"The server ended the connection: {content!r}")
        return start + length

    def _write(self, kind: int, content: bytes) -> None:
        size = len(content)
        length = bytes([_MASKED | size]) if size < 126 else bytes([_MASKED | 126]) + size.to_bytes(2, "big")
        # What a browser sends is masked; with zeros it stays as it is, and the server takes it apart all the same.
        self._transport.write(bytes([_WHOLE | kind]) + length + bytes(4) + content)

    def _end(self, why: str) -> None:
        self._lost = why
        self._transport.close()

    def _wake(self) -> None:
        if self._waiting and not self._waiting.done():
            self._waiting.set_result(None)

    def close(self) -> None:
        if not self._lost:
            self._write(_CLOSE, (1000).to_bytes(2, "big"))
        self._transport.close()


@asynccontextmanager
async def wire(stream: str, cookies: str = "") -> AsyncIterator[Wire]:
    """A connection. Args: stream: a ws:// address; cookies: as in a `Cookie` header

    Raises: ConnectionError, with what the server says instead
    """
    place, key = urlsplit(stream), b64encode(os.urandom(16)).decode()
    lines = [
        f"GET {place.path} HTTP/1.1",
        f"Host: {place.netloc}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        *([f"Cookie: {cookies}"] if cookies else []),
    ]
    request = "\r\n".join([*lines, "", ""]).encode()
    accepts = b64encode(sha1((key + _ACCEPTED).encode()).digest())
    loop = asyncio.get_running_loop()
    _, one = await loop.create_connection(lambda: Wire(request, accepts), place.hostname or "", place.port or 80)
    try:
        await asyncio.wait_for(one.opened, PATIENCE_SECONDS)
        yield one
    finally:
        one.close()
