"""What a visitor draws or says reaches no disk: an audit hook, in a process of its own, notes every file that the app
opens for writing while it is read.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages.kit import ROOT

DRAWS = """
own_picture._take(Drawn((((100, 100), (800, 100), (400, 900)),)))
"""
SAYS = """
st.session_state["widget"] = io.BytesIO(recording(2))
own_sound._take("a file", "widget")
"""
LESSON = """
import io
import streamlit as st
import pages.course
from pages import own_picture, own_sound
from pages.lesson_page import show
from tests.pages.test_own_sound import recording
from ui.components.drawing import Drawn
from ui.course.lesson import COURSE
lesson = COURSE.lesson("{slug}")
if st.session_state.get("gives"):
    {gives}
lesson.on_map.instead()
show(lesson)
"""
WRITING = """
import sys
from streamlit.testing.v1 import AppTest
test = AppTest.from_file(sys.argv[1], default_timeout=100)
test.query_params["sound"] = "a file"
test.run()
written = []
sys.addaudithook(
    lambda event, of: event == "open" and isinstance(of[1], str) and set(of[1]) & set("wax+") and written.append(of[0])
)
test.session_state["gives"] = True
test.run()
assert not test.exception, test.exception
assert test.session_state[sys.argv[2]] is not None
print("written:", written)
"""


@pytest.mark.parametrize(
    ("slug", "gives", "kept"),
    [("a-picture-as-words", DRAWS, "own_picture"), ("sound-in-strips", SAYS, "own_sound")],
)
def test_nothing_that_a_visitor_gives_reaches_the_disk(slug: str, gives: str, kept: str, tmp_path: Path) -> None:
    script, lesson = tmp_path / "script.py", tmp_path / "lesson.py"
    script.write_text(WRITING)
    lesson.write_text(LESSON.format(slug=slug, gives="; ".join(gives.strip().splitlines())))
    command, env = [sys.executable, str(script), str(lesson), kept], os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=200, check=False)
    assert done.stdout.splitlines()[-1:] == ["written: []"], done.stdout + done.stderr[-2000:]
