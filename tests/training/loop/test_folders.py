"""A folder is replaced as a whole: wherever a kill falls, one complete folder is left."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from training.loop import folders
from training.loop.folders import complete_folder, replace_folder


class Killed(Exception):
    pass


def filled(folder: Path, content: str) -> Path:
    folder.mkdir()
    for name in ("a", "b"):
        (folder / name).write_text(content)
    return folder


def contents(folder: Path) -> set[str]:
    return {(folder / name).read_text() for name in ("a", "b")}


def test_the_new_content_takes_the_place_of_the_old(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    for content in ("first", "second"):
        replace_folder(filled(tmp_path / "fresh", content), folder)
        assert contents(folder) == {content}
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("start", ["folder", "old alone", "both"])
@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_a_kill_at_any_moment_leaves_a_complete_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str, after: int
) -> None:
    """`after`: how many changes on the disk are made before the kill. An earlier kill may have left the start so."""
    folder = tmp_path / "state"
    if start != "old alone":
        filled(folder, "former")
    if start != "folder":
        filled(tmp_path / "state.old", "former" if start == "old alone" else "older")
    fresh = filled(tmp_path / "fresh", "new")

    done = 0

    def counted(change: Callable[..., object]) -> Callable[..., object]:
        def wrapper(*args: object, **kwargs: object) -> object:
            nonlocal done
            if done == after:
                raise Killed
            done += 1
            return change(*args, **kwargs)

        return wrapper

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", counted(Path.rename))
        patch.setattr(folders.shutil, "rmtree", counted(shutil.rmtree))
        try:
            replace_folder(fresh, folder)
        except Killed:
            assert done == after
    kept = complete_folder(folder)
    assert kept is not None
    assert contents(kept) in ({"former"}, {"new"})


def test_which_folder_is_complete(tmp_path: Path) -> None:
    state, old = tmp_path / "state", tmp_path / "state.old"
    assert complete_folder(state) is None
    old.mkdir()
    assert complete_folder(state) == old
    state.mkdir()
    assert complete_folder(state) == state
