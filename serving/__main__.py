"""`python -m serving`: several processes of the app behind one proxy, each started again when it dies.

With `--apps` only the proxy, before an app that runs elsewhere.
"""

import argparse
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from serving.app_process import AppProcess, KeepsDyingError
from serving.proxy import NoProxyError, Proxy, Site, UnknownPlaceError, nginx_path

LOOK_SECONDS = 1.0


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m serving", description="Serve the app to many learners.")
    parser.add_argument("--address", default="0.0.0.0", help="to listen at; all that there are if unset")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="of the app; one a core if unset")
    parser.add_argument("--apps", nargs="+", default=[], metavar="HOST:PORT", help="an app that runs elsewhere")
    parser.add_argument(
        "--trust", nargs="+", default=[], metavar="NETWORK", help="of a proxy that stands before this one"
    )
    chosen = parser.parse_args(given)
    if chosen.processes < 1:
        parser.error("--processes must be at least 1")
    return chosen


def serve(chosen: argparse.Namespace, folder: Path, stopped: threading.Event) -> None:
    """Start everything and look after it until `stopped` is set; then end everything.

    Raises: KeepsDyingError, NoProxyError, UnknownPlaceError
    """
    nginx_path()  # better to know before the processes are warm
    temporary = folder / "temporary"
    temporary.mkdir()
    processes: list[AppProcess] = []
    proxy = None
    try:
        if not chosen.apps:
            processes += [AppProcess(temporary, chosen.processes) for _ in range(chosen.processes)]
        while not all(process.ready for process in processes):
            if stopped.wait(0.2):
                return
        apps = chosen.apps or [process.place for process in processes]
        proxy = Proxy(Site(f"{chosen.address}:{chosen.port}", apps, chosen.trust), folder)
        print(f"Transformer Walkthrough is served on http://localhost:{chosen.port}", flush=True)
        while not stopped.wait(LOOK_SECONDS):
            proxy.look_after()
            for process in processes:
                process.look_after()
    finally:
        if proxy:
            proxy.end()
        for process in processes:
            process.end()
        for process in processes:
            process.wait()


def main() -> None:
    chosen, stopped = arguments(), threading.Event()
    for signal_ in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_, lambda *_: stopped.set())
    with tempfile.TemporaryDirectory(prefix="walkthrough-", ignore_cleanup_errors=True) as folder:
        try:
            serve(chosen, Path(folder), stopped)
        except (KeepsDyingError, NoProxyError, UnknownPlaceError) as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
