"""Whether the sheet that one draws on keeps up with a finger on a phone: the frames of ten strokes.

Chromium plays the phone: its screen, its touches, and a processor that it slows down four times.
"""

from statistics import median

from playwright.sync_api import CDPSession, FloatRect, Page

from benchmarks.kit.report import Figure, percentile, report
from benchmarks.kit.serving import chromium, serve
from benchmarks.kit.stopwatch import PATIENCE_MS

LESSON = "a-picture-as-words"
SHEET = ".drawing canvas"
SLOWED, STROKES, POINTS = 4, 10, 60
FRAME_BAR_MS, SLOW_FRAME_BAR_MS = 17, 33
# The length of each frame from the first touch to the last.
FRAMES = """() => {
    globalThis.frames = [];
    let last;
    const look = (now) => {
        if (last !== undefined) frames.push(now - last);
        last = now;
        if (globalThis.drawing) requestAnimationFrame(look);
    };
    globalThis.drawing = true;
    requestAnimationFrame(look);
}"""


def stroke(finger: CDPSession, sheet: FloatRect, nth: int) -> None:
    """From one side of the sheet to the other, in waves."""

    def at(n: int) -> dict[str, float]:
        high = (nth + 1 + (n % 10) / 10) / (STROKES + 2)
        return {"x": sheet["x"] + sheet["width"] * (0.1 + 0.8 * n / POINTS), "y": sheet["y"] + sheet["height"] * high}

    for n in range(POINTS):
        kind = "touchMove" if n else "touchStart"
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [at(n)]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def frames_of(page: Page) -> list[float]:
    sheet = page.locator(SHEET)
    sheet.scroll_into_view_if_needed()
    box = sheet.bounding_box()
    assert box
    finger = page.context.new_cdp_session(page)
    finger.send("Emulation.setCPUThrottlingRate", {"rate": SLOWED})
    page.evaluate(FRAMES)
    for nth in range(STROKES):
        stroke(finger, box, nth)
    return list(page.evaluate("() => { drawing = false; return frames; }"))


def measure() -> list[Figure]:
    with serve() as app, chromium() as browser:
        phone = browser.new_context(viewport={"width": 390, "height": 844}, device_scale_factor=3, has_touch=True)
        page = phone.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"{app.url}/{LESSON}")
        page.locator(".st-key-way_on").wait_for()
        return figures(frames_of(page))


def figures(frames: list[float]) -> list[Figure]:
    """Args: frames: milliseconds"""
    return [
        Figure("sheet: frame while one draws on a phone, median", median(frames), "ms", FRAME_BAR_MS),
        Figure("sheet: frame, 95th percentile", percentile(frames, 95), "ms", SLOW_FRAME_BAR_MS),
        Figure("sheet: frames", len(frames), ""),
    ]


if __name__ == "__main__":
    report(measure())
