"""The page that the browser tests of the stage drive.

Query parameters: `sentence`; `steps`, after which the translation is interrupted; `toy` for a model of one stack;
`start`, the moment it stands at; `plays`, what a clip shows, joined by commas, `near`, how it ends, and `large`, if it
fills the screen.
"""

import streamlit as st

from model.decoding.strategies import Greedy
from model.trace import trace
from tests.house.toy import toy
from ui import engine
from ui.components.stage import clip, stage

st.set_page_config(page_title="Stage", layout="wide")
params = st.query_params
sentence = st.text_input("Sentence", params.get("sentence", "The girl sees the boy."), key="sentence")
model = toy() if "toy" in params else engine.model()
st.session_state["runs"] = st.session_state.get("runs", 0) + 1
one = trace(model, sentence, decoding=Greedy(max_steps=int(params.get("steps", "14"))))
if "plays" in params:
    with st.container(width="stretch" if "large" in params else 420):
        view = st.text_input("Near", params.get("near", "")) or None
        asked = clip(one, key="stage", shows=params["plays"].split(","), view=view, large="large" in params)
else:
    asked = stage(one, key="stage", start=int(params["start"]) if "start" in params else None)
st.write("Asked:", str(asked))
st.write("Runs:", str(st.session_state["runs"]))
