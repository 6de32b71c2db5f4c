"""What a lesson costs: the lines, as `wc -l` counts them, of all Python that stands in the project for it alone.

    python -m tests.lesson_cost [SLUG …]

page: its file or folder · helpers: modules that nothing else imports, directly or through one another · claims: its
module of claims · oracle: the oracle's modules that only these import · tests: files named after it, or that import
its page, its helpers or its oracle and no other lesson's. Its approved text is data, printed apart.
"""

import ast
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = {"benchmarks", "screenshots", "deploy", "docs", "assets"}
COLUMNS = ("page", "helpers", "claims", "oracle", "tests", "all told", "approved text")
Files = frozenset[Path]


@cache
def imports() -> dict[Path, Files]:
    """The project's files that each of its Python files imports."""
    files = [
        file
        for file in ROOT.rglob("*.py")
        if not any(part.startswith(".") or part in LEFT_OUT for part in file.relative_to(ROOT).parts)
    ]
    by_name = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in files}
    return {file: frozenset(by_name[name] for name in imported(file) if name in by_name) - {file} for file in files}


@cache
def importers() -> dict[Path, Files]:
    """The files that import each."""
    return {one: frozenset(file for file, targets in imports().items() if one in targets) for one in imports()}


def imported(file: Path) -> Iterable[str]:
    """Names of modules that a file may mean; some are functions, which no file has as its name."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_test(file: Path) -> bool:
    return "tests" in file.relative_to(ROOT).parts


def alone(files: Files, inside: Files) -> Files:
    """Files (with what they alone import, of those inside) that stand for nothing else."""
    found = files
    while True:
        more = {
            target
            for file in found
            for target in imports()[file] & inside - found
            if importers()[target] & inside <= found
        }
        if not more:
            return found - files
        found |= more


def page_files(slug: str) -> Files:
    name = slug.replace("-", "_")
    return frozenset([*ROOT.glob(f"pages/*/{name}.py"), *ROOT.glob(f"pages/*/{name}/**/*.py")])


@cache
def files_of(slug: str) -> dict[str, Files]:
    """The files of a lesson, by column, but for its tests."""
    app = frozenset(file for file in imports() if not is_test(file))
    oracle = frozenset(file for file in imports() if file.is_relative_to(ROOT / "tests" / "oracle"))
    claims = frozenset(ROOT.glob(f"tests/oracle/pages/*/{slug.replace('-', '_')}.py"))
    page = page_files(slug)
    return {"page": page, "helpers": alone(page, app), "claims": claims, "oracle": alone(claims, oracle)}


def cost(slug: str, slugs: Iterable[str]) -> dict[str, int]:
    """The lines of a lesson, by column."""
    mine = files_of(slug)
    own = frozenset().union(*mine.values())
    others: set[Path] = set().union(*(files for one in slugs if one != slug for files in files_of(one).values()))
    tests = {
        file
        for file, targets in imports().items()
        if is_test(file) and file.name.startswith("test_")
        if file.stem == f"test_{slug.replace('-', '_')}" or (targets & own and not targets & others)
    }
    lines = {name: sum(map(n_lines, files)) for name, files in (mine | {"tests": frozenset(tests)}).items()}
    text = next(ROOT.glob(f"tests/approved/*/{slug}.txt"), None)
    return lines | {"all told": sum(lines.values()), "approved text": n_lines(text) if text else 0}


def n_lines(file: Path) -> int:
    return file.read_text(encoding="utf-8").count("\n")


def table(chosen: Iterable[str], slugs: Iterable[str]) -> list[str]:
    costs = {slug: cost(slug, slugs) for slug in chosen}
    mean = {name: round(sum(one[name] for one in costs.values()) / len(costs)) for name in COLUMNS}
    rows = sorted(costs.items(), key=lambda row: row[1]["all told"])
    head = f"{'':26}" + "".join(f"{name:>14}" for name in COLUMNS)
    return [
        head,
        *(f"{slug:26}" + "".join(f"{one[name]:14,}" for name in COLUMNS) for slug, one in [*rows, ("mean", mean)]),
    ]


if __name__ == "__main__":
    from tests.oracle.shown.course import COURSE

    every = [place.slug for place in COURSE]
    print("\n".join(table(sys.argv[1:] or every, every)))
