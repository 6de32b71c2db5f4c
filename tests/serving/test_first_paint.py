"""The styles stand in the page itself with what leads to its first picture; nothing else that is served changes."""

import re

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from serving.first_paint import CONNECTION, STYLES, FirstPaint, modules
from serving.streamlit_private import STATIC

PAGE = "<html><head></head><body><div id=root></div></body></html>"
HTML = {"accept": "text/html,*/*"}


async def page(_: object) -> HTMLResponse:
    return HTMLResponse(PAGE, headers={"etag": '"1"', "last-modified": "Tue, 24 Nov 2026 05:44:15 GMT"})


async def script(_: object) -> StreamingResponse:
    return StreamingResponse(iter(["let a;", "let b;"]), media_type="text/javascript")


async def missing(_: object) -> PlainTextResponse:
    return PlainTextResponse("</body> is not here", 404)


@pytest.fixture
def client() -> TestClient:
    routes = [Route("/masking", page), Route("/a.js", script), Route("/none", missing)]
    return TestClient(FirstPaint(Starlette(routes=routes), code_of={"masking": ["code/of.js"]}.get))


@pytest.mark.parametrize("encoding", ["gzip, br", "identity", ""])
def test_a_page_brings_its_styles_along_at_the_end_of_its_body(client: TestClient, encoding: str) -> None:
    answer = client.get("/masking", headers={**HTML, "accept-encoding": encoding})
    files = [*(f"static/js/{file}" for file in modules()), "code/of.js"]
    late = f"<style>{STYLES.read_text(encoding='utf-8')}</style>"
    late += "".join(f'<link rel="modulepreload" crossorigin href="./{file}">' for file in files)
    dressed = PAGE.replace("<head>", f"<head>{CONNECTION.decode()}").replace("</body>", f"{late}</body>")
    assert answer.text == dressed
    assert answer.headers.get("content-encoding") == ("gzip" if "gzip" in encoding else None)
    assert "etag" not in answer.headers
    assert "last-modified" not in answer.headers
    assert "Accept-Encoding" in answer.headers["vary"]


def test_a_browser_that_kept_a_page_gets_it_anew(client: TestClient) -> None:
    assert client.get("/masking", headers={**HTML, "if-none-match": '"1"'}).status_code == 200


def test_nothing_else_is_touched(client: TestClient) -> None:
    assert client.get("/a.js", headers=HTML).text == "let a;let b;"
    answer = client.get("/none", headers=HTML)
    assert (answer.status_code, answer.text) == (404, "</body> is not here")
    assert client.get("/masking", headers={"accept": "*/*"}).text == PAGE


def test_code_is_asked_for_early_with_all_that_it_imports() -> None:
    page, folder = (STATIC / "index.html").read_text(encoding="utf-8"), STATIC / "static" / "js"
    early = modules()
    assert [file for file in early if file.startswith("BidiComponent.")]
    for file in early:
        needed = re.findall(r"\./([\w.-]+\.js)", (folder / file).read_text(encoding="utf-8"))
        assert not [one for one in needed if one not in page and one not in early], file
    assert len(set(early)) == len(early)
    assert modules("Gone") == []
