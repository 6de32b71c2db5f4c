"""Fetching from a stand-in for the Hugging Face Hub: what was shown comes whole, or one sentence says why not."""

import errno
import fcntl
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from huggingface_hub import snapshot_download

from hub import downloads
from hub.downloads import fetch, is_being_fetched, look_up
from hub.hugging_face import load
from hub.local_models import ModelError, Settings, folder_of, listed
from hub.reading import read
from tests.hub.small_models import make
from tests.hub.stand_in_hub import REVISION, Hub, Repository, asked_instead
from tests.pages.kit import ROOT, assert_sound, markdown, notices, opened, values

NAME = "some-group/bert-small"
SENTENCE = "The black cat fights the white cat."
WEIGHTS = "model.safetensors"
PAGE = ROOT / "pages" / "explore" / "any_model.py"
READ_HERE = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
UNREAD = {
    "pytorch_model.bin": b"cos\nsystem\n",
    "model.pt": b"pickle",
    "modeling.py": b"raise SystemExit",
    "README.md": b"# A model",
    "onnx/model.onnx": b"onnx",
    "onnx/config.json": b"{}",
    "consolidated.safetensors": b"the same weights once more",
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make("bert", tmp_path_factory.mktemp("original") / "bert")


@pytest.fixture
def hub(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    repository = Repository.of(original)
    repository.files |= UNREAD
    monkeypatch.setattr(downloads, "POLL_SECONDS", 0.005)
    with asked_instead(Hub({NAME: repository}), monkeypatch, tmp_path) as hub:
        yield hub


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "models", downloads=True, kept=1)


def names(root: Path) -> list[str]:
    """Every file under a folder."""
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if not path.is_dir())


def ignore(_: float) -> None:
    """Progress that nobody watches."""


def test_what_is_shown_is_what_comes(hub: Hub, settings: Settings, original: Path) -> None:
    offer = look_up(NAME, settings)
    assert names(settings.root.parent) == ["harnesses.json"] * (settings.root.parent / "harnesses.json").exists()
    assert offer.revision == REVISION
    progress: list[float] = []
    folder = fetch(offer, settings, progress.append)
    assert names(folder) == READ_HERE
    assert offer.size == sum(path.stat().st_size for path in folder.iterdir())
    assert progress == sorted(progress)
    assert progress[-1] == 1
    for name in READ_HERE:
        assert (folder / name).read_bytes() == (original / name).read_bytes()
    assert listed(settings.root) == [NAME]
    ours, theirs = (
        read(load(name, Settings(root, False, 1)), SENTENCE)
        for name, root in ((NAME, settings.root), ("bert", original.parent))
    )
    assert np.array_equal(ours.maps[0].weights, theirs.maps[0].weights)


def test_it_is_what_the_library_itself_fetches(hub: Hub, settings: Settings, tmp_path: Path) -> None:
    folder = fetch(look_up(NAME, settings), settings, ignore)
    theirs = Path(snapshot_download(NAME, cache_dir=tmp_path / "cache", allow_patterns=READ_HERE, max_workers=1))
    assert names(theirs) == names(folder)
    for name in READ_HERE:
        assert (theirs / name).read_bytes() == (folder / name).read_bytes()


