"""All that the app uses of Streamlit beyond what its documentation promises. No other file imports such names.

An upgrade may change any of them. `tests/serving/test_streamlit_private.py` tells for each what the app loses then.
"""

from pathlib import Path
from urllib.parse import parse_qsl

import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest
from streamlit.delta_generator import DeltaGenerator
from streamlit.file_util import get_static_dir
from streamlit.navigation.page import Page
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import exists, get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.session_manager import SessionClient

__all__ = [
    "STATIC",
    "BackMsg",
    "ComponentConfig",
    "ComponentManifest",
    "DeltaGenerator",
    "ForwardMsg",
    "Page",
    "SessionClient",
    "exists",
    "get_bidi_component_manager",
    "get_instance",
    "get_script_run_ctx",
    "restore_address",
]

STATIC = Path(get_static_dir())  # the page of HTML and the code that browsers get


def restore_address() -> bool:
    """After Back, Forward and our own way to an address, give a page all that its address says; whether that was so.

    Streamlit leaves out what a control of the page before was bound to: a head, where both pages have heads.
    """
    run = get_script_run_ctx()
    if run is None or not run.is_history_navigation:
        return False
    # `embed` and the like are Streamlit's own.
    asked = [(name, value) for name, value in parse_qsl(run.query_string) if not name.startswith("embed")]
    left_out = {name: value for name, value in asked if name not in st.query_params}
    if left_out:
        st.query_params.update(left_out)
        with run.session_state.query_params() as params:
            params.set_initial_query_params_from_current()
    return True
