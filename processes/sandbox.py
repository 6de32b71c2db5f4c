"""A process that may only compute: it reads some files, answers through the pipes it has, and can do nothing else.

Linux holds it to that, with no rights of an administrator and no further program, by three means:

- limits (`resource`): no byte goes to a file, no core dump, few open files, an end of processor time and memory;
- seccomp: the kernel answers a short list of system calls. There is none for a network, for another process or thread,
  for memory that processes share, for changing a file or a folder, or for more rights. Whatever is missing "does not
  exist" (ENOSYS): libraries are prepared for that;
- Landlock (Linux 5.13 and later): only files below the given folders can be opened.

Both of the latter hold for whatever runs in the process, machine code too, and cannot be taken back. A kernel, a
container or a processor may lack one of them, or refuse it. So nothing is taken on trust: once all is set up, the
process tries what it must not be able to do, and `confine` returns the names of the BARRIERS that did not stop it.

What stays open: `stat` tells of any path whether it is there, how large it is and when it was changed, never what is in
it. Landlock has no right for that, and seccomp sees the address of a path, not the path; libraries need the call.
A namespace of mounts (`unshare`) would hide the paths, but most containers forbid it.

Source: the kernel's Documentation/userspace-api/seccomp_filter.rst and landlock.rst
"""

import _thread
import ctypes
import errno
import json
import mmap
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

MAX_OPEN_FILES = 256
ADDRESSES = 2**28  # bytes of address space beyond the memory: code of libraries, mostly unused

# What must hold before a stranger's file is read, by name.
BARRIERS = {
    "limits": "limits on time and memory",
    "end": "an end together with the app",
    "rights": "a ban on gaining rights",
    "environment": "an environment without the app's keys",
    "files": "a ban on reading other files (Landlock)",
    "writing": "a ban on writing files (seccomp)",
    "network": "a ban on the network (seccomp)",
    "processes": "a ban on other processes and threads (seccomp)",
    "sharing": "a ban on memory outside the limits (seccomp)",
}
# What a confined process may know of the app's environment, by name and by how a name begins: neither keys nor the
# address of a database.
HARMLESS = {
    "PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "TZ", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
    "TOKENIZERS_PARALLELISM", "HF_HUB_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "HF_DEACTIVATE_ASYNC_LOAD",
}  # fmt: skip
HARMLESS_BEGINNINGS = ("PYTHON", "LC_", "MKL_")

# System calls that are answered: name, number on x86_64 and on aarch64 (- where it has none).
CALLS = """
read 0 63, readv 19 65, pread64 17 67, write 1 64, writev 20 66, lseek 8 62, close 3 57, dup 32 23, getcwd 79 17,
fstat 5 80, newfstatat 262 79, statx 332 291, stat 4 -, lstat 6 -, statfs 137 43, fstatfs 138 44, fadvise64 221 223,
access 21 -, faccessat 269 48, faccessat2 439 439, readlink 89 -, readlinkat 267 78, getdents64 217 61,
poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72,
munmap 11 215, mremap 25 216, mprotect 10 226, madvise 28 233, brk 12 214, membarrier 324 283,
futex 202 98, set_robust_list 273 99, set_tid_address 218 96, rseq 334 293, exit 60 93, exit_group 231 94,
sched_yield 24 124, sched_getaffinity 204 123, getcpu 309 168,
rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, sigaltstack 131 132, restart_syscall 219 128,
clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115, nanosleep 35 101, gettimeofday 96 169, time 201 -,
times 100 153, alarm 37 -, setitimer 38 103, getrusage 98 165, getrlimit 97 163, getrandom 318 278,
getpid 39 172, gettid 186 178, getppid 110 173, getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177,
sysinfo 99 179, uname 63 160
"""
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # the kernel's numbers for them (AUDIT_ARCH_…)

_PDEATHSIG, _NO_NEW_PRIVS, _GET_NO_NEW_PRIVS, _SECCOMP, _FILTER = 1, 38, 39, 22, 2  # prctl
_SHARED, _ANONYMOUS, _GROWS = 0x01, 0x20, 0x100  # mmap
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3  # Landlock's names of rights
_LANDLOCK = 444  # the first of its three calls, the same on all machines
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}  # how many of them each version of Landlock knows; later ones: 16

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class Only(NamedTuple):
    """A system call that is answered if an argument, with all but the bits of the mask taken away, is one of values."""

    numbers: tuple[int | None, int | None]
    argument: int
    mask: int
    values: tuple[int, ...]
    otherwise: int


