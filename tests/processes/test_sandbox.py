"""A process that is shut in computes and reads what it may; everything else the kernel refuses."""

import json
import os
import platform
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from processes import barriers, sandbox

ROOT = Path(__file__).parents[2]
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() not in sandbox.MACHINES,
    reason="other kernels, other means",
)

SHUT_IN = """
import ctypes, json, mmap, os, resource, signal, socket, subprocess, sys, threading, time
from pathlib import Path
from processes.sandbox import confine
allowed, other = Path(sys.argv[1]), Path(sys.argv[2])
already, pair = (other / "open").open("wb", buffering=0), socket.socketpair()
with (allowed / "grows").open("w+b") as file:
    file.write(bytes(4096))
confine([allowed], 5, 2**28)

def refused(number, *rest):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, *rest) < 0:
        raise OSError(ctypes.get_errno(), "refused")

def tried(what):
    try:
        return ["done", repr(what())[:80]]
    except BaseException as error:
        return [type(error).__name__, str(error)]

"""


def shut_in(tmp_path: Path, actions: dict[str, str]) -> dict[str, tuple[str, str]]:
    """What becomes of each action in a process that may read the folder `allowed`, not the folder `other`."""
    for name in ("allowed", "other"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "text").write_text("hello")
    lines = [f"found[{name!r}] = tried(lambda: {code})" for name, code in actions.items()]
    code = "\n".join([SHUT_IN, "found = {}", *lines, "print(json.dumps(found))"])
    arguments = [str(tmp_path / name) for name in ("allowed", "other")]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return {name: tuple(result) for name, result in json.loads(done.stdout).items()}


def test_it_computes_reads_and_answers(tmp_path: Path) -> None:
    found = shut_in(
        tmp_path,
        {
            "read": "(allowed / 'text').read_text()",
            "list": "sorted(path.name for path in allowed.iterdir())",
            "import": "__import__('wave').__name__",
            "random": "len(os.urandom(8))",
            "sleep": "time.sleep(0.01)",
            "memory": "len(bytearray(2**26))",
            "pipe": "(pair[0].detach(), os.write(pair[1].fileno(), b'hello'))[1]",
        },
    )
    assert {name: result for name, (how, result) in found.items() if how == "done"} == {
        "read": "'hello'",
        "list": "['grows', 'text']",
        "import": "'wave'",
        "random": "8",
        "sleep": "None",
        "memory": str(2**26),
        "pipe": "5",
    }


FORBIDDEN = {
    "write a new file": "(allowed / 'new').write_text('x')",
    "write a file that is there": "(allowed / 'text').write_text('x')",
    "write a file elsewhere": "open(other / 'strange', 'w')",
    "append to a file": "os.open(allowed / 'text', os.O_WRONLY | os.O_APPEND)",
    "write an open file": "already.write(b'x' * 10)",
    "make a folder": "os.mkdir(allowed / 'folder')",
    "remove a file": "os.unlink(allowed / 'text')",
    "rename a file": "os.rename(allowed / 'text', allowed / 'other')",
    "change its rights": "os.chmod(allowed / 'text', 0o777)",
    "truncate a file": "os.truncate(allowed / 'text', 0)",
    "make a link": "os.symlink('/etc/passwd', allowed / 'link')",
    "open a socket": "socket.socket()",
    "open a socket of this machine": "socket.socket(socket.AF_UNIX)",
    "look up a name": "socket.getaddrinfo('localhost', 80)",
    "split itself": "os.fork()",
    "run a program": "subprocess.run(['/bin/true'])",
    "do two things at once": "threading.Thread(target=time.sleep, args=(1,)).start()",
    "become a program": "os.execv('/bin/true', ['true'])",
    "end its parent": "os.kill(os.getppid(), 9)",
    "end all": "os.kill(-1, 9)",
    "take more memory": "len(bytearray(2**30 + 2**29))",
    "take more rights": "resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))",
    "be first": "os.setpriority(os.PRIO_PROCESS, 0, -20)",
    "look into another process": "open(f'/proc/{os.getppid()}/environ').read()",
    "hold memory outside its limits": "os.memfd_create('x')",
    "share memory": "mmap.mmap(-1, 4096)",
    "take memory that grows by itself": "mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x100)",
    "ask for a segment of memory": "refused(29, 0, 4096, 0o1600)",
    "keep a file of the system in memory": "open('/dev/shm/x', 'wb')",
    "open too many files": "[os.open('/dev/null', os.O_RDONLY) for _ in range(1000)]",
}


