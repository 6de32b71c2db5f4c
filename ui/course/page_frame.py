"""What stands on every page: the badge that says where the model runs."""

import streamlit as st

from model.files.loaded_model import LoadedModel
from ui.text import in_html


def badge(loaded: LoadedModel, named: bool = True) -> None:
    """Where models run; which this one is, if it is to be named, and how large; what went wrong on the way to a GPU, if
    anything.
    """
    device = loaded.device
    called = loaded.about.called.removeprefix("the ") or loaded.name
    size = f" · {called}: {loaded.n_parameters / 1e6:.1f} M parameters" if named else ""
    where = in_html(f"{device.label}{size}")
    st.html(f'<p class="tw-badge"><span aria-hidden="true">●</span> {where}</p>')
    if device.note:
        st.caption(in_html(device.note))
