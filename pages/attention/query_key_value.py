import streamlit as st

st.title("In preparation", anchor=False)
