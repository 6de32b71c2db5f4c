"""The page that the browser tests of the stage drive.

Query parameters: `sentence`; `steps`, after which the translation is interrupted; `toy` for a model of one stack.
"""

import streamlit as st

from model.decoding import Greedy
from model.trace import trace
from tests.house.toy import toy
from ui import engine
from ui.components.stage import stage

st.set_page_config(page_title="Stage", layout="wide")
params = st.query_params
sentence = st.text_input("Sentence", params.get("sentence", "The girl sees the boy."), key="sentence")
model = toy() if "toy" in params else engine.model()
st.session_state["runs"] = st.session_state.get("runs", 0) + 1
asked = stage(trace(model, sentence, decoding=Greedy(max_steps=int(params.get("steps", "14")))), key="stage")
st.write("Asked:", str(asked))
st.write("Runs:", str(st.session_state["runs"]))
