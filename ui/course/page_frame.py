"""What stands on every page: the badge that says where the model runs."""

import streamlit as st

from model.files.loaded_model import LoadedModel
from ui.text import in_html


def badge(loaded: LoadedModel) -> None:
    """Where the model runs and how large it is; what went wrong on the way to a GPU, if anything."""
    device = loaded.device
    where = in_html(f"{device.label} · {loaded.n_parameters / 1e6:.1f} M parameters")
    st.html(f'<p class="tw-badge"><span aria-hidden="true">●</span> {where}</p>')
    if device.note:
        st.caption(in_html(device.note))
