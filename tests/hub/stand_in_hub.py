"""A small stand-in for the Hugging Face Hub on this machine: what huggingface_hub 2.4 asks for, and faults on demand.

As the Hub does, it lists a repository with the size and the digest of each file, answers HEAD and GET of
/{name}/resolve/{revision}/{file}, sends large files from another host by redirect, and knows ranges.
"""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import huggingface_hub
import pytest
from huggingface_hub import constants

REVISION = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Repository:
    """files: content by name; those that end with .safetensors are stored as the Hub stores large files."""

    files: dict[str, bytes]
    gated: str | bool = False
    more: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path, **more: Any) -> "Repository":
        return cls({path.name: path.read_bytes() for path in folder.iterdir()}, **more)


@dataclass
class Hub:
    """What the stand-in has and does, and what it was asked.

    cut:    bytes after which the connection breaks, by file
    instead: bytes sent instead of what was promised, by file; ranges: whether a part of a file can be asked for
    status: of every answer, if not as usual
    hold:   files trickle until it is set
    asked:  method and path of every request; headers: those that came with it, names in lower case
    """

    repositories: dict[str, Repository] = field(default_factory=dict)
    cut: dict[str, int] = field(default_factory=dict)
    instead: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    status: int | None = None
    hold: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    def __post_init__(self) -> None:
        self.hold.set()

    def sent(self, file: str) -> list[str]:
        """The Range of each request for a file's content, "" where there was none."""
        return [
            headers.get("range", "")
            for request, headers in zip(self.asked, self.headers, strict=True)
            if request.startswith("GET") and "/resolve/" in request and request.endswith(f"/{file}")
        ]


class Handler(BaseHTTPRequestHandler):
    def __init__(self, hub: Hub, *args: Any) -> None:
        self.hub = hub
        super().__init__(*args)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.respond()

    def do_GET(self) -> None:
        self.respond()

    def respond(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append(f"{self.command} {path}")
        self.hub.headers.append({name.lower(): value for name, value in self.headers.items()})
        if self.hub.status:
            self.answer(self.hub.status)
        elif path.startswith("/api/models/"):
            self.listing(path.removeprefix("/api/models/"))
        elif "/resolve/" in path:
            name, _, rest = path[1:].partition("/resolve/")
            self.file(name, rest.partition("/")[2], redirect=True)
        elif path.startswith("/elsewhere/"):
            name, _, file = path.removeprefix("/elsewhere/").partition("/-/")
            self.file(name, file, redirect=False)
        else:
            self.answer(404)

    def listing(self, path: str) -> None:
        name = path.partition("/tree/")[0].partition("/revision/")[0]
        repository = self.hub.repositories.get(name)
        if repository is None:
            self.answer(401, {"X-Error-Code": "RepoNotFound"})
        elif "/tree/" in path:
            self.answer(200, body=json.dumps([_in_tree(*item) for item in repository.files.items()]).encode())
        else:
            siblings = [_in_info(*item) for item in repository.files.items()]
            info = {"id": name, "sha": REVISION, "gated": repository.gated, "siblings": siblings, **repository.more}
            self.answer(200, body=json.dumps(info).encode())

    def file(self, name: str, file: str, redirect: bool) -> None:
        repository = self.hub.repositories[name]
        if repository.gated:
            return self.answer(401, {"X-Error-Code": "GatedRepo"})
        content = repository.files[file]
        headers = {"X-Repo-Commit": REVISION, "ETag": f'"{_digest(file, content)}"', "Accept-Ranges": "bytes"}
        if redirect and _large(file):
            headers |= {
                "X-Linked-Etag": headers["ETag"],
                "X-Linked-Size": str(len(content)),
                "Location": f"{self.hub.url.replace('127.0.0.1', 'localhost')}/elsewhere/{name}/-/{file}",
            }
            return self.answer(302, headers)
        content = self.hub.instead.get(file, content)
        begin = self.headers.get("Range", "") if self.hub.ranges else ""
        if begin:
            first = int(begin.removeprefix("bytes=").partition("-")[0])
            headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
            content = content[first:]
        return self.answer(206 if begin else 200, headers, content, self.hub.cut.get(file), trickle=True)

    def answer(
        self,
        status: int,
        headers: dict[str, str] | None = None,
        body: bytes = b"",
        cut: int | None = None,
        trickle: bool = False,
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            body = body[:cut]
            while trickle and body and not self.hub.hold.wait(1):  # else the connection would be given up as dead
                self.wfile.write(body[:1])
                body = body[1:]
            self.wfile.write(body)


def _large(file: str) -> bool:
    return file.endswith(".safetensors")


def _digest(file: str, content: bytes) -> str:
    """As the Hub gives it: SHA-256 of a large file, git's SHA-1 of any other."""
    if _large(file):
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _in_info(file: str, content: bytes) -> dict[str, Any]:
    entry: dict[str, Any] = {"rfilename": file, "size": len(content), "blobId": _digest(file, content)}
    if _large(file):
        entry |= {"blobId": "f" * 40}  # of the pointer that git keeps instead
        entry["lfs"] = {"sha256": _digest(file, content), "size": len(content), "pointerSize": 134}
    return entry


def _in_tree(file: str, content: bytes) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "file", "path": file, "size": len(content), "oid": _digest(file, content)}
    if _large(file):
        entry["lfs"] = {"oid": _digest(file, content), "size": len(content), "pointerSize": 134}
    return entry


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Serve the stand-in on a free port until the block ends; its address is hub.url."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, hub)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        hub.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield hub
        finally:
            hub.hold.set()
            server.shutdown()
            thread.join()


@contextmanager
def asked_instead(hub: Hub, monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[Hub]:
    """Let huggingface_hub in this process ask the stand-in, as HF_ENDPOINT does in a new one."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(home / "token"))
    monkeypatch.setattr(constants, "AGENT_HARNESSES_PATH", str(home / "harnesses.json"))
    huggingface_hub.close_session()
    with serving(hub):
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "/{repo_id}/resolve/{revision}/{filename}"
        )
        yield hub
    huggingface_hub.close_session()
