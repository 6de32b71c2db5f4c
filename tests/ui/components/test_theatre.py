"""What the theatre and the beam tree refuse to draw, and what becomes of hostile text on the way to the browser."""

import re
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.kit import component
from ui.components.beam_tree import Node, beam_tree
from ui.components.theatre import Scene, Strip, theatre

SCENE = Scene([0.5, 0.5], [1.0], [("a", 0.7), ("b", 0.2)], 0, [(1, 2)], "one pair")


def play(scenes: int = 2, target: int = 3, yours: int = 3) -> None:
    theatre(
        [SCENE] * scenes, Strip(["x", "y"], ""), Strip(["t"] * target, "", [False] * yours), key="theatre", step=0,
        on_step=print, on_candidate=print,
    )  # fmt: skip


@pytest.mark.parametrize(("target", "yours"), [(2, 3), (3, 2), (4, 4)])
def test_counts_that_do_not_fit_are_named(target: int, yours: int) -> None:
    with pytest.raises(ValueError, match=re.escape(f"2 scenes do not fit a target of {target} and {yours} marks")):
        play(target=target, yours=yours)


def hostile() -> None:
    from tests.ui.components.test_theatre import SCENE, Strip, replace, theatre

    scene = replace(SCENE, candidates=[("</script>\u202e", 0.7), ("  ", 0.1)])
    theatre(
        [scene], Strip(["<img src=x onerror=alert(1)>", " "], ""), Strip(["<sos>", "\x00"], "", [False, True]),
        key="theatre", step=99, on_step=print, on_candidate=print,
    )  # fmt: skip


def test_what_cannot_be_seen_is_spelled_out_and_a_step_too_far_is_the_last() -> None:
    app = AppTest.from_function(hostile).run()
    assert not app.exception
    data = component(app, "theatre")
    assert data["source"] == ["<img src=x onerror=alert(1)>", "␣"]
    assert data["target"] == ["<sos>", "‹U+0000›"]
    assert [text for text, _ in data["steps"][0]["candidates"]] == ["</script>‹U+202E›", "␣"]
    assert data["step"] == 0


KEPT, PRUNED = Node("a", -1.0, "kept", 0), Node("b", -2.0, "pruned", 0)


@pytest.mark.parametrize("parent", [1, 2, -1])
def test_a_node_that_extends_nothing_kept_is_named(parent: int) -> None:
    with pytest.raises(ValueError, match=f"A node of column 1 extends number {parent} of the column before"):
        beam_tree(
            [[KEPT, PRUNED], [replace(KEPT, parent=parent)]],
            key="tree", title="", how_to_read="", selected=(0, 0), on_select=print,
        )  # fmt: skip
