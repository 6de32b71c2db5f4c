"""What browser tests of a class do again and again."""

import re

from playwright.sync_api import Page, expect


def open_class(page: Page, url: str) -> str:
    """Its code."""
    page.goto(f"{url}/teach")
    page.get_by_label("Name of the class, if you like").fill("Physics")
    page.get_by_role("button", name="Open a class").click()
    code = page.locator(".tw-code")
    expect(code).to_be_visible()
    return code.inner_text()


def join(page: Page, url: str, code: str, nickname: str = "") -> Page:
    page.goto(f"{url}/join?code={code}")
    expect(page.get_by_label("Code of the class")).to_have_value(code)
    page.get_by_label("Nickname, if you like").fill(nickname)
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_text("You are in the class")).to_be_visible()
    return page


def desk(page: Page, part: str) -> None:
    page.locator(".st-key-desk").get_by_text(part, exact=True).click()


def ask_primes(teacher: Page) -> None:
    desk(teacher, "Questions")
    teacher.locator(".st-key-source").get_by_text("Your own", exact=True).click()
    teacher.get_by_label("Your question").fill("Which is prime?")
    teacher.get_by_label(re.compile("The options")).fill("4\n5\n6")
    teacher.get_by_label("The right one").click()
    teacher.keyboard.press("Escape")
    teacher.get_by_role("button", name="Ask the class").click()
