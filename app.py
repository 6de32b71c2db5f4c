"""`streamlit run app.py` serves this: the model is loaded once, before the first visitor comes.

The script that runs for each visitor lies in a folder of its own, pages/router: beside a folder named `pages`,
Streamlit would take the first deep link to a fresh server for its old multipage mode and show "Page not found".
"""

import sys

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import Route

from classroom.expiry_thread import start_keeper
from model.files.checkpoint import CheckpointError
from processes import barriers
from serving.first_paint import FirstPaint
from serving.own_names import OwnNames
from serving.visitor_limits import FairShare
from serving.warm_start import first_visit, ready
from ui.components.navigation import NAVIGATION
from ui.course.lesson import COURSE
from ui.engine import warm_up

try:
    warm_up()
except CheckpointError as error:
    sys.exit(str(error))


def early_code(path: str) -> list[str]:
    """Where the code lies that draws what one sees first of the page at this address."""
    return COURSE.picture_code(path) + NAVIGATION.addresses()


start_keeper()
barriers.log()
app = st.App(
    "pages/router/script.py",
    lifespan=first_visit,
    routes=[Route("/ready", ready)],
    middleware=[Middleware(OwnNames), Middleware(FairShare), Middleware(FirstPaint, code_of=early_code)],
)
