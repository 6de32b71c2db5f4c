"""What runs for every visitor: the page configuration and the navigation, nothing else."""

from pathlib import Path

import streamlit as st

from ui.layout import styles

PAGES = Path(__file__).parents[2] / "pages"

st.set_page_config(page_title="Transformer Walkthrough", page_icon="🔎", layout="wide", initial_sidebar_state=240)
styles()
st.navigation(
    {
        "Start": [
            st.Page(PAGES / "home.py", title="Translate", default=True),
            st.Page(PAGES / "about.py", title="About the model"),
        ],
    }
).run()
