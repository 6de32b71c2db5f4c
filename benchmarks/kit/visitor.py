"""A visitor without a browser: it speaks to the server as the page in the browser does, and reads every answer."""

import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html import unescape

from benchmarks.kit.wire import Wire, wire
from serving.streamlit_private import BackMsg, ForwardMsg


@dataclass
class Answer:
    """What came back for one sentence."""

    seconds: float = 0.0
    size_bytes: int = 0  # as it came, deflated
    translation: str = ""
    columns: list[str] = field(default_factory=list)  # of the large map
    error: str = ""

    def fault(self, sentence: str) -> str:
        """Why this is no right answer to the sentence, or ''."""
        pieces = "".join(self.columns)
        if self.error or not self.translation:
            return self.error or "no translation"
        if pieces and not (sentence.replace(" ", "") + "<eos>").startswith(pieces):
            return f"the map of another sentence: {pieces}"
        return "" if pieces else "no map"


class Visitor:
    """One session with one server."""

    def __init__(self, connection: Wire) -> None:
        self.connection = connection
        self.box = ""  # the id of the sentence box
        self._kept: set[str] = set()  # what a browser keeps of the last answer: it is not sent again

    async def open_page(self, page: str = "", query: str = "") -> Answer:
        """Args: page: the last part of its address; query: what follows the question mark"""
        message = BackMsg()
        message.rerun_script.page_name, message.rerun_script.query_string = page, query
        return await self._run(message)

    async def type(self, sentence: str) -> Answer:
        message = BackMsg()
        state = message.rerun_script.widget_states.widgets.add()
        state.id, state.string_value = self.box, sentence
        return await self._run(message)

    async def _run(self, message: BackMsg) -> Answer:
        answer, start, before = Answer(), time.perf_counter(), self.connection.n_bytes
        message.rerun_script.cached_message_hashes.extend(self._kept)
        self._kept = set()
        await self.connection.send(message.SerializeToString())
        while True:
            reply = ForwardMsg.FromString(await self.connection.recv())
            if reply.metadata.cacheable or reply.ref_hash:
                self._kept.add(reply.ref_hash or reply.hash)
            match reply.WhichOneof("type"):
                case "delta":
                    self._read(reply, answer)
                case "script_finished":
                    if reply.script_finished not in (
                        ForwardMsg.FINISHED_SUCCESSFULLY,
                        ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY,
                    ):
                        answer.error = ForwardMsg.ScriptFinishedStatus.Name(reply.script_finished)
                    answer.seconds = time.perf_counter() - start
                    answer.size_bytes = self.connection.n_bytes - before
                    return answer
                case _:
                    self._note(reply)

    def _note(self, reply: ForwardMsg) -> None:
        """Look at a message that is no part of the page."""

    def _read(self, reply: ForwardMsg, answer: Answer) -> None:
        element = reply.delta.new_element
        match element.WhichOneof("type"):
            case "text_input":
                self.box = element.text_input.id
            case "html":
                found = re.search(r'<p class="tw-translation"[^>]*>(.*?)</p>', element.html.body)
                if found:
                    answer.translation = unescape(re.sub("</?u[^>]*>", "", found[1]))
            case "bidi_component" if element.bidi_component.id.endswith("-map"):
                answer.columns = json.loads(element.bidi_component.json)["columns"]
            case "exception":
                answer.error = element.exception.message


@asynccontextmanager
async def visitor(stream: str, cookies: str = "") -> AsyncIterator[Visitor]:
    """A visitor whose first page has come. Args: cookies: what their browser would send, as in a `Cookie` header"""
    async with wire(stream, cookies) as connection:
        someone = Visitor(connection)
        answer = await someone.open_page()
        if answer.error or not someone.box:
            raise RuntimeError(f"The first page did not come: {answer}")
        yield someone
