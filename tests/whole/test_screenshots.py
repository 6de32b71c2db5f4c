"""The pictures of the README: one of every page, and the ride, small enough for a README."""

import re

import pytest
from PIL import Image

from screenshots.__main__ import FRAMES_A_SECOND, IMAGES, MAX_BYTES, PAGES, SECONDS, SIZE, main, save
from tests.pages.kit import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("slug", PAGES)
def test_every_page_has_its_picture_in_the_size_of_a_window(slug: str) -> None:
    with Image.open(IMAGES / f"{slug}.webp") as picture:
        assert picture.size == (SIZE["width"], SIZE["height"])
        assert len(picture.convert("L").resize((64, 36)).getcolors() or ()) > 8, "an empty picture"


def test_the_ride_is_whole_and_small_enough() -> None:
    file = IMAGES / "ride.webp"
    assert file.stat().st_size <= MAX_BYTES
    with Image.open(file) as picture:
        seconds = 0.0
        for n in range(getattr(picture, "n_frames", 1)):
            picture.seek(n)
            picture.load()
            seconds += picture.info["duration"] / 1000
    assert seconds == pytest.approx(SECONDS, abs=0.5)


def test_every_picture_is_shown_and_every_shown_one_is_there() -> None:
    shown = set(re.findall(r"\]\(assets/images/([\w-]+\.\w+)\)", README))
    assert shown == {file.name for file in IMAGES.iterdir()}


def test_a_ride_too_large_for_a_readme_is_refused(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("screenshots.__main__.MAX_BYTES", 100)
    frames = [Image.effect_noise((64, 64), 90).convert("RGB") for _ in range(2)]
    with pytest.raises(ValueError, match=r"^ride\.webp has [\d,]+ bytes; at most 100 are wanted$"):
        save(frames, tmp_path / "ride.webp")
    assert FRAMES_A_SECOND * SECONDS > 100


def test_no_picture_is_taken_of_a_page_that_is_not_there(monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("sys.argv", ["screenshots", "masking", "hom"])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "there is no page 'hom'" in capsys.readouterr().err
