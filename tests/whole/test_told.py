"""What README.md, docs/ and CONTRIBUTING.md tell: figures that stand elsewhere too, commands, files and settings."""

import argparse
import ast
import contextlib
import io
import json
import re
import runpy
import shlex
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.whole.test_imports import home, python_files

ROOT = Path(__file__).parents[2]
TOLD = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@cache
def text(place: str) -> str:
    """A file in one line, so that a figure is found wherever a line ends."""
    return " ".join((ROOT / place).read_text(encoding="utf-8").split())


def constant(place: str, name: str) -> Any:
    """What a module assigns to a name at its top, read without running it."""
    for node in ast.parse((ROOT / place).read_text(encoding="utf-8")).body:
        names = re.findall(r"\w+", ast.unparse(node.targets[0])) if isinstance(node, ast.Assign) else []
        if name in names:
            value = ast.literal_eval(node.value)  # type: ignore[attr-defined]
            return value if len(names) == 1 else value[names.index(name)]
    raise AssertionError(f"{place} has no {name}")


# --- figures ----------------------------------------------------------------------------------------------------------

README, CLASSROOM, DEPARTMENT, MULTI30K = "README.md", "docs/classroom.md", "docs/department.md", "docs/multi30k.md"
NGINX, SERVING = "serving/nginx.conf", "serving/__main__.py"
WORDS = "none one two three four five six seven eight nine ten".split()

