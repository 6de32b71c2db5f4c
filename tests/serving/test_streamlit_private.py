"""What Streamlit does not promise to keep, and what the app loses if an upgrade takes it away."""

import ast
import asyncio
import inspect
import socket
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import streamlit as st
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state.query_params import QueryParams
from streamlit.web import bootstrap
from streamlit.web.server.starlette import starlette_server

from serving import streamlit_private as private
from tests.whole.test_imports import home, python_files

ROOT = Path(__file__).parents[2]
HOME = ROOT / "serving" / "streamlit_private.py"
PROMISED = {"streamlit", "streamlit.testing.v1"}  # modules that Streamlit documents
DRAWING = "no component is drawn: no matrix, no machine, no stage"
WARMING = "the first visit to a fresh server fails: /ready never says 200, and `make serve` starts no process"


def takes(function: Callable[..., object], *names: str) -> bool:
    """Whether a function can be called with these arguments, in this order."""
    return [name for name in inspect.signature(function).parameters if name in names] == list(names)


def manager_serves_folders() -> bool:
    manager = inspect.signature(private.get_bidi_component_manager).return_annotation
    kind = manager if inspect.isclass(manager) else type(private.get_bidi_component_manager())
    return takes(kind.register_from_manifest, "manifest", "package_root") and hasattr(kind, "get_component_asset_root")


def page_can_be_told_where_its_server_is() -> bool:
    code = "".join(path.read_text(encoding="utf-8") for path in (private.STATIC / "static" / "js").glob("index.*.js"))
    told = all(name in code for name in ("window.__streamlit", "BACKEND_BASE_URL", "HOST_CONFIG", "allowedOrigins"))
    return told and "<head>" in (private.STATIC / "index.html").read_text(encoding="utf-8")


def runtime_is_visited() -> bool:
    runtime = inspect.getmodule(private.get_instance).Runtime  # type: ignore[union-attr]
    visits = takes(runtime.connect_session, "client", "user_info") and takes(
        runtime.handle_backmsg, "session_id", "msg"
    )
    return visits and hasattr(runtime, "close_session") and takes(runtime.is_active_session, "session_id")


# By name: whether it is still what the app takes it for, and what breaks if not.
USED: dict[str, tuple[Callable[[], object], str]] = {
    "get_bidi_component_manager": (manager_serves_folders, DRAWING),
    "ComponentConfig": (lambda: takes(private.ComponentConfig, "name", "asset_dir"), DRAWING),
    "ComponentManifest": (lambda: takes(private.ComponentManifest, "name", "version", "components"), DRAWING),
    "exists": (lambda: private.exists() in (True, False), DRAWING + " for a browser that asks for its file too early"),
    "get_instance": (runtime_is_visited, WARMING),
    "get_script_run_ctx": (
        lambda: "session_id" in ScriptRunContext.__dataclass_fields__,
        "a training goes on for 20 seconds after its tab was closed",
    ),
    "restore_address": (
        lambda: (
            {"query_string", "is_history_navigation"} <= ScriptRunContext.__dataclass_fields__.keys()
            and callable(QueryParams.set_initial_query_params_from_current)
        ),
        "Back, and a teacher who brings a class, lose the head that the address names",
    ),
    "SessionClient": (lambda: private.SessionClient.__abstractmethods__ == {"write_forward_msg"}, WARMING),
    "BackMsg": (lambda: private.BackMsg().rerun_script.query_string == "", WARMING + "; the benchmarks' visitors"),
    "ForwardMsg": (
        lambda: "script_finished" in {one.name for one in private.ForwardMsg.DESCRIPTOR.oneofs_by_name["type"].fields},
        WARMING + "; the benchmarks' visitors",
    ),
    "Page": (lambda: isinstance(st.Page(lambda: None, title="x"), private.Page), "types of pages and their links"),
    "STATIC": (page_can_be_told_where_its_server_is, "the first picture of a visit comes a quarter of a second later"),
    "DeltaGenerator": (lambda: callable(private.DeltaGenerator.progress), "the type of a download's progress bar"),
}


@pytest.mark.parametrize("name", USED)
def test_what_an_upgrade_of_streamlit_would_break(name: str) -> None:
    still, what = USED[name]
    assert still(), f"Streamlit {st.__version__} has changed {name}: {what}"


def test_private_names_are_imported_in_one_file() -> None:
    assert set(USED) == set(private.__all__)
    found = {}
    for path in python_files():
        if home(path) == "tests" or path == HOME:
            continue
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        modules = {one.module or "" for one in nodes if isinstance(one, ast.ImportFrom)}
        modules |= {alias.name for one in nodes if isinstance(one, ast.Import) for alias in one.names}
        used = {name for name in modules if name.partition(".")[0] == "streamlit"} - PROMISED
        used |= {
            f"st.{one.attr}"
            for one in nodes
            if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == "st"
            if one.attr.startswith("_") or one.attr in ("runtime", "delta_generator", "web", "proto", "elements")
        }
        if used:
            found[path.relative_to(ROOT).as_posix()] = used
    assert found == {}


# Of other libraries, by name: what breaks. `_replace` and `_exit` are documented, `_read` is this project's own.
OTHERS = {
    "_apply": "a weight that torch replaces as its model moves stays the old one",
    "_version": "a weight that changed in place keeps its old 16-bit copy",
    "_is_avx512_bf16_supported": "training takes 32-bit numbers where 16-bit ones are twice as quick, or stops",
}


def test_no_other_private_attribute_is_used() -> None:
    import torch

    assert torch.zeros(1)._version == 0, OTHERS["_version"]
    assert callable(torch.nn.Module._apply), OTHERS["_apply"]
    assert torch.cpu._is_avx512_bf16_supported() in (True, False), OTHERS["_is_avx512_bf16_supported"]
    used = {
        one.attr
        for path in python_files()
        if home(path) != "tests"
        for one in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(one, ast.Attribute) and one.attr.startswith("_") and not one.attr.endswith("__")
        if not (isinstance(one.value, ast.Name) and one.value.id in ("self", "cls"))
    }
    assert used == {*OTHERS, "_replace", "_exit", "_read"}


@pytest.mark.skipif(sys.platform == "win32", reason="uvloop is not made for Windows")
def test_a_small_answer_is_sent_at_once() -> None:
    """asyncio's own loop holds it back, up to 40 ms, on a socket that was bound before: as Streamlit binds its own."""
    is_prompt: asyncio.Future[bool]

    class Told(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            sock = transport.get_extra_info("socket")
            is_prompt.set_result(bool(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))

    async def ask() -> bool:
        nonlocal is_prompt
        is_prompt = asyncio.get_running_loop().create_future()
        with starlette_server._bind_socket("127.0.0.1", 0, 1) as bound:
            server = await asyncio.get_running_loop().create_server(Told, sock=bound)
            _, writer = await asyncio.open_connection(*bound.getsockname())
            prompt = await is_prompt
            writer.close()
            server.close()
        return prompt

    def in_its_loop() -> bool:
        with asyncio.Runner(loop_factory=bootstrap._get_uvloop_loop_factory()) as loop:
            return loop.run(ask())

    # A test in the browser, before this one, leaves a loop running in its thread.
    with ThreadPoolExecutor(1) as elsewhere:
        assert elsewhere.submit(in_its_loop).result()
