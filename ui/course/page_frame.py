"""What stands on every page: the badge that says where the model runs."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from model.files.device import Device
from model.files.loaded_model import LoadedModel
from ui.text import in_html


def badge(device: Device, shown: Mapping[str, Sequence[LoadedModel[Any, Any]]]) -> None:
    """Where models run; which ones the page shows, and how large they are; what went wrong on the way to a GPU, if
    anything. Args: shown: the models by what a learner calls them
    """
    sizes = ", ".join(f"{called}: {size(models)}" for called, models in shown.items())
    each = " each" * any(len(models) > 1 for models in shown.values())
    where = in_html(f"{device.label} · {sizes} parameters{each}" if sizes else device.label)
    st.html(f'<p class="tw-badge"><span aria-hidden="true">●</span> {where}</p>')
    if device.note:
        st.caption(in_html(device.note))


def size(models: Sequence[LoadedModel[Any, Any]]) -> str:
    """How many parameters one has; a range, if they differ."""
    counts = sorted(one.n_parameters for one in models)
    if counts[-1] < 1e6:
        return "–".join(dict.fromkeys(f"{n:,}" for n in (counts[0], counts[-1])))
    return "–".join(dict.fromkeys(f"{n / 1e6:.1f}" for n in (counts[0], counts[-1]))) + "\u00a0M"