# A figure: each place that tells it, by a pattern whose group is the figure, or by a constant and how it is written.
# "{}" stands for a number where a pattern has it; what is told is compared without its commas.
FIGURES: dict[str, tuple[tuple[str, ...], ...]] = {
    "requests a second": ((CLASSROOM, r"requests \| {} a second"), ("serving/proxy.py", r'"VISITOR_REQUESTS": {},')),
    "requests at once": ((CLASSROOM, r"requests \|[^|]*, {} at once"), ("serving/proxy.py", r'"VISITOR_BURST": {},')),
    "messages a second": ((CLASSROOM, r"messages of open pages \| {} a"), ("serving/visitor_limits.py", "MESSAGES_A_SECOND", "{:.0f}")),
    "messages at once": ((CLASSROOM, r"messages of open pages[^|]*\|[^|]*, {} at"), ("serving/visitor_limits.py", "MESSAGES_AT_ONCE", "{:.0f}")),
    "tabs": ((CLASSROOM, r"open tabs \| {} in a process \| the ninth"), ("serving/__init__.py", "MOST_PAGES", "{}")),
    "long work of one visitor": ((CLASSROOM, r"such as a training \| 1 at a time, {} in line \| the fourth"), ("serving/work_queue.py", "MOST", "{}")),
    "port": ((README, r"class on http://localhost:{}"), (CLASSROOM, r"served on http://localhost:{}`"), (DEPARTMENT, r"`PORT`, {} if unset"),
             (CLASSROOM, r"ufw allow {}/tcp"), (CLASSROOM, r"http://192.168.1.20:{}`"), (DEPARTMENT, r"before port {},"),
             (DEPARTMENT, r"# http://localhost:{}"), (SERVING, r'"--port", type=int, default={}\)'), ("compose.yaml", r"PORT:-{}}}:\d+"),
             ("compose.yaml", r"PORT:-\d+}}:{}"), ("Makefile", r"on port {} \(PORT=")),
    "processes in containers": ((DEPARTMENT, r"`REPLICAS`, {} if unset"), ("compose.yaml", r"PROCESSES: \${{REPLICAS:-{}}}"), ("compose.yaml", r"replicas: \${{REPLICAS:-{}}}")),
    "days that a class is kept": ((README, r"after {} days it goes"), (CLASSROOM, r"goes after {} days"), ("classroom/classes.py", "KEPT_DAYS", "{}")),
    "processes": ((README, r"`make serve` sets it; {} if unset"), ("experiments/attention/ablation.py", r'PROCESSES"\) or {}\)')),
    "Linux": ((README, r"It needs Linux {} or later"), (DEPARTMENT, r"node with Linux {} or later"), ("processes/sandbox.py", r"Landlock \(Linux {} and later")),
    "models in memory": ((README, r"stay in memory; {} if unset"), ("hub/local_models.py", r"at most; {} if unset"),
                         ("hub/local_models.py", r"isdigit\(\) else {},")),
    "paper's BLEU": ((README, r"in the paper {}\."), (MULTI30K, r"Transformer-Tiny in the paper \| [^|]*\| {} ")),
    "our BLEU": ((README, r"multi30k-tiny`: {} BLEU"), (MULTI30K, r"training with seed 1 \|[^|]*\| {} "), (MULTI30K, r"as above \|(?:[^|]*\|){{5}} {} ")),
    "BLEU with sines and cosines": ((MULTI30K, r"as in 2017 \|[^|]*\| {} "), (MULTI30K, r"norm before, sines and cosines \|(?:[^|]*\|){{5}} {} ")),
    "paper's parameters": ((README, r"Wu et al. 2021 \({} million"), (MULTI30K, r"in the paper \| {} million")),
    "our parameters": ((MULTI30K, r"with seed 1 \| {} "), (MULTI30K, r"as in 2017 \| {} "), ("tests/model/test_build.py", r'\["multi30k-tiny"\]\)\.parameters\(\)\) == {}')),
    "steps of the recipe": ((MULTI30K, r"as above \| [\d,]+ of {} \|"), (MULTI30K, r"given {} at step"), (MULTI30K, r"`training/loop/recipe.py`: {} steps"),
                            ("training/loop/recipe.py", r'"multi30k-tiny": Recipe\( steps={},')),
    "step that was kept": ((MULTI30K, r"lowest was that of step {},"), (MULTI30K, r"as above \| {} of")),
    "lowest loss": ((MULTI30K, r"\| 11,000 \| {} \|"), (MULTI30K, r"\| 12,000 \| {} \|"), (MULTI30K, r"as above \|(?:[^|]*\|){{3}} {} \|")),
    "loss at 4,000": ((MULTI30K, r"4,000 \| {} \| [\d.]+ \| \| 11,000"), (MULTI30K, r"left out with probability 0.1 \| 4,000 \| [\d.]+ \| {} ")),
    "loss at 5,000": ((MULTI30K, r"5,000 \| {} \| [\d.]+ \| \| 12,000"), (MULTI30K, r"instead of 0.3 \| 5,000 \| [\d.]+ \| {} ")),
    "loss of sines and cosines": ((MULTI30K, r"\| 12,000 \| [\d.]+ \| {} \|"), (MULTI30K, r"before, sines and cosines \|(?:[^|]*\|){{3}} {} ")),
    "BLEU of rotated positions": ((MULTI30K, r"comparison of parts \({} BLEU"), ("assets/models/positions-rotary/metrics.json", r'"bleu": {},')),
    "visitors typing at once": ((README, r"\| {} visitors typing"), ("benchmarks/load.py", "VISITORS", "{}")),
    "their longest wait": ((README, r"visitors typing[^|]*; bar {} s \|"), ("benchmarks/load.py", "P95_BAR_SECONDS", "{:.0f}"),
                           (README, r"as `make serve` serves[^|]*bars 0, {} s")),
    "visitors of a class": ((README, r"\| {} visitors for 15"), ("benchmarks/classroom.py", "VISITORS", "{}")),
    "memory of each": ((README, r"`make serve` serves[^|]*bars 0, 1 s, {} MB"), ("benchmarks/classroom.py", "VISITOR_BAR_MB", "{}")),
    "growth of memory": ((README, r"five before; bar {} \|"), ("benchmarks/classroom.py", "GROWTH_BAR", "{}")),
    "learners who answer": ((README, r"\| {} learners answer"), ("benchmarks/poll.py", "LEARNERS", "{}")),
    "seconds in which they do": ((README, r"answer one question within {} s"), ("benchmarks/poll.py", "SECONDS", "{:.0f}")),
    "bar of their wait": ((README, r"one question[^|]*bars 0, {} s, "), ("benchmarks/poll.py", "WAIT_BAR_SECONDS", "{:.0f}")),
    "bar of the teacher's count": ((README, r"one question[^|]*bars 0, \d+ s, {} s"), ("benchmarks/poll.py", "BEHIND_BAR_SECONDS", "{:.0f}")),
    "learners who train": ((README, r"\| (ten) learners train"), ("benchmarks/workers/training.py", "LEARNERS", "word")),
    "sentences of the memory": ((README, r"after 100 and after {} sentences"), ("benchmarks/memory.py", "MANY", "{}")),
    "memory with every model": ((README, r"every model used; bar {} MB"), ("benchmarks/memory.py", "EVERY_BAR_MB", "{}")),
    "the ride's code": ((README, r"its code and its data, bars {}, "), ("benchmarks/ride.py", "CODE_BAR_KB", "{}")),
    "the ride's data": ((README, r"its code and its data, bars \d+, {} kB"), ("benchmarks/ride.py", "DATA_BAR_KB", "{}")),
    "the ride's first picture": ((README, r"with its numbers, empty page = 1; bar {},"), ("benchmarks/ride.py", "FIRST_BAR", "{}")),
    "the sheet's frame": ((README, r"slowed four times: median, 95th percentile; bars {}, \d+ ms"), ("benchmarks/sheet.py", "FRAME_BAR_MS", "{}")),
    "the sheet's slow frame": ((README, r"slowed four times: median, 95th percentile; bars \d+, {} ms"), ("benchmarks/sheet.py", "SLOW_FRAME_BAR_MS", "{}")),
    "a control": ((README, r"attention\*\); bars {} \(\d"), (README, r"\(\*Inference\*\); bars {} \("), ("benchmarks/lessons.py", r"BARS = {{20: {},")),
    "a control, long": ((README, r"attention\*\); bars \d \({}\)"), (README, r"\(\*Inference\*\); bars \d \({}\)"), ("benchmarks/lessons.py", r"50: {}}}")),
    "signs of a code": ((README, r"a code of (\w+) letters and digits"), (CLASSROOM, r"type the (\w+) signs"), ("classroom/codes.py", "CODE_LENGTH", "word")),
}  # fmt: skip


