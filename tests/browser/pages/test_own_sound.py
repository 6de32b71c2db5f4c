"""A sound of one's own: recorded, chosen, refused; what is drawn of it, and what is then heard."""

import io
import re
import wave
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from experiments.sounds.listening import heard, said, says
from model.files.load_sounds import load_strips, samples
from tests.browser.conftest import CHROMIUM, FLAGS, WATCH
from tests.browser.kit import axe_faults, box_of, settled
from tests.pages.test_own_sound import recording

pytestmark = pytest.mark.browser

ANSWER = ".scene .answer"


def opened(page: Page, url: str, query: str = "") -> Page:
    page.goto(f"{url}/sound-in-strips{query}")
    expect(page.locator(ANSWER)).to_contain_text("Equal neighbours fall together")
    return settled(page)


def spoken(*digits: int, rate: int = 8000, channels: int = 1) -> bytes:
    """Digits by one voice, as a file that holds each sample several times over for a higher rate."""
    pause = np.zeros(960)
    sound = np.concatenate([pause, *(part for digit in digits for part in (samples()[0][digit], pause))])
    whole = np.repeat((32767 * sound).astype("<i2"), rate // 8000 * channels)
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(whole.tobytes())
    return written.getvalue()


def choose(page: Page, content: bytes, name: str = "mine.wav") -> None:
    page.locator("[data-testid=stFileUploader] input").set_input_files(
        {"name": name, "mimeType": "audio/wav", "buffer": content}
    )


def test_strips_fall_together_as_they_are_read_out(page: Page, url: str) -> None:
    opened(page, url)
    expect(page.locator(ANSWER)).to_contain_text("1 3 3. That is right.")
    cards = page.locator(".scene .card")
    expect(cards).to_have_count(3)
    assert page.locator(".scene .word.strong").all_text_contents()[:3] == ["1", "3", "3"]
    # Over the sound stands a frame for each, as wide as the strips that say it; its card below, in their middle.
    picture = page.locator(".scene svg").first
    bars, windows, below = (
        [[box_of(one)[side] for side in ("x", "width")] for one in picture.locator(kind).all()]
        for kind in (".fill", ".window", ".card")
    )
    groups: list[list[float]] = []
    for x, wide in bars:
        if groups and x - groups[-1][1] < 3:  # beside the one before
            groups[-1][1] = x + wide
        else:
            groups.append([x, x + wide])
    assert [[x, x + wide] for x, wide in windows] == pytest.approx(np.array(groups), abs=3)
    middles = [x + wide / 2 for x, wide in below]
    assert middles == pytest.approx([sum(group) / 2 for group in groups], abs=2)
    shown = page.locator(".scene image").evaluate(
        """async (image) => {
            const picture = new Image();
            picture.src = image.getAttribute("href");
            await picture.decode();
            const canvas = new OffscreenCanvas(picture.width, picture.height);
            const context = canvas.getContext("2d");
            context.drawImage(picture, 0, 0);
            const { data } = context.getImageData(0, 0, picture.width, picture.height);
            const inked = [...data].filter((one, n) => n % 4 === 3);
            return { wide: picture.width, high: picture.height, inked };
        }"""
    )
    read = heard(load_strips(), said((1, 3, 3), 0))
    spectrogram, spoken = read.tensors["spectrogram"], says(read)
    assert (shown["high"], shown["wide"]) == spectrogram.shape
    inked = np.array(shown["inked"]).reshape(spectrogram.shape) / 255
    assert np.abs(inked - spectrogram[::-1]).max() < 0.02  # low pitches below
    sure = [float(strip.max()) for strip in spoken if strip.argmax()]
    assert [box_of(one)["height"] for one in picture.locator(".fill").all()] == pytest.approx(
        [6 + 24 * one for one in sure], abs=0.2
    )
    slider = page.get_by_role("slider", name="Strips read out")
    slider.press("Home")
    expect(page.locator(ANSWER)).to_contain_text("All are read at once")
    expect(cards).to_have_count(0)
    slider.press("ArrowRight")
    expect(page.locator(ANSWER)).to_contain_text(re.compile(r"^4 of 32 strips\. So far they come to 1\."))
    wide = float(picture.locator("image").get_attribute("width") or 0)
    expect(picture.locator(".upto")).to_have_attribute("d", re.compile(rf"^M{wide * 4 / 32:g} "))  # it has come there
    visible = [one for one in picture.locator(".fill, .room").all() if float(one.evaluate("e => e.style.opacity"))]
    assert len(visible) == 4
    assert axe_faults(page, ".stMain") == []


def test_a_strip_is_rewritten_by_a_click(page: Page, url: str) -> None:
    opened(page, url, "?try=Rewrite+a+strip")
    page.locator(".st-key-do_matrix tbody tr").nth(4).locator("td").nth(5).click()
    expect(page.get_by_text(re.compile(r"^Strip 6 says 3, not 1\."))).to_be_visible()


def test_the_voice_says_what_one_types(page: Page, url: str) -> None:
    opened(page, url)
    box = page.get_by_label("Digits, up to 5")
    box.fill("40")
    box.press("Enter")
    expect(page.locator(ANSWER)).to_contain_text(re.compile(r": 4 0\."))
    assert page.locator(".scene .word.strong").all_text_contents()[:2] == ["4", "0"]
    expect(page.locator("audio")).to_have_attribute("src", re.compile(r"\.wav$"))


@pytest.mark.parametrize(("rate", "channels"), [(8000, 1), (96_000, 2)])
def test_a_file_is_heard(page: Page, url: str, rate: int, channels: int) -> None:
    opened(page, url, "?sound=a+file")
    expect(page.locator("[data-testid=stFileUploader] input")).to_have_attribute("accept", re.compile(r"^[^.]*\.wav$"))
    choose(page, spoken(9, 1, rate=rate, channels=channels))
    expect(page.locator(ANSWER)).to_contain_text(re.compile(r": 9 1\.$"))  # what was said nobody has told
    assert "9" not in page.url.partition("?")[2]
    page.locator("[data-testid=stFileChipDeleteBtn] button").click()
    expect(page.locator(ANSWER)).to_contain_text("1 3 3. That is right.")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(200), "This is no WAV file of whole numbers (PCM), the usual kind."),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>pwned=1</script></svg>", "This is no WAV file"),
        (recording(0), "The recording holds no sound."),
        (recording(2, loud=0), "The recording holds only silence."),
        (recording(60), "Your sound is 60.0 seconds long. Its first 5 are heard."),
        (bytes(3_000_000), "File must be"),
    ],
    ids=["a picture", "a script", "no time", "silence", "a minute", "too large"],
)
def test_what_cannot_be_heard_is_said_in_a_sentence(page: Page, url: str, content: bytes, says: str) -> None:
    opened(page, url, "?sound=a+file")
    choose(page, content)
    expect(page.locator(".stMain")).to_contain_text(says)
    settled(page)
    expect(page.locator(ANSWER)).to_contain_text("Equal neighbours fall together")
    assert page.evaluate("() => window.pwned") is None
    expect(page.locator(".stException")).to_have_count(0)