def test_everything_else_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    found = shut_in(tmp_path, FORBIDDEN)
    assert {name: told for name, told in found.items() if told[0] == "done"} == {}
    assert sorted(path.name for path in (tmp_path / "allowed").iterdir()) == ["grows", "text"]
    assert (tmp_path / "allowed" / "text").read_text() == "hello"
    assert (tmp_path / "other" / "open").read_bytes() == b""
    assert not (tmp_path / "other" / "strange").exists()


def test_what_it_held_in_memory_is_not_left_on_the_disk_when_it_crashes() -> None:
    code = "import resource; from processes import sandbox; sandbox._limit(5, 2**30); "
    code += "print(*resource.getrlimit(resource.RLIMIT_CORE))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("0 0\n", "")


def has_landlock() -> bool:
    return int(sandbox._libc.syscall(sandbox._LANDLOCK, None, sandbox.ctypes.c_size_t(0), 1)) > 0


@pytest.mark.skipif(not has_landlock(), reason="this kernel has no Landlock")
def test_where_the_kernel_has_landlock_no_other_file_is_read(tmp_path: Path) -> None:
    actions = {"read": "(other / 'text').read_text()", "passwd": "open('/etc/passwd').read()"}
    found = shut_in(tmp_path, actions | {"list": "list(other.iterdir())", "ours": "open('README.md').read()"})
    assert {told[0] for told in found.values()} == {"PermissionError"}