def told(place: str, *how: str) -> str:
    if len(how) == 2:
        name, form = how
        value = constant(place, name)
        return WORDS[value] if form == "word" else form.format(value)
    pattern = how[0].replace("{}", r"([\d.,_]*\d)").replace("{{", "{").replace("}}", "}")
    found = re.findall(pattern.replace(" { ", r" \{ "), text(place))
    assert len(found) == 1, f"{place}: {how[0]} stands there {len(found)} times"
    return re.sub("[,_]", "", found[0])


@pytest.mark.parametrize("name", FIGURES)
def test_all_places_tell_one_figure(name: str) -> None:
    found = {where: told(*where) for where in FIGURES[name]}
    assert len(set(found.values())) == 1, found


def test_what_is_worked_out_from_other_figures() -> None:
    falls_short = float(told(*FIGURES["paper's BLEU"][0])) - float(told(*FIGURES["BLEU with sines and cosines"][0]))
    assert f"falls short of it by {falls_short:.1f} without" in text(MULTI30K)
    plain = [json.loads(text(f"assets/models/plain-{n}/metrics.json"))["test"]["greedy"]["bleu"] for n in (1, 2, 3)]
    assert f"greedy, against {min(plain):.2f} to {max(plain):.2f} of three plain models" in text(MULTI30K)
    (most,) = re.findall(r"every model used; bar [\d,]+ MB \|[^|]* ([\d,]+) MB", text(README))
    assert f"and up to {float(most.replace(',', '')) / 1000:.1f} when many lessons" in text(CLASSROOM)


# What sets the command of a row apart from those of other rows, by words of the row.
OPTIONS = {
    "BLEU on 2,000 unseen sentences, beam 4": "evaluate TEST.tsv`", "no final mark, curly apostrophes": "TEST.tsv --as-typed`",
    "BLEU, greedy, as the app decodes": "TEST.tsv --beam 1`", "pieces all write in a second": "TEST.tsv --speed`",
    "for 15 minutes": "classroom --seconds 900`", "in the last five of these minutes": "classroom --seconds 900`",
    "in-context regression": "RUNS --only in-context`", "more often right than from random": "TASKS --model bert-mini`",
}  # fmt: skip


@pytest.mark.parametrize("words", OPTIONS)
def test_a_figure_stands_beside_the_command_that_prints_it(words: str) -> None:
    (row,) = (line for line in (ROOT / README).read_text(encoding="utf-8").splitlines() if words in line)
    assert row.endswith(f"{OPTIONS[words]} |")


# --- commands ---------------------------------------------------------------------------------------------------------


def commands(file: Path) -> list[str]:
    """What stands between backticks, or alone on a line of code, without comments."""
    words, a_line = file.read_text(encoding="utf-8"), re.compile(r"^ {4,}(\S.*)$", re.MULTILINE)
    lines = [re.split(r" {2,}#", line)[0] for line in a_line.findall(words)]
    return [*lines, *(" ".join(one.split()) for one in re.findall(r"`([^`]+)`", a_line.sub("", words)))]


EVERY = [one for file in TOLD for one in commands(file)]
MODULES = sorted({found[1] for one in EVERY if (found := re.search(r"(?:^|/|\s)python -m ([\w.].*)", one))})
MAKES = sorted({found[1] for one in EVERY if (found := re.search(r"(?:^|&& )(make [a-z].*)", one))})


