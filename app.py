"""`streamlit run app.py` serves this: the model is loaded once, before the first visitor comes.

The script that runs for each visitor lies in a folder of its own, pages/router: beside a folder named `pages`,
Streamlit would take the first deep link to a fresh server for its old multipage mode and show "Page not found".
"""

import sys

import streamlit as st

from model.checkpoint import CheckpointError
from ui.engine import warm_up

try:
    warm_up()
except CheckpointError as error:
    sys.exit(str(error))

app = st.App("pages/router/script.py")
