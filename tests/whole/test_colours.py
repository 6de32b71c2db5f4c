"""The colours of query, key and value are the same in a text as in a picture."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ROLES = {"query": "blueTextColor", "key": "orangeTextColor", "value": "greenTextColor"}


@pytest.mark.parametrize(("theme", "nth"), [("light", 0), ("dark", 1)])
def test_the_theme_has_the_colours_of_the_roles(theme: str, nth: int) -> None:
    written = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())["theme"][theme]
    styles = (ROOT / "assets/styles.css").read_text()
    for role, option in ROLES.items():
        assert written[option] == re.findall(rf"--tw-{role}: (#[0-9a-f]{{6}});", styles)[nth]
