"""Fetching a model in Chromium from a stand-in for the Hub: asked, told the size, confirmed, left and watched on."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT, served
from tests.browser.kit import settled
from tests.hub.small_models import make
from tests.hub.stand_in_hub import Hub, Repository, serving

pytestmark = pytest.mark.browser

NAME = "some-group/bert-small"
SENTENCE = "The black cat fights the white cat."


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with serving(Hub({NAME: Repository.of(make("bert", tmp_path / "original"))})) as hub:
        yield hub


@pytest.fixture
def url(hub: Hub, tmp_path: Path) -> Iterator[str]:
    env = {
        "WALKTHROUGH_MODELS": str(tmp_path / "models"),
        "WALKTHROUGH_DOWNLOADS": "yes",
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(tmp_path / "home"),
        "NO_PROXY": "127.0.0.1,localhost",
    }
    with served(ROOT / "app.py", env=env) as address:
        yield address


def test_a_model_is_fetched_when_told(hub: Hub, page: Page, url: str, tmp_path: Path) -> None:
    hub.hold.clear()
    page.goto(f"{url}/any-model?sentence={SENTENCE}")
    box = page.get_by_role("combobox", name="Model")
    box.click()
    box.fill(NAME)
    box.press("Enter")
    button = page.get_by_role("button", name=re.compile(r"Fetch [\d.]+ MB"))
    expect(button).to_be_visible()
    expect(page.get_by_text("is not here yet")).to_be_visible()
    settled(page)
    assert not any("/resolve/" in asked for asked in hub.asked)
    assert not (tmp_path / "models").exists()
    button.click()
    progress = page.get_by_text(re.compile(r"\d+% of [\d.]+ MB are here"))
    expect(progress).to_be_visible()
    page.reload()  # the visitor leaves, and comes back: it goes on unasked, and can be watched
    expect(progress).to_be_visible()
    hub.hold.set()
    expect(page.get_by_text("Where it looks")).to_be_visible()
    expect(page.locator(".st-key-map table").first).to_be_visible()
    expect(button).to_have_count(0)
    assert len(hub.sent("model.safetensors")) == 1
