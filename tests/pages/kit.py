"""Pages run without a browser: open one, read what it would show."""

import ctypes
import gc
import html
import json
import re
import sys
import time
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import cachetools
import numpy as np
import psutil
from streamlit.components.v2 import manifest_scanner
from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.testing.v1 import AppTest, app_test, local_script_runner
from streamlit.util import calc_hash

import tests.pages.part_runs  # noqa: F401 - runs parts of pages, as a browser does
from pages import first_screen, lesson_page
from tests.oracle.language.reader import read, received
from tests.oracle.language.statement import Statement
from training.live.processes import DONE, LiveTraining
from ui import engine

# Streamlit looks through every installed package for components whenever a page is opened: nine tenths of the time.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
# It compiles the script anew for each run, as no server does.
app_test.ScriptCache = cache(app_test.ScriptCache)  # type: ignore[misc]
# It hashes everything it sends, so that a browser need not be sent it twice: here is no browser.
script_run_context.populate_hash_if_needed = lambda msg: None
first_screen.HEAD_START = lesson_page.HEAD_START = 0  # nobody waits here for a browser to draw
PATIENCE_SECONDS = 300
CROWDED = 1.5e9  # bytes of memory that a process of tests may hold between two files or lessons
_give_up = local_script_runner.require_widgets_deltas


def _wait(runner: local_script_runner.LocalScriptRunner, timeout: float = 3) -> None:
    """Wait for the end of a run, as long as a test may take: a busy machine is no defect.

    AppTest itself looks a thousand times a second, and the run has to stop for each.
    """
    runner._script_thread.join(max(timeout, PATIENCE_SECONDS))
    if not runner.script_stopped():
        _give_up(runner, 0)


local_script_runner.require_widgets_deltas = _wait

ROOT = Path(__file__).parents[2]
ROUTER = ROOT / "pages" / "router" / "script.py"
# Pages that are no lesson, by the name of their claims; FOREIGN show strangers' models (`tests.hub.small_models`).
OTHERS = {name: ROOT / "pages" / f"{name}.py" for name in ("home", "about", "results")}
OTHERS |= {"bertviz": ROOT / "pages" / "explore" / "bertviz.py"}
OTHERS |= {name: ROOT / "pages" / "classes" / f"{name}.py" for name in ("join", "teach")}
FOREIGN = {name: ROOT / "pages" / "explore" / f"{name}.py" for name in ("any_model", "compare")}


stages: cachetools.LRUCache[Any, Any] = cachetools.LRUCache(64)  # what stages were sent, see conftest.py


def forget() -> None:
    """Free what lessons left in memory: the app's results and models, and what the oracle has computed."""
    engine.forget()
    stages.clear()
    for name, module in list(sys.modules.items()):
        if name.startswith("tests.oracle"):
            for one in vars(module).values():
                if hasattr(one, "cache_clear"):
                    one.cache_clear()
    if psutil.Process().memory_info().rss > CROWDED:  # a second of work, so not before there is much to free
        gc.unfreeze()  # the app freezes what lives on, and with it what has become garbage since
        gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def address(page: Path) -> str:
    """The address of the page in a file, or in a folder of several."""
    return (page.parent.name if page.stem == "lesson" else page.stem).replace("_", "-")


def go_to(app: AppTest, slug: str) -> AppTest:
    """As by a link within the app: the next run shows this page."""
    app._page_hash = calc_hash(slug)
    return app


def opened(page: Path | str | None = None, **parameters: str | list[str]) -> AppTest:
    """The home page, or another (a lesson by its slug, any other by its file), after its first run with these
    parameters in the address."""
    app = AppTest.from_file(ROUTER, default_timeout=60)
    app.query_params.update(parameters)
    if page:
        # Straight there, as by a link from outside: the home page would drop from the address what is its own default.
        # AppTest finds pages that are files, and only after a first run; Streamlit itself goes by the hash of the path.
        go_to(app, page if isinstance(page, str) else address(page))
    app.run()
    assert_sound(app)
    return app


def give_answer(app: AppTest, slug: str, n: int, *options: int) -> AppTest:
    """Open the n-th question of a lesson, from 0, choose these options, and have the answer checked."""
    next(group for group in app.button_group if group.key == f"{slug}/at").set_value(str(n + 1)).run()
    boxes = [box for box in app.checkbox if (box.key or "").startswith(f"{slug}/")]
    for option in options:
        if boxes:
            boxes[option].check()
        else:
            next(radio for radio in app.radio if radio.key.startswith(f"{slug}/")).set_value(option)
    app.run()
    next(button for button in app.button if button.label == "Check my answer").click().run()
    assert_sound(app)
    return app


