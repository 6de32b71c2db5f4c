"""Files and folders that a kill cannot leave half written."""

import shutil
from pathlib import Path


def old_name(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.old")


def replace_folder(fresh: Path, folder: Path) -> None:
    """Put the complete folder `fresh` in the place of `folder`. A kill at any moment leaves one of the two complete.

    Between the two renames the former content lies in the folder's `.old`; `complete_folder` finds it there.
    """
    old = old_name(folder)
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        folder.rename(old)
    fresh.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def complete_folder(folder: Path) -> Path | None:
    """The folder, or its former content if a kill came between the two renames, or None."""
    return next((path for path in (folder, old_name(folder)) if path.exists()), None)


def write_whole(path: Path, text: str) -> None:
    """Write a text file. A kill at any moment leaves it as it was, or whole."""
    unfinished = path.with_suffix(".new")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
