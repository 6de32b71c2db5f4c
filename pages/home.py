"""Home: an English sentence goes in, its translation comes out, and every attention head shows where it looked."""

import streamlit as st

from ui.attention import attention_maps
from ui.sentence import sentence_bar
from ui.translation import piece_probabilities, translation

st.title("Transformer Walkthrough", anchor=False)
st.markdown(
    "Type an English sentence. A real Transformer, running here and now, translates it into German, and every number "
    "it computes on the way is yours to inspect."
)
trace = sentence_bar()
translation(trace)
piece_probabilities(trace)
st.header("Where it looked", anchor=False)
attention_maps(trace)
