"""The styles stand in the page itself, and nothing else that is served changes."""

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from serving.first_paint import STYLES, FirstPaint

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
    return TestClient(FirstPaint(Starlette(routes=routes)))


@pytest.mark.parametrize("encoding", ["gzip, br", "identity", ""])
def test_a_page_brings_its_styles_along_at_the_end_of_its_body(client: TestClient, encoding: str) -> None:
    answer = client.get("/masking", headers={**HTML, "accept-encoding": encoding})
    styles = STYLES.read_text(encoding="utf-8")
    assert answer.text == PAGE.replace("</body>", f"<style>{styles}</style></body>")
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
