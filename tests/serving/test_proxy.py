"""The proxy, a real nginx, before stand-ins for the app: who goes where, what is packed and kept, what is too much."""

import gzip
import http.client
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from email.message import Message
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from serving import BEHIND_PROXY, TOO_MANY_PAGES, VISITOR_COOKIE, proxy
from serving.proxy import NOT_THERE, TOO_MUCH, NoProxyError, Proxy, Site, UnknownPlaceError, addresses, configuration
from tests.ports import free_port

PATIENCE = 60  # seconds: a busy machine is no defect
CODE = b"function draw() { return 'the same again and again'; }\n" * 200


App, Before = Callable[[], ThreadingHTTPServer], Callable[..., Proxy]


class StandIn(BaseHTTPRequestHandler):
    """Says by which server it was answered; serves one file as Streamlit does, and one as it serves components."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path == "/_stcore/stream":
            self.send_response(101)
            self.send_header("Upgrade", "websocket")
            self.send_header("Connection", "Upgrade")
            self.end_headers()
            self.wfile.write(str(self.server.server_port).encode())
            self.close_connection = True
            return
        body, keep = str(self.server.server_port).encode(), "no-cache"
        if self.path == "/proxied":
            body = str((self.headers[BEHIND_PROXY], self.headers[TOO_MANY_PAGES])).encode()
        if self.path == "/address":
            body = self.headers["X-Forwarded-For"].encode()
        if self.path.endswith("app.js"):
            body, keep = CODE, "public, immutable, max-age=31536000" if "static" in self.path else "public"
        self.send_response(404 if "missing" in self.path else 200)
        self.send_header("Content-Type", "text/javascript" if self.path.endswith(".js") else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", keep)
        self.send_header("Set-Cookie", "_streamlit_xsrf=1")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Visitor:
    """A browser without a screen: keeps its cookies."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookies: dict[str, str] = {}

    def get(self, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, Message, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            if self.cookies:
                headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            for line in answer.headers.get_all("Set-Cookie", []):
                given = SimpleCookie(line)
                self.cookies |= {name: one.value for name, one in given.items()}
                ours = [one for name, one in given.items() if name in (VISITOR_COOKIE, "walkthrough_process")]
                assert all(one["httponly"] and one["samesite"] == "Lax" for one in ours), "a script could read it"
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def connect(self) -> bytes:
        """Open the long connection; which server says so."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as wire:
            cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            lines = ("GET /_stcore/stream HTTP/1.1", "Host: x", "Upgrade: websocket", "Connection: Upgrade")
            wire.sendall("\r\n".join([*lines, f"Cookie: {cookies}", "", ""]).encode())
            answer = b""
            while more := wire.recv(4096):
                answer += more
        head, _, body = answer.partition(b"\r\n\r\n")
        for line in head.decode().splitlines():
            if line.lower().startswith("set-cookie:"):
                self.cookies |= {name: one.value for name, one in SimpleCookie(line.partition(":")[2]).items()}
        return body if b" 101 " in head else head


@pytest.fixture
def app() -> Iterator[Callable[[], ThreadingHTTPServer]]:
    """app() → one more stand-in, running."""
    with ExitStack() as stack:

        def start() -> ThreadingHTTPServer:
            server = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), StandIn))
            server.asked = []
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
            stack.callback(server.shutdown)
            return server

        yield start


@pytest.fixture
def before(tmp_path: Path) -> Iterator[Callable[..., Proxy]]:
    """before(server, …) → a proxy before them, listening."""
    running: list[Proxy] = []

    def start(*servers: ThreadingHTTPServer, trust: tuple[str, ...] = ()) -> Proxy:
        port = free_port()
        apps = [f"127.0.0.1:{server.server_port}" for server in servers]
        (tmp_path / str(port)).mkdir()
        one = Proxy(Site(f"127.0.0.1:{port}", apps, trust), tmp_path / str(port))
        running.append(one)
        one.port = port
        wait_for(port)
        return one

    yield start
    for one in running:
        one.end()


def wait_for(port: int) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.02)


def test_a_visitor_stays_with_one_process_and_new_ones_are_shared_out(app: App, before: Before) -> None:
    port = before(app(), app()).port
    seen = set()
    for _ in range(6):
        visitor = Visitor(port)
        answers = {visitor.get()[2] for _ in range(4)} | {visitor.connect()}
        assert len(answers) == 1
        seen |= answers
    assert len(seen) == 2


def test_a_visitor_whose_process_is_gone_stays_with_the_one_that_took_over(app: App, before: Before) -> None:
    servers = app(), app()
    visitor = Visitor(before(*servers).port)
    first = visitor.get()[2]
    gone, left = servers if first == str(servers[0].server_port).encode() else servers[::-1]
    gone.shutdown()
    gone.server_close()
    before_it = dict(visitor.cookies)
    assert visitor.connect() == str(left.server_port).encode()
    assert visitor.cookies["walkthrough_process"] != before_it["walkthrough_process"]
    assert visitor.cookies[VISITOR_COOKIE] == before_it[VISITOR_COOKIE]
    assert visitor.get()[2] == str(left.server_port).encode()


def test_a_cookie_of_a_visitors_own_making_does_no_harm(app: App, before: Before) -> None:
    port = before(app()).port
    for value in ("17", "process_1", "x" * 3000, "any", "127.0.0.1:22"):
        visitor = Visitor(port)
        visitor.cookies = {"walkthrough_process": value, VISITOR_COOKIE: value}
        assert visitor.get()[0] == 200
        assert visitor.cookies["walkthrough_process"] not in ("17", value)
        assert len(visitor.cookies[VISITOR_COOKIE]) == 32


def test_where_a_visitor_comes_from_is_believed_of_a_proxy_alone(app: App, before: Before) -> None:
    said = {"X-Forwarded-For": "198.51.100.7, 203.0.113.9"}
    port = before(app()).port
    assert Visitor(port).get("/address", **said)[2] == b"127.0.0.1"
    port = before(app(), trust=("127.0.0.0/8",)).port
    assert Visitor(port).get("/address", **said)[2] == b"203.0.113.9"
    two_proxies = {"X-Forwarded-For": f"{said['X-Forwarded-For']}, 127.0.0.2"}
    assert Visitor(port).get("/address", **two_proxies)[2] == b"203.0.113.9"


def test_files_come_packed_are_kept_and_are_asked_for_once(app: App, before: Before) -> None:
    server = app()
    port = before(server).port
    for path in ("/static/js/app.js", "/_stcore/bidi-components/house.stage/app.js"):
        for _ in range(3):
            status, headers, body = Visitor(port).get(path, **{"Accept-Encoding": "gzip, br"})
            assert (status, headers["Content-Encoding"]) == (200, "gzip")
            assert "immutable" in headers["Cache-Control"]
            assert "max-age=31536000" in headers["Cache-Control"]
            assert headers.get_all("Set-Cookie") is None  # a kept answer carries nobody's cookie
            assert gzip.decompress(body) == CODE
            assert len(body) < len(CODE) / 10
        assert server.asked == [path]
        assert Visitor(port).get(path)[2] == CODE  # who cannot unpack it gets it as it is
        server.asked.clear()


def test_what_is_not_there_is_not_kept(app: App, before: Before) -> None:
    server = app()
    port = before(server).port
    for path in ("/static/js/of-an-older-version.js", "/_stcore/bidi-components/house.stage/missing.js"):
        for _ in range(2):  # Streamlit answers the first with a page and "no-cache"
            headers = Visitor(port).get(path)[1]
            assert "immutable" not in headers.get("Cache-Control", "")
        assert server.asked == [path] * 2
        server.asked.clear()


def test_who_asks_too_much_is_told_and_others_are_served(app: App, before: Before) -> None:
    port = before(app()).port
    greedy, other = Visitor(port), Visitor(port)
    greedy.get()
    answers = [greedy.get() for _ in range(120)]
    refused = [(status, headers, body) for status, headers, body in answers if status != 200]
    assert 20 < len(refused) < 80
    for status, headers, body in refused:
        assert (status, headers["Retry-After"]) == (429, "5")
        assert headers["Content-Type"] == "text/html; charset=utf-8"
        assert TOO_MUCH in body.decode()
    assert [other.get()[0] for _ in range(20)] == [200] * 20
    files = [greedy.get("/static/js/app.js")[0] for _ in range(100)]
    assert files == [200] * 100  # a page has many; they cost nothing


def test_files_that_are_not_there_cannot_be_asked_for_without_end(
    app: App, before: Before, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(proxy.LIMITS, "UNNAMED_BURST", 30)
    port = before(server := app()).port
    greedy, other = Visitor(port), Visitor(port)
    for one in (greedy, other):
        assert (one.get()[0], one.get("/static/js/app.js")[0]) == (200, 200)
    server.asked.clear()
    answers = [greedy.get(f"/static/js/missing{n}.js", **{"X-Asked-By": str(n)})[0] for n in range(150)]
    assert {*answers} == {404, 429}
    assert len(server.asked) == answers.count(404) < 120
    assert greedy.get("/static/js/app.js")[0] == 200  # it is kept
    assert other.get("/static/js/missing.js")[0] == 404


def test_a_visitor_sends_so_many_recordings_and_keeps_nobody_else_from_it(app: App, before: Before) -> None:
    port = before(app()).port
    greedy, other = Visitor(port), Visitor(port)
    for one in (greedy, other):
        one.get()
    path = "/_stcore/upload_file/session/file"
    answers = [greedy.get(path)[0] for _ in range(proxy.LIMITS["UPLOADS_BURST"] + 5)]
    assert answers.count(200) in range(proxy.LIMITS["UPLOADS_BURST"], proxy.LIMITS["UPLOADS_BURST"] + 3)
    assert other.get(path)[0] == 200
    assert 429 not in [greedy.get(path, method="DELETE")[0] for _ in range(3)]


def test_a_school_of_three_hundred_new_browsers_is_served(app: App, before: Before) -> None:
    port = before(app()).port
    assert [Visitor(port).get()[0] for _ in range(320)] == [200] * 320


def test_the_app_learns_that_a_proxy_stands_before_it_and_no_visitor_tells_it_more(app: App, before: Before) -> None:
    said = {BEHIND_PROXY: "no", TOO_MANY_PAGES: "yes"}
    assert Visitor(before(app()).port).get("/proxied", **said)[2] == b"('yes', None)"


def test_a_secret_in_an_address_stands_in_no_log(app: App, before: Before, capfd: pytest.CaptureFixture[str]) -> None:
    server = app()
    port = before(server).port
    server.shutdown()
    server.server_close()
    status, headers, _ = Visitor(port).get("/teach?class=CHF7XY&secret=abc", Referer="http://x/teach?secret=abc")
    assert (status, headers["Referrer-Policy"]) == (503, "no-referrer")
    assert "secret" not in "".join(capfd.readouterr())


def test_while_no_process_answers_a_page_says_so_and_loads_itself_again(app: App, before: Before) -> None:
    server = app()
    port = before(server).port
    server.shutdown()
    server.server_close()
    status, headers, body = Visitor(port).get()
    assert (status, headers["Retry-After"]) == (503, "5")
    assert NOT_THERE in body.decode()
    assert "http-equiv='refresh'" in body.decode()


def test_numbers_about_the_server_are_nobodys_business(app: App, before: Before) -> None:
    server = app()
    assert Visitor(before(server).port).get("/_stcore/metrics")[0] == 404
    assert server.asked == []


@pytest.mark.slow
def test_a_proxy_that_was_killed_is_started_again(app: App, before: Before) -> None:
    one = before(app())
    first = psutil.Process(one.process.pid)
    assert Visitor(one.port).get()[0] == 200  # answered by one of its workers
    others = first.children()
    assert others
    first.kill()
    one.process.wait()
    one.look_after()
    assert not psutil.wait_procs(others, PATIENCE)[1]  # they would keep the address
    wait_for(one.port)
    time.sleep(0.5)
    one.look_after()  # and it lives
    assert one.process.poll() is None
    assert Visitor(one.port).get()[0] == 200


def test_it_follows_the_app_to_other_addresses(app: App, before: Before, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = app(), app()
    one = before(old)
    monkeypatch.setattr(proxy, "addresses", lambda places: [f"127.0.0.1:{new.server_port}"])
    one.look_after()
    end = time.monotonic() + PATIENCE
    while Visitor(one.port).get()[2] != str(new.server_port).encode():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
def test_two_proxies_at_one_address_are_one_too_many(app: App, before: Before, tmp_path: Path) -> None:
    server = app()
    one = before(server)
    (tmp_path / "second").mkdir()
    site = Site(f"127.0.0.1:{one.port}", [f"127.0.0.1:{server.server_port}"])
    second = Proxy(site, tmp_path / "second")
    second.process.wait(PATIENCE)
    with pytest.raises(NoProxyError, match=r"Is something else serving at 127\.0\.0\.1:"):
        second.look_after()


def test_a_name_may_stand_for_several_addresses() -> None:
    assert addresses(["127.0.0.1:81", "127.0.0.2:80", "127.0.0.1:81"]) == ["127.0.0.1:81", "127.0.0.2:80"]
    for place in ("no-such-place.invalid:80", "127.0.0.1", "127.0.0.1:http-alt?", ""):
        with pytest.raises(UnknownPlaceError, match=rf"^No app can be found at {re.escape(place)}\.$"):
            addresses([place])


def test_every_word_of_the_template_is_replaced(tmp_path: Path) -> None:
    text = configuration(Site("127.0.0.1:1", []), ["127.0.0.1:2", "127.0.0.1:3"], tmp_path)
    assert "@USER@" not in text
    assert [line for line in text.splitlines() if "server 127.0.0.1:2" in line and "backup" in line]


# --- what each place of the configuration needs ----------------------------------------------------------------------

Block = dict[str, "list[str] | Block"]  # directives of one name, and the blocks in it, by all of their words


def parsed(text: str) -> Block:
    """nginx's own grammar: words, quoted or not, up to a semicolon or a block in braces; # begins a comment."""
    words = re.findall(r"""#[^\n]*|"(?:\\.|[^"\\])*"|[{};]|(?:\$\{|[^\s;{}"#])+""", text)
    root: Block = {}
    stack, line = [root], []
    for word in words:
        if word.startswith("#"):
            continue
        if word == "{":
            inner: Block = {}
            name = " ".join(line)
            stack[-1][name + " again" if name in stack[-1] else name] = inner
            stack.append(inner)
        elif word == "}":
            stack.pop()
        elif word == ";":
            stack[-1].setdefault(line[0], []).append(" ".join(line[1:]))
        else:
            line.append(word)
            continue
        line = []
    assert stack == [root]
    return root


LIMITED = ["zone=visitor burst=50 nodelay", "zone=unnamed burst=1000 delay=300", "zone=address burst=3000 delay=900"]
WHERE = ("http", "server")
# By place and directive: all that stands there, and why.
NEEDS: dict[tuple[str, ...], dict[str, tuple[list[str], str]]] = {
    (): {"worker_processes": (["1"], "one memory of limits, and no core is taken from the app")},
    ("events",): {"worker_connections": (["8192"], "four for each of 1000 pages of one address, and room for others")},
    ("http",): {
        "client_max_body_size": (["2m"], "nobody sends a file"),
        "access_log": (["off"], "addresses and secrets are written down nowhere"),
        "server_tokens": (["off"], "who attacks need not know the version"),
        "limit_req_zone": (
            [
                "$visitor zone=visitor:4m rate=10r/s",
                "$unnamed zone=unnamed:4m rate=50r/s",
                "$binary_remote_addr zone=address:4m rate=300r/s",
                "$http_x_asked_by zone=unkept:4m rate=50r/s",
                "$uploads zone=uploads:4m rate=2r/m",
            ],
            "by visitor; by address for those without a cookie, and for all: a school of thirty classes behind one",
        ),
        "limit_conn_zone": (
            [
                "$visitor zone=visitor_pages:4m",
                "$unnamed zone=unnamed_pages:4m",
                "$binary_remote_addr zone=address_pages:4m",
            ],
            "the same",
        ),
        "limit_req_status": (["429"], "it says what to do"),
        "limit_conn_status": (["429"], "the same"),
        "proxy_http_version": (["1.1"], "a page's connection is upgraded"),
        "proxy_connect_timeout": (["3s"], "a dead process is left soon"),
    },
    WHERE: {"error_page": (["429 @too_much", "502 504 =503 @not_there"], "both are pages in words")},
    (*WHERE, "location /"): {
        "limit_req": (LIMITED, "a page has many requests at once"),
        "proxy_pass": (["http://$pool"], "a visitor stays with their process"),
    },
    (*WHERE, "location = /_stcore/stream"): {
        "limit_req": (LIMITED, "connecting again and again costs the app"),
        "limit_conn": (
            ["visitor_pages 24", "unnamed_pages 24", "address_pages 1000"],
            "three pages in each of eight tabs; a school",
        ),
        "proxy_read_timeout": (["1h"], "a page at rest sends nothing for long, while its reader reads"),
        "proxy_send_timeout": (["1h"], "the same, the other way"),
        "proxy_pass": (["http://$pool"], "a visitor stays with their process"),
    },
    (*WHERE, "location ^~ /_stcore/upload_file/"): {
        "limit_req": (
            ["zone=uploads burst=20 nodelay", "zone=address burst=3000 delay=900"],
            "a recording stays in memory",
        ),
        "proxy_pass": (["http://$pool"], "a visitor stays with their process"),
    },
    (*WHERE, "location ~ ^/(static|_stcore/bidi-components)/"): {
        "proxy_cache": (["files"], "packed once"),
        "proxy_cache_key": (["$uri"], "no query makes the same file again"),
        "proxy_cache_valid": (["200 30d"], "and never an error"),
        "proxy_cache_lock": (["on"], "a class that comes at once asks the app once"),
        "proxy_ignore_headers": (["Set-Cookie Vary"], "what comes with a cookie would not be kept"),
        "proxy_hide_header": (["Set-Cookie", "Cache-Control"], "one visitor's cookie reaches no other"),
        "limit_req": ([], "a page has many files"),
    },
    (*WHERE, "location = /_stcore/metrics"): {"return": (["404"], "numbers about the server are nobody's business")},
    ("http", "server again", "location /"): {
        "gzip_comp_level": (["9"], "packed once, sent often"),
        "limit_req": (["zone=unkept burst=1000 delay=300"], "a file that is not there would be asked for each time"),
        "proxy_next_upstream": (["error timeout http_404"], "a file of the other version is with another process"),
    },
}


@pytest.mark.parametrize("place", NEEDS, ids=lambda place: " ".join(place) or "all")
def test_each_place_has_what_it_needs(place: tuple[str, ...], tmp_path: Path) -> None:
    block: object = parsed(configuration(Site("127.0.0.1:1", []), ["127.0.0.1:2"], tmp_path))
    for name in place:
        assert isinstance(block, dict)
        block = block[name]
    assert isinstance(block, dict)
    for directive, (wanted, why) in NEEDS[place].items():
        assert block.get(directive, []) == wanted, f"{directive}: {why}"