def harmless(name: str) -> bool:
    """Whether a confined process may know this variable of the environment."""
    return name in HARMLESS or name.startswith(HARMLESS_BEGINNINGS)


def confine(readable: Iterable[Path], seconds: int, memory: int) -> tuple[str, ...]:
    """From now on this process computes and reads; it ends with the process that split it off. For good.

    Args:    readable: folders whose files it may read, beside Python's own and the system's libraries
             seconds: of processor time, after which the system ends it; memory: bytes that it may take more than now
    Returns: names of the BARRIERS that do not hold, none if all do
    """
    if not sys.platform.startswith("linux"):  # other kernels have other calls under these numbers
        return tuple(BARRIERS)
    steps: dict[str, Callable[[], object]] = {
        "limits": partial(_limit, seconds, memory),
        "end": partial(_call, _libc.prctl, _PDEATHSIG, signal.SIGKILL, 0, 0, 0),
        "rights": _forgo_rights,  # without which only an administrator may ask for the rest
        "files": partial(_open_only, [*readable, *_libraries()]),
        "writing": partial(_answer_only, os.uname().machine),
    }
    missing = {name for name, step in steps.items() if not _is_built(step)}
    missing |= {name for name, holds in _PROBES.items() if not holds()}
    return tuple(name for name in BARRIERS if name in missing)


def _is_built(step: Callable[[], object]) -> bool:
    try:
        step()
    except (OSError, ValueError):
        return False
    return True


def _call(function: Callable[..., int], *arguments: object) -> int:
    """A call of the C library. Raises: OSError if the kernel refuses it"""
    answer = function(*(ctypes.c_ulong(one) if isinstance(one, int) else one for one in arguments))
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def _limit(seconds: int, memory: int) -> None:
    size = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    for limit, most in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, size + memory + ADDRESSES),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        _, now = resource.getrlimit(limit)
        most = most if now == resource.RLIM_INFINITY else min(most, now)
        resource.setrlimit(limit, (most, most))


def _forgo_rights() -> None:
    _call(_libc.prctl, _NO_NEW_PRIVS, 1, 0, 0, 0)
    if not _call(_libc.prctl, _GET_NO_NEW_PRIVS, 0, 0, 0, 0):
        raise PermissionError("rights can still be gained")


def _refused(attempt: Callable[[], object]) -> bool:
    """Whether the system refuses what is attempted; RuntimeError is Python's word for a thread that is refused."""
    try:
        attempt()
    except (OSError, RuntimeError):
        return True
    return False


def _split() -> None:
    if (child := os.fork()) == 0:
        os._exit(0)
    with suppress(ChildProcessError):  # a process that waits for none of its children has none to wait for
        os.waitpid(child, 0)


def _knows_nothing() -> bool:
    names = {line.partition(b"=")[0].decode() for line in Path("/proc/self/environ").read_bytes().split(b"\0") if line}
    return all(map(harmless, names))


# Each attempt would do no harm if nothing stopped it. Threads that are there already would stay outside the barriers.
_PROBES: dict[str, Callable[[], bool]] = {
    "environment": _knows_nothing,
    "files": lambda: all(_refused(partial(Path(place).open, "rb")) for place in (__file__, "/proc/1/stat")),
    "writing": lambda: _refused(partial(os.open, os.devnull, os.O_WRONLY)),
    "network": lambda: _refused(socket.socket),
    "processes": lambda: (
        _refused(_split)
        and _refused(partial(_thread.start_new_thread, int, ()))
        and len(list(Path("/proc/self/task").iterdir())) == 1
    ),
    "sharing": lambda: _refused(partial(mmap.mmap, -1, mmap.PAGESIZE)) and _refused(partial(os.memfd_create, "x")),
}


