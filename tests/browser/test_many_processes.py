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

from tests.browser.conftest import ROOT, free_port
from tests.browser.kit import settled

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


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def answers(url: str) -> bool:
    with suppress(OSError), urllib.request.urlopen(url, timeout=5) as answer:
        return answer.status == 200
    return False


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    port = free_port()
    command = [sys.executable, "-m", "serving", "--address", "127.0.0.1", "--port", str(port), "--processes", "2"]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, text=True) as process,
    ):
        try:
            one = Fleet(process, port)
            end = time.monotonic() + 90
            while not answers(f"{one.url}/_stcore/health"):
                if process.poll() is not None or time.monotonic() > end:
                    log.seek(0)
                    pytest.fail(f"It did not start:\n{log.read()}")
                time.sleep(0.1)
            yield one
            children = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
            assert not [child for child in children if child.is_running()], "left behind"
            log.seek(0)
            assert "Traceback" not in log.read()
        finally:
            process.kill()


def cookie(page: Page, name: str) -> str:
    return next(one["value"] for one in page.context.cookies() if one["name"] == name)


@pytest.mark.timeout(300)
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
    port = next(port for port in fleet.apps() if sha256(f"127.0.0.1:{port}".encode()).hexdigest().startswith(name))
    victim = fleet.apps()[port]
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait(10)

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


@pytest.mark.timeout(120)
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
    assert urllib.request.urlopen(f"{fleet.url}/ready", timeout=5).read() == b"ready"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{fleet.url}/_stcore/metrics", timeout=5)


@pytest.mark.timeout(120)
def test_a_visitor_with_too_many_pages_is_told_and_others_are_not(
    fleet: Fleet, page: Page, new_page: Callable[..., Page]
) -> None:
    others = [page.context.new_page() for _ in range(8)]
    page.goto(fleet.url)
    settled(page)
    for one in others:
        one.goto(fleet.url)
        settled(one)
    expect(others[-1].get_by_role("alert")).to_have_text(
        "This app is open in 8 tabs of your browser already. Close one, then load this page again."
    )
    expect(others[-2].get_by_label("English sentence")).to_be_visible()
    stranger = new_page(locale="en-GB")  # of a browser of their own
    stranger.goto(fleet.url)
    expect(stranger.get_by_label("English sentence")).to_be_visible()
    page.close()
    others[-1].wait_for_timeout(1000)
    others[-1].reload()
    expect(others[-1].get_by_label("English sentence")).to_be_visible()