class Parsed(BaseException):
    """A command line was understood."""


def file_of(module: str) -> Path:
    path = ROOT / module.replace(".", "/")
    return path / "__main__.py" if path.is_dir() else path.with_suffix(".py")


@pytest.mark.parametrize("command", MODULES)
def test_a_command_is_understood_by_its_own_program(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run up to where it has read its arguments; one that takes none is only looked for."""
    module, *given = shlex.split(command.partition(" | ")[0])
    given = [] if given == ["…"] else given
    code = file_of(module).read_text(encoding="utf-8")
    assert "__main__" in code or file_of(module).name == "__main__.py"
    if "parse_args" not in code and (not given or "sys.argv" in code):
        return
    parse = argparse.ArgumentParser.parse_args

    def parsed(self: argparse.ArgumentParser, *arguments: Any) -> None:
        parse(self, *arguments)
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parsed)
    monkeypatch.setattr(sys, "argv", [module, *given])
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of runpy: another test has imported it
            runpy.run_module(module, run_name="__main__")
    except Parsed:
        return
    except SystemExit:  # a program that is only named asks for its arguments
        assert "are required" in said.getvalue(), said.getvalue()
        assert "--" not in command
        return
    raise AssertionError("it did not read its arguments")


@pytest.mark.parametrize("command", MAKES)
def test_a_target_of_make_and_its_settings_are_there(command: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for word in shlex.split(command)[1:]:
        name, is_setting, _ = word.partition("=")
        assert re.search(rf"\$\({name}\)" if is_setting else rf"^{name}:.*", makefile, re.MULTILINE), word


def test_a_setting_of_make_reaches_the_option_of_its_name() -> None:
    passed = re.findall(r"\$\(if \$\((\w+)\),--([\w-]+) \$\((\w+)\)\)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert len(passed) > 3
    assert [(given, option, given) for given, option, _ in passed if option == given.lower()] == [
        (given, option, value) for given, option, value in passed
    ]


def test_each_program_of_a_folder_that_the_readme_lists_is_one() -> None:
    (row,) = re.findall(r"^\| `training/` \| (.*) \|$", (ROOT / README).read_text(encoding="utf-8"), re.MULTILINE)
    names = re.findall(r"`(?:python -m training)?\.(\w+)`", row)
    assert len(names) > 5
    assert [name for name in names if "__main__" not in (ROOT / f"training/{name}.py").read_text()] == []


# --- files and settings -----------------------------------------------------------------------------------------------


def test_every_file_that_is_named_is_there() -> None:
    ends = r"(\.(py|js|conf|md|json|yaml|css)|/)"
    named = {one for one in EVERY if re.fullmatch(rf"[\w.-]+/[\w./-]*{ends}", one)}
    made_up = ("models/", "classes/", "runs/", "shared/")  # or made when the app runs; shared/ is within its folder
    missing = [one for one in sorted(named) if not (ROOT / one).exists() and not one.startswith(made_up)]
    assert [one for one in missing if not re.search("my_|NAME|SECTION", one)] == []
    assert len(named) > 40


def test_every_name_that_is_told_stands_in_the_file_told_beside_it() -> None:
    places = (README, CLASSROOM, DEPARTMENT, MULTI30K, "CONTRIBUTING.md")
    told = [one for place in places for one in re.findall(r"`(\w+)` (?:of|in) `([\w/]+\.py)`", text(place))]
    assert len(told) > 5
    for name, file in told:
        program = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^(def |class )?{name}\b", program, re.MULTILINE), (name, file)


def test_every_address_that_is_named_is_served() -> None:
    served = " ".join(text(f"serving/{name}") for name in ("warm_start.py", "app_process.py", "nginx.conf"))
    named = set(re.findall(r"`(/[\w/]+)`", text(DEPARTMENT))) - {"/tmp"}
    assert len(named) > 2
    assert [one for one in named if not re.search(rf"{one}\b", served)] == []


def test_the_readme_names_every_setting_and_no_other() -> None:
    code = [path for path in python_files() if home(path) not in ("tests", "benchmarks")]
    used = {name for path in code for name in re.findall(r'"(WALKTHROUGH_[A-Z]+)"', path.read_text(encoding="utf-8"))}
    assert (
        set(re.findall(r"^\| `(WALKTHROUGH_[A-Z]+)`", (ROOT / README).read_text(encoding="utf-8"), re.MULTILINE))
        == used
    )