def _libraries() -> list[Path]:
    """Where Python and the libraries lie, and what they ask the system when they begin."""
    ours = Path(__file__).parents[1]  # all of it is imported by now
    packages = [Path(path) for path in sys.path if path and Path(path) != ours]
    system = "/usr /lib /lib64 /etc/ld.so.cache /dev/null /dev/urandom /sys/devices".split()
    itself = "/proc/self /proc/cpuinfo /proc/meminfo".split()
    return [*packages, Path(sys.prefix), Path(sys.base_prefix), *map(Path, system + itself)]


def _open_only(places: Iterable[Path]) -> None:
    """Let Landlock refuse all files but these and those below these. Raises: OSError without Landlock"""
    version = _call(_libc.syscall, _LANDLOCK, None, 0, 1)
    rights = (1 << _FILE_RIGHTS.get(version, 16)) - 1
    network, others = 3 * (version >= 4), 3 * (version >= 6)  # TCP; other processes' signals and sockets
    rules = struct.pack("QQQ", rights, network, others)
    ruleset = _call(_libc.syscall, _LANDLOCK, rules, len(rules), 0)
    for place in places:
        try:
            opened = os.open(place, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # this system has no such place
            continue
        allowed = _READ_FILE | (_READ_FOLDER if place.is_dir() else 0)
        _call(_libc.syscall, _LANDLOCK + 1, ruleset, 1, struct.pack("=Qi", allowed, opened), 0)
        os.close(opened)
    _call(_libc.syscall, _LANDLOCK + 2, ruleset, 0)
    os.close(ruleset)


def _answer_only(machine: str) -> None:
    """Let the kernel answer CALLS and `_conditions` alone. Raises: OSError on a machine of another kind"""
    if machine not in MACHINES:
        raise OSError(errno.ENOSYS, f"no list of system calls for {machine}")
    code = _program(machine)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer))
    _call(_libc.prctl, _SECCOMP, _FILTER, program, 0, 0)


def numbers(machine: str) -> dict[str, int]:
    """The numbers of the system calls that are always answered, by their names."""
    lines = (call.split() for call in CALLS.split(","))
    column = 1 + list(MACHINES).index(machine)
    return {line[0]: int(line[column]) for line in lines if line[column] != "-"}


def _conditions() -> tuple[Only, ...]:
    """System calls that are answered under a condition."""
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
    return (
        Only((2, None), 1, writes, (0,), errno.EROFS),  # open
        Only((257, 56), 2, writes, (0,), errno.EROFS),  # openat
        Only(
            (9, 222), 3, _SHARED | _ANONYMOUS | _GROWS, (0, _SHARED, _ANONYMOUS), errno.ENOMEM
        ),  # mmap: what is limited
        Only((234, 131), 0, 0xFFFFFFFF, (os.getpid(),), errno.EPERM),  # tgkill: itself, as abort() does
        Only((72, 25), 1, 0xFFFFFFFF, (0, 1, 2, 3, 1030), errno.EPERM),  # fcntl: copies of files and their flags
    )


def _program(machine: str) -> bytes:
    """The filter, in the kernel's small language for filters: instructions of 8 bytes."""
    load, skip_unless, keep, answer = 0x20, 0x15, 0x54, 0x06

    def one(operation: int, value: int, otherwise: int = 0) -> bytes:
        return struct.pack("HBBI", operation, 0, otherwise, value)

    def refuse(number: int) -> bytes:
        return one(answer, 0x00050000 | number)

    allow, kill = one(answer, 0x7FFF0000), one(answer, 0x80000000)
    code = one(load, 4) + struct.pack("HBBI", skip_unless, 1, 0, MACHINES[machine]) + kill + one(load, 0)
    for number in numbers(machine).values():
        code += one(skip_unless, number, 1) + allow
    for condition in _conditions():
        call = condition.numbers[list(MACHINES).index(machine)]
        if call is None:
            continue
        block = one(load, 16 + 8 * condition.argument) + one(keep, condition.mask)  # the lower half of the argument
        block += b"".join(one(skip_unless, value, 1) + allow for value in condition.values)
        block += refuse(condition.otherwise)
        code += one(skip_unless, call, len(block) // 8) + block
    return code + refuse(errno.ENOSYS)


if __name__ == "__main__":  # says which barriers do not hold on this machine
    print(json.dumps(confine([], seconds=10, memory=2**28)))
