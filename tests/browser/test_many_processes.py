"""`make serve`: several processes behind one proxy. One is killed, and its visitor goes on with another."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256

import psutil
import pytest
from playwright.sync_api import Page, expect

from classroom.setting import SETTING
from tests.browser.classes import ask_primes, desk, join, open_class
from tests.browser.conftest import ROOT, START_SECONDS
from tests.browser.kit import settled
from tests.ports import free_port

pytestmark = pytest.mark.browser


class Fleet:
    """A running `python -m serving` with two processes."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.url = f"http://127.0.0.1:{port}"

    def apps(self) -> dict[int, psutil.Process]:
        """The processes of the app, by their ports."""
        found = {}
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.Error):
                port = re.search(r"--server\.port=(\d+)", " ".join(child.cmdline()))
                if port:
                    found[int(port[1])] = child
        return found


def until(condition: Callable[[], bool], seconds: float = START_SECONDS) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def answers(url: str) -> bool:
    with suppress(OSError), urllib.request.urlopen(url, timeout=30) as answer:
        return answer.status == 200
    return False


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    port = free_port()
    env = {**os.environ, SETTING: f"sqlite:///{tmp_path_factory.mktemp('store')}/classes.db"}
    command = [sys.executable, "-m", "serving", "--address", "127.0.0.1", "--port", str(port), "--processes", "2"]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=subprocess.STDOUT, text=True) as process,
    ):
        try:
            one = Fleet(process, port)
            end = time.monotonic() + START_SECONDS
            while not answers(f"{one.url}/_stcore/health"):
                if process.poll() is not None or time.monotonic() > end:
                    log.seek(0)
                    pytest.fail(f"It did not start:\n{log.read()}")
                time.sleep(0.1)
            yield one
            children = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            assert not psutil.wait_procs(children, 30)[1], "left behind"
            log.seek(0)
            assert "Traceback" not in log.read()
        finally:
            process.kill()


def cookie(page: Page, name: str) -> str:
    return next(one["value"] for one in page.context.cookies() if one["name"] == name)


def name_of(port: int) -> str:
    """What the proxy's cookie calls a process; it keeps the first signs alone."""
    return sha256(f"127.0.0.1:{port}".encode()).hexdigest()


def test_a_process_is_killed_and_its_visitor_goes_on_with_their_sentence(fleet: Fleet, page: Page) -> None:
    assert all(answers(f"http://127.0.0.1:{port}/ready") for port in fleet.apps())  # warm before anybody comes
    page.goto(fleet.url)
    box = page.get_by_label("English sentence")
    translation = page.locator(".st-key-translation")
    box.fill("The dog sleeps.")
    box.press("Enter")
    expect(translation).to_contain_text("Hund")
    settled(page)

    name, visitor = cookie(page, "walkthrough_process"), cookie(page, "walkthrough_visitor")
    port = next(port for port in fleet.apps() if name_of(port).startswith(name))
    victim = fleet.apps()[port]
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait(60)

    until(lambda: cookie(page, "walkthrough_process") != name)
    expect(box).to_have_value("The dog sleeps.")
    expect(translation).to_contain_text("Hund")
    assert cookie(page, "walkthrough_visitor") == visitor
    expect(page.locator("[role=dialog]")).to_have_count(0)
    box.fill("The cat sleeps.")
    box.press("Enter")
    expect(translation).to_contain_text("Katze")
    page.reload()
    expect(box).to_have_value("The cat sleeps.")
    expect(translation).to_contain_text("Katze")

    until(lambda: port in fleet.apps() and fleet.apps()[port].pid != victim.pid)
    until(lambda: answers(f"http://127.0.0.1:{port}/ready"))
    assert len(fleet.apps()) == 2


def test_a_class_whose_teacher_and_learner_are_with_different_processes(
    fleet: Fleet, new_page: Callable[..., Page]
) -> None:
    teacher, ada = new_page(), new_page()
    code = open_class(teacher, fleet.url)
    its = cookie(teacher, "walkthrough_process")
    other = next(name for port in fleet.apps() if not (name := name_of(port)).startswith(its))[: len(its)]
    ada.context.add_cookies([{"name": "walkthrough_process", "value": other, "url": fleet.url}])
    join(ada, fleet.url, code, "Ada")
    expect(teacher.get_by_text("1 joined")).to_be_visible()
    ask_primes(teacher)
    ada.locator(".st-key-class_question").get_by_text("5", exact=True).click()
    ada.get_by_role("button", name="Answer").click()
    expect(ada.get_by_text("Your answer is counted: 5")).to_be_visible()
    expect(teacher.get_by_text("1 of 1 have answered")).to_be_visible()
    teacher.get_by_role("button", name="Reveal the answers").click()
    for page in (teacher, ada):
        expect(page.get_by_text(re.compile(r"^5: 1 \(100%\)"))).to_be_visible()
    desk(teacher, "Who is where")
    expect(teacher.get_by_role("cell", name="Ada")).to_be_visible()
    assert (cookie(teacher, "walkthrough_process"), cookie(ada, "walkthrough_process")) == (its, other)


def test_streamlits_files_come_packed_and_are_kept(fleet: Fleet, page: Page) -> None:
    seen = []
    page.on("response", lambda answer: seen.append(answer))
    page.goto(fleet.url)
    settled(page)
    code = [one for one in seen if re.search(r"/(static|bidi-components)/.*\.js$", one.url)]
    assert len(code) > 5
    for answer in code:
        headers = answer.all_headers()
        assert "immutable" in headers["cache-control"], answer.url
        assert headers.get("content-encoding") == "gzip" or int(headers["content-length"]) < 1000, answer.url
    assert urllib.request.urlopen(f"{fleet.url}/ready", timeout=30).read() == b"ready"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{fleet.url}/_stcore/metrics", timeout=30)


def test_a_visitor_with_too_many_pages_is_told_and_others_are_not(
    fleet: Fleet, page: Page, new_page: Callable[..., Page]
) -> None:
    others = [page.context.new_page() for _ in range(8)]
    page.goto(f"{fleet.url}/about")
    settled(page)
    for one in others:
        one.goto(f"{fleet.url}/about")
        settled(one)
    expect(others[-1].get_by_role("alert")).to_have_text(
        "This app is open in 8 tabs of your browser already. Close one, then load this page again."
    )
    expect(others[-2].get_by_role("heading", name="About the model")).to_be_visible()
    stranger = new_page(locale="en-GB")  # of a browser of their own
    stranger.goto(f"{fleet.url}/about")
    expect(stranger.get_by_role("heading", name="About the model")).to_be_visible()
    page.close()

    def let_in() -> bool:
        """The server hears a little later that the page is closed."""
        others[-1].reload()
        return settled(others[-1]).get_by_role("heading", name="About the model").is_visible()

    until(let_in)
