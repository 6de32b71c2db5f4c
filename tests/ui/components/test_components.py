"""The Python half of `matrix` and `head_grid`: what is sent is what was given, and what cannot be is refused."""

import json
import re
from base64 import b64decode
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from ui.components.head_grid import MEAN, head_grid_data
from ui.components.matrix import Caption, Labels, Scale, matrix_data
from ui.components.shared import wire
from ui.components.shared.wire import browser_file, bundle

T, S, L, H = 5, 7, 3, 2


def floats(text: str, *shape: int) -> np.ndarray:
    return np.frombuffer(b64decode(text), dtype="<f4").reshape(shape)


def maps(data: dict[str, Any]) -> np.ndarray:
    heads = data["heads"] + data["mean"]
    shape = (data["layers"], heads, data["height"], data["width"])
    return np.frombuffer(b64decode(data["maps"]), dtype=np.uint8).reshape(shape)


def sent(values: Any, rows: Any = "abcde", columns: Any = "tuvwxyz", **options: Any) -> dict[str, Any]:
    """The data of a matrix after its way through JSON; the options are those of a scale, of labels or of the matrix."""

    def taken(*names: str) -> dict[str, Any]:
        return {name: options.pop(name) for name in names if name in options}

    scale = Scale(**taken("kind", "limit", "digits"))
    labels = Labels(list(rows), list(columns), **taken("names", "group"))
    return json.loads(json.dumps(matrix_data(values, labels, Caption("A matrix"), scale=scale, **options)))


@pytest.fixture
def values() -> np.ndarray:
    return np.random.default_rng(5).normal(size=(T, S)).astype(np.float32)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_matrix_is_sent_bit_for_bit(values: np.ndarray, order: Any) -> None:
    values[0] = [np.nan, np.inf, -np.inf, -0.0, 1e-40, 3.4e38, 1 / 3]
    data = sent(np.asarray(values, order=order))
    assert floats(data["values"], T, S).tobytes() == values.tobytes()


def test_weights_always_end_at_one_and_other_scales_at_the_largest_size_that_is_seen() -> None:
    values = np.array([[0.5, -3.0, np.nan], [-np.inf, 2.0, 100.0]])
    hidden = np.array([[0, 0, 0], [0, 0, 1]])
    given: dict[str, Any] = {"rows": "ab", "columns": "xyz"}
    assert sent(values, **given, kind="weight", limit=7)["limit"] == 1
    assert sent(values, **given, kind="signed")["limit"] == 100
    assert sent(values, **given, kind="signed", hidden=hidden)["limit"] == 3
    assert sent(values, **given, kind="positive", limit=4.5)["limit"] == 4.5
    assert sent(np.zeros((2, 3)), **given, kind="signed")["limit"] == 1
    assert sent(np.full((2, 3), np.nan), **given, kind="signed")["limit"] == 1


@pytest.mark.parametrize("selected", [(-1, 0), (0, S), (T, 0), None])
def test_a_selection_that_is_not_there_is_left_out(values: np.ndarray, selected: Any) -> None:
    assert sent(values, selected=selected)["selected"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": "abc"}, r"shape \(5, 7\) do not fit 3 row and 7 column labels"),
        ({"columns": "x"}, r"shape \(5, 7\) do not fit 5 row and 1 column labels"),
        ({"values": np.zeros(5)}, r"shape \(5,\)"),
        ({"values": np.zeros((0, 7)), "rows": ""}, r"at least one cell; this array has shape \(0, 7\)"),
        ({"hidden": np.zeros((7, 5))}, r"hidden has shape \(7, 5\), values have \(5, 7\)"),
        ({"names": [["a"]] * 5}, r"Labels have 5 rows of \[1\] names, values have \(5, 7\)"),
        ({"kind": "rainbow"}, "not 'rainbow'"),
        ({"kind": "signed", "limit": 0}, "positive number, not 0"),
        ({"kind": "signed", "limit": np.nan}, "positive number, not nan"),
        ({"digits": -1}, "not -1"),
        ({"group": -2}, "not -2"),
    ],
)
def test_what_does_not_fit_is_refused_and_named(values: np.ndarray, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sent(**{"values": values, **change})


def test_head_maps_without_mean_and_with_numbers_that_are_none() -> None:
    weights = np.array([np.nan, np.inf, -np.inf, -0.1, 1.1, 0.5]).reshape(1, 2, 1, 3)
    data = head_grid_data(weights, selected=(0, MEAN), title="", row_label="layer", mean=False)
    assert data["selected"] is None
    assert maps(data).ravel().tolist() == [0, 255, 0, 0, 255, 128]


def test_head_maps_may_have_words_below_them() -> None:
    more = {"selected": None, "title": "", "row_label": "", "mean": False}
    words = [["a"] * H, ["<b>"] * H, ["c"] * H]
    assert head_grid_data(np.zeros((3, H, T, S)), captions=words, **more)["captions"] == words
    with pytest.raises(ValueError, match="captions a row do not fit maps of shape"):
        head_grid_data(np.zeros((2, H, T, S)), captions=words, **more)


@pytest.mark.parametrize("shape", [(T, S), (L, H, T), (L, H, 0, S)])
def test_head_maps_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=str(shape).replace("(", r"\(").replace(")", r"\)")):
        head_grid_data(np.zeros(shape), selected=None, title="", row_label="layer", mean=True)