def press(app: AppTest, label: str, slot: str) -> list[Statement]:
    """Press a button and wait for what it starts, without the page, which would take the processor from it. Returns
    what the page showed before."""
    before = read(app)
    next(one for one in app.button if one.label == label).click().run()
    job, _ = app.session_state[slot]
    end = time.monotonic() + 240
    while job.look() in ("waiting", "running"):
        assert time.monotonic() < end
        time.sleep(0.02)
    app.run()
    assert_sound(app)
    return before


def run_here(training: LiveTraining[Any]) -> Iterator[float]:
    """In this process, with a report halfway: processes and clocks have tests of their own."""
    for report in training.task.reports(lambda step: step.step == training.task.n_steps // 2):
        training._take(report)
        yield report.step / training.task.n_steps
    training._take(DONE)


def choose_in(app: AppTest, element: Any, row: int, column: int, number: int = 0, *earlier: object) -> AppTest:
    """A click on a cell of one of the project's components (AppTest knows none of them), as the browser reports it:
    with its number, by default the next, and clicks before it that may have been missed."""
    states = app._tree.get_widget_states()
    number = number or 1 + received(element.proto)["seen"]
    click = states.widgets.add()
    click.id = _make_trigger_id(element.proto.id, "events")
    click.json_trigger_value = json.dumps([{"event": "select", "value": [row, column, number, *earlier]}])
    app._run(states)
    assert_sound(app)
    return app


def assert_sound(app: AppTest) -> None:
    assert not [e.message for e in app.exception]
    assert not [e.value for e in app.error]


def translation(app: AppTest) -> str:
    """The German sentence, as text."""
    found = re.findall(r'<p class="tw-translation"[^>]*>(.*?)</p>', " ".join(e.proto.body for e in app.get("html")))
    assert len(found) == 1
    return html.unescape(re.sub("</?u[^>]*>", "", found[0]))


def component(app: AppTest, key: str) -> dict[str, Any]:
    """What the browser gets to draw the component with this key."""
    (found,) = (e for e in app.get("bidi_component") if e.key == key)
    return received(found.proto)


def values(app: AppTest, key: str = "map") -> np.ndarray:
    """The numbers of a matrix on the page."""
    data = component(app, key)
    flat = np.frombuffer(b64decode(data["values"]), dtype="<f4")
    return flat.reshape(len(data["rows"]), len(data["columns"]))


def notices(app: AppTest) -> list[str]:
    return [e.value for e in app.info]


def markdown(app: AppTest) -> str:
    return "\n".join(e.value for e in (*app.markdown, *app.caption))


def rows_of_table(body: str) -> list[list[str]]:
    """The texts of an HTML table, its head first; nothing if the HTML is something else."""
    rows = re.findall(r"<tr>(.*?)</tr>", body) if body.startswith('<table class="tw-table"') else []
    cells = [[html.unescape(cell) for cell in re.findall(r"<t[hd]>(.*?)</t[hd]>", row)] for row in rows]
    return [[cell.replace("\u00a0", " ") for cell in row] for row in cells]


def table(app: AppTest, *begins: str) -> list[list[str]]:
    """The rows, without the head, of the table whose head begins with these texts."""
    found = [rows_of_table(e.proto.body) for e in app.get("html")]
    found += [
        [[cell.strip(" *") for cell in line.split("|")[1:-1]] for n, line in enumerate(e.value.splitlines()) if n != 1]
        for e in app.markdown
        if e.value.startswith("| ")
    ]
    (rows,) = (rows[1:] for rows in found if rows and tuple(rows[0][: len(begins)]) == begins)
    return rows


def column_chart(app: AppTest, alt: str) -> dict[str, list[float]]:
    """How high the columns of the chart whose alt text begins so are drawn, as shares of its height, by series."""
    (body,) = (
        e.proto.body
        for e in app.get("html")
        if e.proto.body.startswith('<figure class="tw-columns') and f'aria-label="{html.escape(alt)}' in e.proto.body
    )
    names = re.findall(r'<span class="s\d">(.*?)</span>', body)
    return {
        html.unescape(name): [float(to) for to in re.findall(rf'<i class="\w+ s{n}" style="[^"]*--to:([\d.]+)', body)]
        for n, name in enumerate(names)
    }


def elements(node: Any) -> Iterator[Any]:
    """A container or element and everything in it, in order."""
    yield node
    for child in getattr(node, "children", {}).values():
        yield from elements(child)


def size(text: str) -> float:
    """The number that `ui.text.magnitude` wrote as 0.123 or 1.2 · 10⁻⁷."""
    plain = text.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-"))
    return float(plain.replace(" · 10", "e"))
