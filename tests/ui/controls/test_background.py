"""Long work on a page: what a visitor is told who has as much as one may have."""

import time

from streamlit.testing.v1 import AppTest

from serving.work_queue import MOST, TOO_MANY


def page() -> None:
    import time

    import streamlit as st

    from serving.work_queue import MOST, Work
    from ui.controls.background import background

    def work() -> Work:
        for _ in range(3000):
            yield 0.5
            time.sleep(0.02)

    for n in range(MOST + 1):
        st.write(background(f"job{n}", f"Start {n}", "this", work))


def test_a_job_too_many_is_refused_in_a_sentence_and_can_be_started_later() -> None:
    app = AppTest.from_function(page, default_timeout=200).run()
    for n in range(MOST + 1):
        app.button(key=f"job{n}/start").click().run()
    assert [info.value for info in app.info] == [TOO_MANY]
    jobs = [app.session_state[f"job/job{n}"][0] for n in range(MOST)]
    jobs[0].cancel()  # counts no longer
    app.button(key=f"job{MOST}/again").click().run()
    assert TOO_MANY not in [info.value for info in app.info]
    for job in [*jobs, app.session_state[f"job/job{MOST}"][0]]:
        job.cancel()


def test_a_second_click_that_comes_late_starts_no_second_job() -> None:
    app = AppTest.from_function(page, default_timeout=200).run()
    late = app.button(key="job0/start")
    late.click().run()
    job = app.session_state["job/job0"][0]
    late.click().run()
    assert app.session_state["job/job0"][0] is job
    job.cancel()


def test_how_it_ended_is_told() -> None:
    app = AppTest.from_function(page, default_timeout=200).run()
    app.button(key="job0/start").click().run()
    job = app.session_state["job/job0"][0]
    job.cancel()
    while job.look() != "stopped":
        time.sleep(0.02)
    for state, error, says in (("stopped", None, "Stopped."), ("failed", ValueError("a*b"), r"It broke off: a\*b.")):
        job.state, job.error = state, error
        app.run()
        assert [info.value.startswith(says) for info in app.info] == [True]
