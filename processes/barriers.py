"""Whether this machine can shut a process in, in words for the operator's log and for a visitor.

WALKTHROUGH_UNCONFINED   "yes" opens strangers' models although a barrier is missing
"""

import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from processes.fork_server import ROOT
from processes.sandbox import BARRIERS, harmless

START_SECONDS = 60  # in which a bare Python has to say what holds
AGAIN_SECONDS = 300  # after which it is asked again, if it could not say
SETTING = "WALKTHROUGH_UNCONFINED"


def unconfined(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the operator wants strangers' models to be opened although a barrier is missing."""
    return environment.get(SETTING, "").lower() in ("1", "yes", "true")


def missing() -> tuple[str, ...]:
    """Names of the barriers that do not hold on this machine, as a process tells that has shut itself in.

    All of them, if it cannot tell: a door that cannot be tried counts as open. A machine may be too busy for it once,
    so it is asked again after a while.
    """
    return _tried(time.monotonic() // AGAIN_SECONDS)


@functools.lru_cache(1)
def _tried(turn: float) -> tuple[str, ...]:
    try:
        return _told()
    except (OSError, subprocess.SubprocessError, ValueError, TypeError):
        return tuple(BARRIERS)


@functools.cache
def _told() -> tuple[str, ...]:
    """What such a process says; an answer holds as long as the app runs. Raises: many kinds of errors"""
    done = subprocess.run(
        [sys.executable, "-m", "processes.sandbox"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if harmless(name)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=START_SECONDS,
        check=True,
    )
    told = json.loads(done.stdout)
    return tuple(name for name in BARRIERS if name in told)


def lacks(names: Sequence[str]) -> str:
    """What a system lacks on which these barriers do not hold."""
    if len(names) == len(BARRIERS):
        return "has no means to shut it in (Linux has, with Landlock and seccomp)"
    *most, last = (BARRIERS[name] for name in names)
    return f"lacks {', '.join(most)} and {last}" if most else f"lacks {last}"


def refusal(names: Sequence[str]) -> str:
    """Why a stranger's model stays closed, in a sentence for the visitor."""
    return (
        f"Only the app's own models open here: another model could do harm, and this system {lacks(names)}. Whoever "
        f"runs this app and trusts the models can open them all the same, with the setting {SETTING}=yes."
    )


def notice(names: Sequence[str], unconfined: bool) -> str:
    """What visitors of pages with strangers' models, and the log, must know; empty if all barriers hold."""
    if not names:
        return ""
    if unconfined:
        return f"Other people's models open here although this system {lacks(names)}: {SETTING} allows it."
    return refusal(names)


def log() -> None:
    """Say in the server's log whether strangers' models can be shut in."""
    told = (
        notice(missing(), unconfined())
        or "Other people's models are shut in: every barrier of processes/sandbox.py holds."
    )
    print(told, file=sys.stderr, flush=True)
