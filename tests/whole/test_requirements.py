"""What is installed is what the files say: every package pinned, each that is imported named."""

from importlib.metadata import distribution, distributions, packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.whole.test_imports import ALLOWED, FREE, home, imported, python_files

ROOT = Path(__file__).parents[2]
TOOLS = {"pip", "setuptools", "wheel"}  # that come with an environment


def lines(name: str) -> list[str]:
    """Requirements in a file, without comments and options."""
    texts = (line.partition("#")[0].strip() for line in (ROOT / name).read_text(encoding="utf-8").splitlines())
    return [text for text in texts if text and not text.startswith("-r")]


def pins(text: list[str]) -> dict[str, str]:
    """Versions, by name. Fails if one is not pinned to a single version."""
    found = {}
    for requirement in map(Requirement, text):
        (one,) = requirement.specifier
        assert one.operator == "==", requirement
        found[canonicalize_name(requirement.name)] = one.version
    return found


APP, DEV, PINNED = (lines(name) for name in ("requirements.txt", "requirements-dev.txt", "constraints.txt"))


def brought(requirements: list[str]) -> set[str]:
    """What these bring on this machine, with what that brings, and so on."""
    found: set[str] = set()
    left = [(Requirement(text), extra) for text in requirements for extra in {"", *Requirement(text).extras}]
    seen = set()
    while left:
        one, extra = left.pop()
        name = canonicalize_name(one.name)
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        found.add(name)
        for needed in map(Requirement, distribution(name).requires or ()):
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                left += [(needed, more) for more in {"", *needed.extras}]
    return found - TOOLS


def test_every_package_that_the_requirements_bring_is_pinned_and_no_other() -> None:
    assert (pins(APP) | pins(DEV)).items() <= pins(PINNED).items()
    split = (ROOT / "constraints.txt").read_text(encoding="utf-8").partition("\n# Training, tests and checks on top\n")
    assert set(pins(split[0].partition("# The app\n")[2].split())) == brought(APP)
    assert set(pins(PINNED)) == brought(APP) | brought(DEV)


def test_what_is_installed_is_what_is_pinned() -> None:
    installed = {canonicalize_name(one.name): one.version.partition("+")[0] for one in distributions()}
    assert {name: version for name, version in installed.items() if name not in TOOLS} == pins(PINNED)


def test_make_the_image_and_the_readme_install_by_the_pins() -> None:
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert make.count("-m pip install -r requirements.txt -c constraints.txt\n") == 1
    assert make.count("-m pip install -r requirements-dev.txt -c constraints.txt\n") == 1
    assert "COPY Makefile requirements.txt constraints.txt ./" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "pip install -r requirements.txt -c constraints.txt" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_what_the_app_imports_is_named_and_so_is_why() -> None:
    names = {name for path in python_files() if home(path) not in FREE for name in imported(path.read_text("utf-8"))}
    whose = packages_distributions()
    theirs = {canonicalize_name(whose[name][0]) for name in names - ALLOWED.keys() if name in whose}
    assert {"starlette", "pillow", "torch"} <= theirs
    assert theirs - pins(APP).keys() - pins(DEV).keys() == set()
    for name in ("requirements.txt", "requirements-dev.txt"):
        text = (ROOT / name).read_text(encoding="utf-8").splitlines()
        assert [line for line in text if "==" in line and "  # " not in line] == []