def test_no_token_of_the_operator_is_sent(hub: Hub, settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hf_secret")
    fetch(look_up(NAME, settings), settings, ignore)
    assert len(hub.headers) > len(READ_HERE)
    assert all("authorization" not in headers for headers in hub.headers)


def test_with_downloads_off_nothing_is_asked(hub: Hub, settings: Settings) -> None:
    with pytest.raises(ModelError, match="switched off"):
        look_up(NAME, replace(settings, downloads=False))
    assert hub.asked == []


@pytest.mark.parametrize("name", ["../x", "/etc", "a/b/c", "a--b", "x.git", "https://example.org/x"])
def test_what_is_no_name_is_never_asked_for(name: str, hub: Hub, settings: Settings) -> None:
    with pytest.raises(ModelError, match="name"):
        look_up(name, settings)
    assert hub.asked == []


def test_a_folder_that_leads_out_of_the_root_gets_nothing(hub: Hub, settings: Settings, tmp_path: Path) -> None:
    settings.root.mkdir()
    (tmp_path / "outside").mkdir()
    (settings.root / "some-group").symlink_to(tmp_path / "outside")
    with pytest.raises(ModelError, match="outside"):
        look_up(NAME, settings)
    assert hub.asked == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"gated": "manual"}, "sign in"),
        ({"files": {"config.json": b"{}", "pytorch_model.bin": b"x"}}, "no safetensors"),
        ({"files": {WEIGHTS: b"x"}}, "no config.json"),
        ({"more": {"config": {"model_type": "vit"}}}, "not a language model"),
        ({"more": {"safetensors": {"parameters": {"BF16": 10**12}, "total": 10**12}}}, "4000.0 GB of memory"),
    ],
)
def test_what_could_not_be_opened_is_not_offered(
    change: dict[str, object], says: str, hub: Hub, settings: Settings
) -> None:
    hub.repositories[NAME] = replace(hub.repositories[NAME], **change)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=re.escape(says)):
        look_up(NAME, settings)
    assert not settings.root.exists()


def test_a_model_that_does_not_exist(hub: Hub, settings: Settings) -> None:
    with pytest.raises(ModelError, match="has no model 'some-group/other'"):
        look_up("some-group/other", settings)


def test_a_hub_in_trouble_and_no_internet(hub: Hub, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.status = 503
    with pytest.raises(ModelError, match="answered with error 503"):
        look_up(NAME, settings)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelError, match="is there internet"):
        look_up(NAME, settings)


def test_a_disk_without_room(hub: Hub, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    offer = look_up(NAME, settings)
    usage = shutil.disk_usage(settings.root.parent)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=downloads.SPARE_BYTES + offer.size - 1))
    for ask in (lambda: look_up(NAME, settings), lambda: fetch(offer, settings, ignore)):
        with pytest.raises(ModelError, match="to spare"):
            ask()
    assert not settings.root.exists()