@pytest.fixture
def with_microphone(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Pages of browsers whose microphone beeps, where it is allowed."""
    started = []

    def make(allowed: bool) -> Page:
        options = ["--use-fake-device-for-media-stream", *(["--use-fake-ui-for-media-stream"] if allowed else [])]
        own = browser.browser_type.launch(executable_path=CHROMIUM, args=[*FLAGS, *options])
        started.append(own)
        page = own.new_page()
        page.add_init_script(path=WATCH)
        return page

    yield make
    for one in started:
        one.close()


def test_what_one_says_is_recorded_and_heard(with_microphone: Callable[..., Page], url: str) -> None:
    page = opened(with_microphone(True), url, "?sound=your+voice")
    expect(page.get_by_text("Your sound stays in the server’s memory until you leave.")).to_be_visible()
    page.get_by_role("button", name="Record").click()
    stop = page.get_by_role("button", name="Stop recording")
    expect(stop).to_be_visible()
    page.wait_for_timeout(1500)
    stop.click()
    expect(page.get_by_text("Until there is one, what a voice says is shown.")).to_have_count(0)
    expect(page.locator(ANSWER)).not_to_contain_text("That is right")
    # It goes along to the lesson that cuts all inputs.
    page.get_by_role("link", name="What is a token?").first.click()
    expect(page.locator(".scene")).to_contain_text("Your sound")


def test_a_microphone_that_is_refused_is_said(with_microphone: Callable[..., Page], url: str) -> None:
    page = opened(with_microphone(False), url, "?sound=your+voice")
    button = page.get_by_role("button", name="Record")
    if button.is_enabled():
        button.click()
    expect(page.locator("[data-testid=stAudioInput]")).to_contain_text("An error has occurred")
    expect(page.get_by_text("allow this page the microphone")).to_be_visible()
    expect(page.locator(ANSWER)).to_contain_text("1 3 3. That is right.")
