"""Under which names the app answers; that no page of another site reaches it; that it tells no other where one was."""

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from serving import own_names
from serving.own_names import SETTING, OwnNames, host_of, is_own

OWN = (
    "localhost",
    "127.0.0.1",
    "192.168.1.20",
    "[::1]",
    "[fe80::1]:8080",
    "teacher-laptop:8080",
    "pc12.local",
    "x.LAN:80",
)
FOREIGN = (
    "evil.example",
    "evil.example:8080",
    "192.168.1.20.evil.example",
    "localhost.evil.example",
    "",
    "a@localhost",
    "x/y",
)


async def page(_: object) -> PlainTextResponse:
    return PlainTextResponse("ours")


async def stream(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("ours")
    await socket.close()


def client() -> TestClient:
    routes = [Route("/teach", page), WebSocketRoute("/_stcore/stream", stream)]
    return TestClient(OwnNames(Starlette(routes=routes)))


def connects(host: str, origin: str | None) -> bool:
    headers = {"host": host} | ({} if origin is None else {"origin": origin})
    try:
        with client().websocket_connect("/_stcore/stream", headers=headers) as socket:
            return socket.receive_text() == "ours"
    except WebSocketDisconnect:
        return False


@pytest.mark.parametrize("host", OWN)
def test_it_answers_under_names_that_nobody_can_take(host: str) -> None:
    assert is_own(host_of(host))
    assert client().get("/teach", headers={"host": host}).text == "ours"
    assert connects(host, None)
    assert connects(host, f"http://{host}")
    assert connects(host, f"https://{host}")
    for origin in ("http://evil.example", "null", f"http://{host}.evil.example", "http://localhost:1", "http://[", ""):
        assert not connects(host, origin), origin


@pytest.mark.parametrize("host", FOREIGN)
def test_it_answers_under_no_other(host: str) -> None:
    assert not connects(host, f"http://{host}")
    assert not connects(host, None)
    answer = client().get("/teach", headers={"host": host})
    assert answer.status_code == 421
    assert SETTING in answer.text


def test_one_setting_allows_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, "learn.example.org *.school.example")
    for host in ("learn.example.org", "LEARN.example.org:443", "a.school.example", "localhost"):
        assert connects(host, f"https://{host}"), host
    for host in ("example.org", "x.learn.example.org", "school.example", "evilschool.example"):
        assert not connects(host, None), host
    monkeypatch.setenv(SETTING, "*")
    assert connects("any.example", "https://any.example")


def test_this_machines_own_name_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_names.socket, "getfqdn", lambda: "Laptop.fritz.box")
    own_names._of_this_machine.cache_clear()
    assert is_own("laptop.fritz.box")
    own_names._of_this_machine.cache_clear()


def test_no_page_tells_another_where_one_was() -> None:
    assert client().get("/teach?class=CHF7XY&secret=x").headers["referrer-policy"] == "no-referrer"