@pytest.mark.parametrize(
    ("code", "signals"),
    [("os.abort()", {signal.SIGABRT}), ("exec('while True: pass')", {signal.SIGXCPU, signal.SIGKILL})],
)
def test_it_can_end_itself_and_its_time_ends(code: str, signals: set[int], tmp_path: Path) -> None:
    for name in ("allowed", "other"):
        (tmp_path / name).mkdir()
    script = SHUT_IN.replace("confine([allowed], 5,", "confine([allowed], 1,") + code
    arguments = [str(tmp_path / name) for name in ("allowed", "other")]
    done = subprocess.run([sys.executable, "-c", script, *arguments], cwd=ROOT, capture_output=True, timeout=300)
    assert -done.returncode in signals
    assert not list(tmp_path.rglob("core*"))


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_are_those_of_the_kernel(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip("the kernel's headers are not installed")
    text = HEADERS[machine].read_text()
    names = dict(re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", text))
    names |= {"newfstatat": names.get("newfstatat", names.get("fstatat"))}
    ours = sandbox.numbers(machine)
    assert {name: str(number) for name, number in ours.items()} == {name: names.get(name) for name in ours}
    column = list(HEADERS).index(machine)
    conditions = dict(zip(("open", "openat", "mmap", "tgkill", "fcntl"), sandbox._conditions(), strict=True))
    for name, condition in conditions.items():
        number = condition.numbers[column]
        assert names.get(name) == (None if number is None else str(number))


def test_the_filter_is_well_formed() -> None:
    for machine in sandbox.MACHINES:
        code = sandbox._program(machine)
        assert len(code) % 8 == 0
        assert len(code) // 8 < 4096  # the kernel's limit


# What a system may refuse: code that makes it do so, and the barriers that are missing then.
REFUSING = """
import ctypes, json, os, resource, sys, threading, time
from pathlib import Path
from processes import sandbox
class Refusing:
    def __init__(self, function, number, answer=-1):
        self.function, self.number, self.answer = function, number, answer
    def __getattr__(self, name):
        real = getattr(libc, name)
        if name != self.function:
            return real
        return lambda first, *rest: self.answer if getattr(first, "value", first) == self.number else real(first, *rest)
libc, readable = sandbox._libc, []
"""
SECCOMP = {"writing", "network", "processes", "sharing"}
FAULTS: dict[str, tuple[str, set[str]]] = {
    "nothing": ("", set()),
    "an old kernel, without Landlock": ("sandbox._LANDLOCK = 9999", {"files"}),
    "Landlock is refused at the end": ("sandbox._libc = Refusing('syscall', 446)", {"files"}),
    "Landlock is accepted, and does nothing": ("sandbox._libc = Refusing('syscall', 446, 0)", {"files"}),
    "seccomp is refused": ("sandbox._libc = Refusing('prctl', 22)", SECCOMP),
    "seccomp is accepted, and does nothing": ("sandbox._libc = Refusing('prctl', 22, 0)", SECCOMP - {"writing"}),
    "rights can be gained": ("sandbox._libc = Refusing('prctl', 39, 0)", {"rights"}),
    "nobody ends it": ("sandbox._libc = Refusing('prctl', 1)", {"end"}),
    "no limits": ("resource.setrlimit = lambda *_: (_ for _ in ()).throw(PermissionError())", {"limits"}),
    "another processor": ("os.uname = lambda: type('', (), {'machine': 'pdp11'})", SECCOMP),
    "another system": ("sys.platform = 'darwin'", set(sandbox.BARRIERS)),
    "a thread outside": ("threading.Thread(target=time.sleep, args=(60,), daemon=True).start()", {"processes"}),
    "the app lies among the models": ("readable = [Path.cwd()]", {"files"}),
    "a filter with any mmap": ("sandbox.CALLS += ', mmap 9 222'", {"sharing"}),
    "a filter with sockets": ("sandbox.CALLS += ', socket 41 198'", {"network"}),
    "a filter with threads": ("sandbox.CALLS += ', clone 56 220, clone3 435 435, wait4 61 260'", {"processes"}),
}  # fmt: skip


def bare(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if sandbox.harmless(name)} | more


@pytest.mark.parametrize("fault", FAULTS)
def test_a_barrier_that_does_not_hold_is_told(fault: str) -> None:
    code, missing = FAULTS[fault]
    code = f"{REFUSING}{code}\nprint(json.dumps(sandbox.confine(readable, 30, 2**28)), flush=True)\nos._exit(0)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=bare(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)) == missing


def test_a_key_in_the_environment_is_told() -> None:
    command = [sys.executable, "-m", "processes.sandbox"]
    for name in ("WALKTHROUGH_CLASSES", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY"):
        done = subprocess.run(command, cwd=ROOT, env=bare(**{name: "x"}), capture_output=True, check=True, timeout=300)
        assert json.loads(done.stdout) == ["environment"]


def test_this_machine_is_asked_and_what_cannot_tell_counts_as_open_until_it_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WALKTHROUGH_CLASSES", "postgresql://u:password@h/n")  # reaches no confined process
    answer, right = () if has_landlock() else ("files",), sys.executable
    barriers._told.cache_clear()
    for turn, broken in enumerate(("/bin/false", "/no/such/python", "/bin/echo")):
        monkeypatch.setattr(sys, "executable", broken)
        assert barriers._tried(turn) == tuple(sandbox.BARRIERS)
    monkeypatch.setattr(sys, "executable", right)
    assert barriers._tried(turn) == tuple(sandbox.BARRIERS)
    assert barriers._tried(turn + 1) == barriers.missing() == answer
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert barriers._tried(turn + 2) == answer


def test_what_is_missing_is_told_to_visitors_and_in_the_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(barriers, "missing", lambda: ("files", "network"))
    lacks = "this system lacks a ban on reading other files (Landlock) and a ban on the network (seccomp)"
    for said, start in (
        ("", "Only the app's own models open here"),
        ("yes", "Other people's models open here although"),
    ):
        monkeypatch.setenv("WALKTHROUGH_UNCONFINED", said)
        barriers.log()
        told = capsys.readouterr().err
        assert told.startswith(start)
        assert lacks in told
        assert len(told.splitlines()) == 1
    assert "has no means to shut it in" in barriers.notice(tuple(sandbox.BARRIERS), unconfined=False)
    monkeypatch.setattr(barriers, "missing", tuple)
    barriers.log()
    assert "every barrier" in capsys.readouterr().err


def test_a_process_that_was_split_off_is_told_where_nobody_waits_for_children() -> None:
    """As in those that work for strangers' models: there the system forgets a child at once."""
    code = (
        "import signal; from processes import sandbox; signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
        "print(sandbox._refused(sandbox._split))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert said.stdout.strip() == "False"
