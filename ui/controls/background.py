"""Long work on a page: a button to start it, its progress or its place in line, a button to stop it."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from serving.work_queue import Job, TooMuchWorkError, Work, says_when, submit
from ui.text import in_markdown
from ui.visitor import presence, visitor

REFRESH = 0.5  # seconds between two looks at a running job


def background(
    key: str, label: str, about: object, work: Callable[[], Work], meanwhile: Callable[[], None] = lambda: None
) -> Any:
    """The result of long work for what it is `about` (a sentence, a setting), or None until there is one.

    A result is kept for this visitor as long as it is about the same. Must be called within a fragment or a page, never
    twice with one key. `meanwhile` draws what there is of it while it runs.
    """
    slot = f"job/{key}"
    job, of = st.session_state.get(slot, (None, None))
    if of != about:
        if job:
            job.cancel()
        job = None
        st.session_state.pop(slot, None)

    def start() -> None:
        mine, _ = st.session_state.get(slot, (None, None))
        if mine and mine.look() in ("waiting", "running"):  # a second click, which came late
            return
        st.session_state[slot] = submit(work, visitor(), presence()), about

    if job is None:
        st.button(label, key=f"{key}/start", on_click=start)
        return None
    if job.look() in ("waiting", "running"):
        _watch(key, job, meanwhile)
        return None
    if job.state == "done":
        return job.result
    if isinstance(job.error, TooMuchWorkError):
        st.info(str(job.error))
    else:
        st.info(
            "Stopped. Nothing was kept." if job.state == "stopped" else f"It broke off: {in_markdown(str(job.error))}."
        )
    st.button("Start again", key=f"{key}/again", on_click=start)
    return None


@st.fragment(run_every=REFRESH)
def _watch(key: str, job: Job, meanwhile: Callable[[], None]) -> None:
    """Progress, and a way to stop; draws the page anew when the work ends."""
    state = job.look()
    if state not in ("waiting", "running"):
        st.rerun()
    says = f"{job.progress:.0%}" if state == "running" else says_when(job)
    st.progress(job.progress, says)
    if st.button("Stop", key=f"{key}/stop"):
        job.cancel()
    meanwhile()
