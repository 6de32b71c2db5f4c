"""Home: an English sentence goes in, its translation comes out, and every attention head shows where it looked."""

import streamlit as st

from ui import engine
from ui.course.architecture_map import course_map
from ui.course.sentence import sentence_trace
from ui.views.attention_maps import attention_maps
from ui.views.translation import translation, word_probabilities

st.title("Transformer Walkthrough", anchor=False)
st.markdown(
    "Type an English sentence above. A real Transformer translates it here and now; every number is yours to inspect."
)
trace = sentence_trace()
translation(trace)
word_probabilities(trace)
st.header("Where it looked", anchor=False)
config = engine.model().config
st.markdown(
    "The **encoder** reads your sentence, the **decoder** writes German. Both work by looking at pieces; how much they "
    "look at each is a weight from 0 to 1, their **attention**. They look many times: in "
    f"{config.n_layers} **layers**, one after the other, with {config.n_heads} **heads** side by side in each."
)
attention_maps(trace)
st.header("The machine, with your sentence in it", anchor=False)
st.markdown("Your pieces enter at the bottom, the translation leaves at the top. Open a block to read its lesson.")
course_map("machine", trace)
