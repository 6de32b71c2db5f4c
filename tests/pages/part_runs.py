"""AppTest runs the whole page, whatever was changed on it. A browser asks only for the fragment in which that was.

So do all tests that import this: they see what a visitor sees, sooner.
"""

from dataclasses import replace
from typing import Any

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner import ScriptRunnerEvent
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests
from streamlit.testing.v1 import AppTest, app_test
from streamlit.testing.v1.element_tree import ElementTree
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

_run_whole = AppTest._run


class PartRunner(LocalScriptRunner):
    """Runs a whole page, or the part of it that is set."""

    part: tuple[str, list[ForwardMsg]] | None = None  # a fragment's id, and the messages of which the page consists

    def request_rerun(self, rerun_data: RerunData) -> bool:
        if self.part:
            self._requests = ScriptRequests()  # forget the first request, which is for the whole page
            rerun_data = replace(rerun_data, fragment_id_queue=[self.part[0]])
        return super().request_rerun(rerun_data)

    def forward_msgs(self) -> list[ForwardMsg]:
        sent = super().forward_msgs()
        started = [
            data["fragment_ids_this_run"]
            for event, data in zip(self.events, self.event_data, strict=True)
            if event is ScriptRunnerEvent.SCRIPT_STARTED
        ]
        return in_place(self.part[1], sent, self.part[0]) if self.part and started[-1] else sent

    def run(self, *args: Any, **kwargs: Any) -> ElementTree:
        tree = super().run(*args, **kwargs)
        tree.messages = self.forward_msgs()  # type: ignore[attr-defined]
        return tree


def run(app: AppTest, widget_state: WidgetStates | None = None, timeout: float | None = None) -> AppTest:
    """As a browser does: if all that has changed since the last run is in one fragment, that alone."""
    known = vars(app).setdefault("known_states", {})
    widgets = widget_state.widgets if widget_state else []
    changed = [one.id for one in widgets if known.get(one.id) != state(one)]
    messages = getattr(app._tree, "messages", [])
    fragments = {fragment_of(id, messages) for id in changed}
    PartRunner.part = (fragments.pop(), messages) if len(fragments) == 1 and "" not in fragments else None
    try:
        _run_whole(app, widget_state, timeout)
    finally:
        PartRunner.part = None
    known.clear()
    known.update({one.id: state(one) for one in app._tree.get_widget_states().widgets})
    return app


def state(widget: Any) -> bytes:
    return bytes(widget.SerializeToString(deterministic=True))


def fragment_of(id: str, messages: list[ForwardMsg]) -> str:
    """The fragment, the innermost, in which a control stands; "" if it stands in none. An event names its component."""
    for message in messages:
        if message.HasField("delta") and message.delta.WhichOneof("type") == "new_element":
            element = message.delta.new_element
            own = getattr(getattr(element, element.WhichOneof("type")), "id", "")
            if own and own in id:
                return message.delta.fragment_id
    return ""


def in_place(page: list[ForwardMsg], part: list[ForwardMsg], fragment: str) -> list[ForwardMsg]:
    """The messages of a page, those of one of its fragments replaced by what a run of it sent."""
    deltas = [message for message in part if message.HasField("delta")]
    root = next(path(message) for message in deltas if message.delta.fragment_id == fragment)  # its container
    inside = [message.HasField("delta") and path(message)[: len(root)] == root for message in page]
    first = inside.index(True)
    rest = [message for message, is_inside in zip(page, inside, strict=True) if not is_inside]
    return [*rest[:first], *deltas, *rest[first:]]


def path(message: ForwardMsg) -> list[int]:
    return list(message.metadata.delta_path)


app_test.LocalScriptRunner = PartRunner  # type: ignore[attr-defined]
AppTest._run = run  # type: ignore[method-assign]
