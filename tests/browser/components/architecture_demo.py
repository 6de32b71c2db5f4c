"""The page that the browser tests of the map drive, with the shipped model.

Query parameters: `sentence`; `plain` 1 for no sentence; `links` none;
`model` toy for a decoder alone of random weights, with its norms first.
"""

import streamlit as st

from model.decoding.strategies import Greedy
from model.trace import trace as trace_anew
from tests.house.toy import toy
from ui import engine
from ui.components.architecture import architecture, block_ids

st.set_page_config(page_title="The map", layout="wide")

ANIMALS = "The black cat fights the dog"
LINKS = {
    "tokenize": "Tokenization",
    "encoder.embedding": "Embeddings",
    "decoder.embedding": "Embeddings",
    "encoder.positions": "Positional encodings",
    "decoder.positions": "Positional encodings",
    "encoder.self_attn": "Scaled dot-product attention",
    "decoder.self_attn": "Masking",
    "decoder.cross_attn": "Encoder-decoder attention",
    "encoder.stack": "The encoder",
}
assert LINKS.keys() <= {*block_ids(engine.model())}


def shown(key: str) -> None:
    params = st.query_params
    with st.sidebar:
        if st.button("Other sentence"):
            other = {ANIMALS: "I ate an apple."}
            st.session_state.sentence = other.get(st.session_state.get("sentence"), ANIMALS)
        if st.button("Other model"):
            st.session_state.model = "toy"
    sentence = st.session_state.get("sentence", params.get("sentence", "I ate an apple."))
    model = toy() if "toy" in (params.get("model"), st.session_state.get("model")) else engine.model()
    trace = trace_anew(toy(), sentence, decoding=Greedy(max_steps=20)) if model is toy() else engine.trace(sentence)
    links = {block: title for block, title in LINKS.items() if block in block_ids(model)}
    left, right = st.columns([7, 2])
    with left:
        opened = architecture(
            model,
            key=key,
            links=None if params.get("links") == "none" else links,
            trace=None if "plain" in params else trace,
            on_open=lambda block: st.session_state.update(called=[*st.session_state.get("called", []), block]),
        )
    with right:
        st.write("Opened:", str(opened))
        st.write("Called:", str(st.session_state.get("called", [])))
    if opened == "encoder.stack":
        st.switch_page(second)


def lesson() -> None:
    st.write("The lesson")
    shown("map")


second = st.Page(lesson, title="Lesson", url_path="lesson")
st.navigation([st.Page(lambda: shown("map"), title="Home", url_path="home", default=True), second]).run()