def page() -> None:
    import numpy as np
    import streamlit as st

    from ui.components.head_grid import head_grid
    from ui.components.matrix import Caption, Labels, matrix

    rows = ["a", "b"] + ["c"] * st.session_state.get("more", 0)
    cell = matrix(
        np.ones((len(rows), 3)) / 3,
        Labels(rows, list("xyz")),
        Caption("Weights"),
        key="weights",
        selected=(1, 2),
    )
    head = head_grid(np.ones((2, 3, 1, 1)), key="heads", title="Heads", selected=(0, -1))
    st.write(f"{cell} {head}")
    st.button("Again")
    st.button("More", on_click=lambda: st.session_state.update(more=1))


@pytest.mark.parametrize("session", [1, 2])
def test_both_draw_in_every_session_and_keep_their_identity(session: int) -> None:
    app = AppTest.from_function(page, default_timeout=200).run()
    assert not app.exception
    first = [element.proto for element in app.get("bidi_component")]
    assert [proto.component_name.partition(".")[2] for proto in first] == ["matrix", "head_grid"]
    assert not any(proto.js_content or proto.css_content for proto in first)  # a browser fetches them, once
    assert all(re.fullmatch(r"[0-9a-f]{16}\.js", proto.js_source_path) and proto.isolate_styles for proto in first)
    assert json.loads(first[0].json)["selected"] == [1, 2]
    assert app.markdown[0].value == "None None"

    app.button[1].click().run()
    assert not app.exception
    then = [element.proto for element in app.get("bidi_component")]
    assert [proto.id for proto in then] == [proto.id for proto in first]
    assert len(json.loads(then[0].json)["rows"]) == 3
    assert then[0].js_source_path == first[0].js_source_path


def test_the_file_of_a_component_holds_all_its_code_and_is_named_after_it() -> None:
    app = AppTest.from_function(page, default_timeout=200).run()
    for element in app.get("bidi_component"):
        name = element.proto.component_name.partition(".")[2]
        text = (wire._served() / name / element.proto.js_source_path).read_text(encoding="utf-8")
        assert sha256(text.encode()).hexdigest().startswith(element.proto.js_source_path.removesuffix(".js"))
        assert len(re.findall("^export default ", text, re.MULTILINE)) == 1
        assert json.dumps(browser_file(f"{name}/{name}.css")).strip('"') in text


def test_code_without_styles_is_taken_as_it_is() -> None:
    assert bundle(["shared/keys.js"]) == browser_file("shared/keys.js")


def test_browser_files_travel_without_comment_lines() -> None:
    code = browser_file("shared/colour.js", "shared/shared.js", "matrix/matrix.js")
    assert "export default mount(MatrixView);" in code
    assert "class MatrixView" in code
    assert not [line for line in code.splitlines() if line.startswith(("//", "/*", "*"))]


def test_labels_never_become_markup() -> None:
    folder = Path(wire.__file__).parents[1]
    code = browser_file(*(str(file.relative_to(folder)) for file in folder.rglob("*.js")))
    assert len(code) > 50_000
    assert not [word for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write") if word in code]
