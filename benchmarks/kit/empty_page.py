"""The least a Streamlit page can do: one box, and one word that follows what is typed there."""

import streamlit as st

typed = st.text_input("English sentence", "word", key="sentence", live="300ms")
with st.container(key="word"):
    st.write(typed)
