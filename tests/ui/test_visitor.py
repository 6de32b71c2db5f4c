"""Who is who, for limits that hold without cookies, too."""

from types import SimpleNamespace

import pytest
import streamlit as st

from serving import BEHIND_PROXY, VISITOR_COOKIE
from ui.visitor import one_browser, visitor

NAME = "0123456789abcdef" * 2


@pytest.mark.parametrize(
    ("cookie", "proxied", "who"),
    [(NAME, True, NAME), (NAME, False, NAME), ("", True, "at 192.0.2.1"), ("x" * 32, True, "at 192.0.2.1")],
)
def test_behind_the_proxy_all_without_a_cookie_at_one_address_are_one(
    cookie: str, proxied: bool, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {BEHIND_PROXY: "yes"} if proxied else {}
    came = SimpleNamespace(cookies={VISITOR_COOKIE: cookie}, headers=headers, ip_address="192.0.2.1")
    monkeypatch.setattr(st, "context", came)
    assert visitor() == who


def test_on_a_machine_of_ones_own_each_page_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    for _ in range(2):
        monkeypatch.setattr(st, "context", SimpleNamespace(cookies={}, headers={}, ip_address="127.0.0.1"))
        monkeypatch.setattr(st, "session_state", {})
        names += [visitor(), visitor()]
    assert names[0] == names[1] != names[2] == names[3]


def test_a_sign_of_many_is_no_sign_of_one_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    for cookie, sign in ((NAME, NAME), ("", "")):
        came = SimpleNamespace(cookies={VISITOR_COOKIE: cookie}, headers={BEHIND_PROXY: "yes"}, ip_address="192.0.2.1")
        monkeypatch.setattr(st, "context", came)
        assert one_browser() == sign