def test_the_memory_of_models_that_can_leave_counts_as_free(
    hub: Hub, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = sum(file.size for file in look_up(NAME, settings).files if file.name == WEIGHTS)
    monkeypatch.setattr(downloads, "free_memory", lambda: needed - 100)
    with pytest.raises(ModelError, match="of memory and"):
        look_up(NAME, settings, freeable=99)
    look_up(NAME, settings, freeable=100)


def test_of_another_download_only_what_is_still_to_come_needs_room(
    hub: Hub, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    size, usage = look_up(NAME, settings).size, shutil.disk_usage(settings.root.parent)
    other = SimpleNamespace(offer=SimpleNamespace(size=1000), arrived=400)
    monkeypatch.setitem(downloads._running, settings.root / "another", other)  # type: ignore[misc]
    for spare, fits in ((600, True), (599, False)):
        free = downloads.SPARE_BYTES + size + spare
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: usage._replace(free=free))
        with nullcontext() if fits else pytest.raises(ModelError, match="to spare"):
            look_up(NAME, settings)
    large = downloads.Offer(NAME, "main", (downloads.RemoteFile(WEIGHTS, free + 2 * 10**9, "0" * 40),))
    with pytest.raises(ModelError, match=r"takes [^0]\d*\.\d GB and the disk has 0\.0 GB"):
        fetch(large, settings, ignore)


def test_what_is_here_already_needs_no_room(hub: Hub, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    offer, usage = look_up(NAME, settings), shutil.disk_usage(settings.root.parent)
    hub.cut[WEIGHTS] = 50_000
    with pytest.raises(ModelError, match="connection broke"):
        fetch(offer, settings, ignore)
    hub.cut.clear()
    here = sum(path.stat().st_size for path in (settings.root / NAME).iterdir())
    for missing in (1, 0):
        free = downloads.SPARE_BYTES + offer.size - here - missing
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: usage._replace(free=free))
        with pytest.raises(ModelError, match="GB more and the disk") if missing else nullcontext():
            fetch(offer, settings, ignore)
    load(NAME, settings)


def test_a_download_that_cannot_begin_can_be_asked_for_again(
    hub: Hub, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more_threads(_: object) -> None:
        raise RuntimeError("can't start new thread")

    offer = look_up(NAME, settings)
    with monkeypatch.context() as patch:
        patch.setattr(downloads._Download, "start", no_more_threads)
        with pytest.raises(ModelError, match="too busy"):
            fetch(offer, settings, ignore)
    assert not is_being_fetched(NAME, settings)
    fetch(offer, settings, ignore)
    load(NAME, settings)


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EROFS, "may not write into its folder"),
        (errno.EACCES, "may not write into its folder"),
        (errno.ECONNRESET, "connection broke"),
    ],
)
def test_a_disk_that_fails_on_the_way(
    number: int, says: str, hub: Hub, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer = look_up(NAME, settings)

    def fail(*_: object) -> None:
        raise OSError(number, "It failed")

    monkeypatch.setattr(downloads, "_digest", fail)
    with pytest.raises(ModelError, match=says):
        fetch(offer, settings, ignore)


def test_what_another_process_is_fetching_is_waited_for(hub: Hub, settings: Settings) -> None:
    offer, folder = look_up(NAME, settings), settings.root / NAME
    folder.mkdir(parents=True)
    other = os.open(folder, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    visitor = threading.Thread(target=fetch, args=(offer, settings, ignore))
    visitor.start()
    time.sleep(0.3)
    assert not any("/resolve/" in asked for asked in hub.asked)
    os.close(other)
    visitor.join(60)
    load(NAME, settings)


def test_a_broken_connection_and_a_second_try(hub: Hub, settings: Settings) -> None:
    offer = look_up(NAME, settings)
    hub.cut[WEIGHTS] = 50_000
    with pytest.raises(
        ModelError, match=r"^The connection broke; try again, and the download goes on where it stopped\.$"
    ):
        fetch(offer, settings, ignore)
    assert folder_of(NAME, settings.root) is None  # no half a model: it is offered again
    assert listed(settings.root) == []
    hub.cut.clear()
    hub.asked.clear()
    hub.headers.clear()
    progress: list[float] = []
    load(fetch(offer, settings, progress.append).relative_to(settings.root).as_posix(), settings)
    assert hub.sent(WEIGHTS) == ["bytes=50000-"]
    assert names(settings.root / NAME) == READ_HERE
    assert progress[-1] == 1
    assert hub.sent("tokenizer.json") == []  # came before the weights


@pytest.mark.parametrize("missing", READ_HERE)
def test_a_model_that_is_half_there_is_not_opened(missing: str, hub: Hub, settings: Settings) -> None:
    hub.cut[missing] = 10
    with pytest.raises(ModelError, match="connection broke"):
        fetch(look_up(NAME, settings), settings, ignore)
    assert missing not in names(settings.root / NAME)
    assert "config.json" not in names(settings.root / NAME)
    assert listed(settings.root) == []
    with pytest.raises(ModelError, match=f"There is no model '{NAME}'"):
        load(NAME, settings)


def test_a_folder_that_has_become_a_link_gets_nothing(hub: Hub, settings: Settings, tmp_path: Path) -> None:
    offer = look_up(NAME, settings)
    settings.root.mkdir()
    (tmp_path / "outside").mkdir()
    (settings.root / "some-group").symlink_to(tmp_path / "outside")
    with pytest.raises(ModelError, match="outside"):
        fetch(offer, settings, ignore)
    assert names(tmp_path / "outside") == []
    assert not any("/resolve/" in asked for asked in hub.asked)


def test_a_server_without_ranges_sends_everything_again(hub: Hub, settings: Settings) -> None:
    offer = look_up(NAME, settings)
    hub.cut[WEIGHTS] = 50_000
    with pytest.raises(ModelError, match="connection broke"):
        fetch(offer, settings, ignore)
    hub.cut.clear()
    hub.ranges = False
    progress: list[float] = []
    load(NAME, replace(settings, root=fetch(offer, settings, progress.append).parents[1]))
    assert max(progress) == 1


@pytest.mark.parametrize("size", [10_000_000, 5, 113_000, None])
def test_a_file_that_is_not_what_was_promised(size: int | None, hub: Hub, settings: Settings) -> None:
    offer = look_up(NAME, settings)
    promised = next(file.size for file in offer.files if file.name == WEIGHTS)
    hub.instead[WEIGHTS] = bytes(promised if size is None else size)  # None: of the right size, but all zeros
    with pytest.raises(ModelError, match="is not the file that the Hugging Face Hub had promised"):
        fetch(offer, settings, ignore)
    assert WEIGHTS not in names(settings.root / NAME)
    assert not any(name.endswith(".part") for name in names(settings.root / NAME))
    hub.instead.clear()
    load(fetch(offer, settings, ignore).relative_to(settings.root).as_posix(), settings)


def test_a_file_without_end_is_not_taken_in(hub: Hub, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    offer = look_up(NAME, settings)
    hub.instead[WEIGHTS] = bytes(10_000_000)
    sizes: list[int] = []
    digest = downloads._digest

    def watched(path: Path, file: downloads.RemoteFile) -> str:
        sizes.append(path.stat().st_size)
        return digest(path, file)

    monkeypatch.setattr(downloads, "_digest", watched)
    with pytest.raises(ModelError, match="is not the file"):
        fetch(offer, settings, ignore)
    assert max(sizes) < 1_000_000


def test_a_file_that_is_refused(hub: Hub, settings: Settings) -> None:
    offer = look_up(NAME, settings)
    hub.repositories[NAME].gated = "auto"
    with pytest.raises(ModelError, match=r"refuses .* with error 401"):
        fetch(offer, settings, ignore)


HOSTILE = (
    "../../evil.json", "../evil.safetensors", "/evil.json", "C:\\evil.json", "..\\evil.json", "a/../../evil.json",
    ".hidden.json", "~/evil.json", "evil.json\x00.txt", "evil\n.json", "*.json", "%2e%2e%2fevil.json",
    "x" * 300 + ".json",
)  # fmt: skip


def test_hostile_names_of_files_lead_nowhere(hub: Hub, settings: Settings, tmp_path: Path) -> None:
    hub.repositories[NAME].files |= dict.fromkeys(HOSTILE, b"evil")
    folder = fetch(look_up(NAME, settings), settings, ignore)
    assert names(folder) == READ_HERE
    assert {path.name for path in tmp_path.iterdir()} <= {"models", "harnesses.json"}
    assert not any("evil" in asked for asked in hub.asked)


def test_two_visitors_fetch_the_same_model_once(hub: Hub, settings: Settings) -> None:
    offer = look_up(NAME, settings)
    hub.hold.clear()
    watched: list[list[float]] = [[], []]
    visitors = [threading.Thread(target=fetch, args=(offer, settings, seen.append)) for seen in watched]
    for visitor in visitors:
        visitor.start()
    deadline = time.monotonic() + 60
    while not all(watched) and time.monotonic() < deadline:
        time.sleep(0.005)
    assert is_being_fetched(NAME, settings)
    hub.hold.set()
    for visitor in visitors:
        visitor.join(60)
    assert [seen[-1] for seen in watched] == [1, 1]
    assert all(len(hub.sent(name)) == 1 for name in READ_HERE)
    assert not is_being_fetched(NAME, settings)
    load(NAME, settings)


def test_of_two_models_at_once_one_may_fail(hub: Hub, settings: Settings) -> None:
    other = "another-group/bert"
    hub.repositories[other] = Repository(dict(hub.repositories[NAME].files))
    offers = [look_up(name, settings) for name in (NAME, other)]
    hub.hold.clear()
    with ThreadPoolExecutor(2) as pool:
        good, bad = (pool.submit(fetch, offer, settings, ignore) for offer in offers)
        deadline = time.monotonic() + 60
        while len(hub.sent("model.safetensors") + hub.sent("tokenizer.json")) < 2 and time.monotonic() < deadline:
            time.sleep(0.005)
        assert all(is_being_fetched(offer.name, settings) for offer in offers)
        hub.repositories[other].gated = "auto"
        hub.hold.set()
        good.result(60)
        with pytest.raises(ModelError, match=r"refuses .* with error 401"):
            bad.result(60)
    assert listed(settings.root) == [NAME]
    load(NAME, settings)


class LeftError(Exception):
    """As when Streamlit stops the script of a visitor who has gone."""


def test_a_visitor_who_leaves_does_not_stop_it(hub: Hub, settings: Settings) -> None:
    offer = look_up(NAME, settings)
    hub.hold.clear()

    def leave(_: float) -> None:
        raise LeftError

    with pytest.raises(LeftError):
        fetch(offer, settings, leave)
    assert is_being_fetched(NAME, settings)
    hub.hold.set()
    fetch(offer, settings, ignore)  # the visitor comes back and watches on
    assert all(len(hub.sent(name)) == 1 for name in READ_HERE)
    load(NAME, settings)


@pytest.fixture
def on_page(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("WALKTHROUGH_MODELS", str(settings.root))
    monkeypatch.setenv("WALKTHROUGH_DOWNLOADS", "yes")
    return Settings.of()


@pytest.mark.slow
def test_the_page_asks_shows_the_size_and_fetches_when_told(hub: Hub, on_page: Settings, original: Path) -> None:
    app = opened(PAGE, sentence=SENTENCE)
    assert hub.asked == []
    assert "You see how large it is" in markdown(app)
    app = opened(PAGE, sentence=SENTENCE, model=NAME, map="2.2")
    size = f"{sum((original / name).stat().st_size for name in READ_HERE) / 1e6:.1f} MB"
    assert any(size in notice for notice in notices(app))
    assert app.button(key="fetch").label == f"Fetch {size}"
    app.run()
    assert not on_page.root.exists()
    assert not any("/resolve/" in asked for asked in hub.asked)
    assert len([asked for asked in hub.asked if "/api/models/" in asked]) == 1  # once, not with every click
    app.button(key="fetch").click().run()
    assert_sound(app)
    maps = read(load("bert", Settings(original.parent, False, 1)), SENTENCE).maps[0]
    assert np.allclose(values(app, "map"), maps.weights[1, 1], atol=1e-6)
    assert "fetch" not in {button.key for button in app.button}


@pytest.mark.slow
def test_the_page_says_that_it_broke_off_and_goes_on(hub: Hub, on_page: Settings) -> None:
    hub.cut[WEIGHTS] = 50_000
    app = opened(PAGE, sentence=SENTENCE, model=NAME)
    app.button(key="fetch").click().run()
    assert_sound(app)
    (warning,) = app.warning
    assert "goes on where it stopped" in warning.value
    hub.cut.clear()
    app.button(key="fetch").click().run()
    assert_sound(app)
    assert len(app.warning) == 0
    assert values(app, "map").shape[0] > 5


def test_the_page_with_downloads_off(hub: Hub, on_page: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WALKTHROUGH_DOWNLOADS")
    app = opened(PAGE, sentence=SENTENCE, model=NAME)
    (warning,) = app.warning
    assert "switched off" in warning.value
    assert "fetch" not in {button.key for button in app.button}
    assert hub.asked == []
