"""The tab that tests share: who comes next finds nothing of who was there before."""

from collections.abc import Callable, Iterator

import pytest

from tests.browser.conftest import ROOT, Tab

pytestmark = pytest.mark.browser

LEAVE = """() => {
    document.cookie = "one=1";
    localStorage.one = sessionStorage.one = globalThis.one = "1";
    history.pushState({}, "", "?one=1");
}"""
FIND = """() => [document.cookie, localStorage.length, sessionStorage.length, globalThis.one ?? "", history.length,
    innerWidth, matchMedia("(prefers-color-scheme: dark)").matches, matchMedia("(prefers-reduced-motion)").matches]"""


def test_the_next_visitor_finds_nothing(shared_tabs: Callable[[], Iterator[Tab]], serve: Callable[..., str]) -> None:
    place, heard = f"{serve(ROOT / 'app.py')}/_stcore/health", []
    tab = Tab(next(shared_tabs()).context)
    with tab.alone("dark", {"width": 390, "height": 844}, "reduce") as first:
        first.on("load", lambda page: heard.append(page.url))
        first.goto(place)
        assert first.evaluate(FIND)[-3:] == [390, True, True]
        first.evaluate(LEAVE)
        first.context.new_page().goto(place)
    heard.clear()
    with tab.alone() as second:
        assert second is first
        assert second.context.pages == [second]
        second.goto(f"{place}?again")
        cookie, *others = second.evaluate(FIND)
        assert "one" not in cookie
        assert others == [0, 0, "", 2, 1280, False, False]  # where it was left, and where it is
        assert heard == []
        second.add_init_script("globalThis.one = 1")
    with tab.alone() as third:
        assert third is not first
