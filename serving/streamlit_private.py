"""All that the app uses of Streamlit beyond what its documentation promises. No other file imports such names.

An upgrade may change any of them. `tests/serving/test_streamlit_private.py` tells for each what the app loses then.
"""

from pathlib import Path

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
]

STATIC = Path(get_static_dir())  # the page of HTML and the code that browsers get
