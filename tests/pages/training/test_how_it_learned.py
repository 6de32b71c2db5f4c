"""How it learned: what it opens with, and what is said where something does not fit."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.training.how_it_learned import snapshots
from tests.pages.kit import ROUTER, component, go_to, markdown, notices, opened

SLUG = "how-it-learned"
LONG = "My neighbour's cat sleeps on the sofa all day long. " * 5


def slider(app: AppTest) -> Any:
    return app.select_slider(key="snapshot")


@pytest.mark.parametrize("asked", ["7", "-1", "6001", "plain", "50.0", " ", "9" * 400])
def test_an_address_that_names_no_snapshot_opens_the_last(asked: str) -> None:
    assert slider(opened(SLUG, snapshot=asked)).value == 6000


def test_an_address_that_names_two_snapshots_opens_the_last() -> None:
    app = opened(SLUG, snapshot=["50", "400"])
    assert "After **6,000** of 6,000 steps" in markdown(app)


def test_it_opens_where_something_is_learned() -> None:
    """At the first step it writes one word again and again."""
    app = opened(SLUG, learned_trial="Teacher forcing")
    assert "would write **7** of 7 pieces right. Alone it has **7**" in markdown(app)
    scene = component(app, "scene")
    assert scene["frames"][scene["at"]]["stop"] == "6,000"
    assert "gegessen" in scene["frames"][-1]["answer"] not in scene["frames"][0]["answer"]


def test_a_sentence_that_is_too_long_is_told_in_one_sentence_in_each_part() -> None:
    app = opened(SLUG, sentence=LONG, learned_trial="Teacher forcing")
    told = [one for one in notices(app) if "type a shorter one" in one]
    assert len(told) == 3
    assert "at most 64 pieces, and yours has 71" in told[0]


@pytest.mark.parametrize(
    ("left", "says"), [((), "no snapshot is in it"), ((0, 50), "measured on other snapshots")], ids=["none", "some"]
)
def test_missing_snapshots_are_told_in_one_sentence(
    left: tuple[int, ...], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "snapshot_steps", lambda name: left)
    known = (snapshots.steps, snapshots.measured, snapshots.snapshot_control)
    for one in known:
        one.cache_clear()
    app = AppTest.from_file(ROUTER, default_timeout=60)
    go_to(app, SLUG).run()
    for one in known:
        one.cache_clear()
    assert not app.exception
    assert app.error
    told = [one.value.replace("\\", "") for one in app.error]
    assert all(says in one and "git checkout" in one for one in told)


def test_the_english_matters_more_and_more() -> None:
    costs = []
    for step in ("0", "100", "400", "6000"):
        (line,) = (
            one.value
            for one in opened(SLUG, snapshot=step, learned_trial="What came first").markdown
            if one.value.startswith("At step")
        )
        costs.append(float(line.split("by **")[1].split("**")[0].replace("−", "-")))
    assert costs == sorted(costs)
    assert costs[0] < 0.1 < 1 < costs[-1]
