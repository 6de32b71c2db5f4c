"""What clicks do on the lessons that read patches."""

from typing import Any

import numpy as np
import pytest
import streamlit as st

from pages import patches


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    kept: dict[str, str] = {}
    monkeypatch.setattr(st, "query_params", kept)
    return kept


def test_a_click_takes_a_patch_out_and_another_puts_it_back(address: dict[str, str]) -> None:
    click = patches.taken_out("hidden", np.array([[3, 4], [1, 2]]))
    for cell, left in (((0, 1), "4"), ((1, 0), "1.4"), ((0, 1), "1"), ((1, 0), None)):
        click(cell)
        assert address.get("hidden") == left
        address["hidden"] = "2"  # what a browser sends that has not heard of it


def test_the_head_that_is_clicked_is_the_one_shown(address: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def clicked(*_: Any, on_select: Any, **more: Any) -> None:
        on_select((1, 2))

    monkeypatch.setattr(patches, "head_grid", clicked)
    looks = np.zeros((3, 4, 2, 2))
    assert patches.chosen_head(looks, "Where it looks", (2, 0)) == (2, 0)
    assert patches.chosen_head(looks, "Where it looks", (2, 0)) == (1, 2)
