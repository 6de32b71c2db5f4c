"""The proxy, nginx, which shares visitors out among processes of the app and keeps each with one.

What it does stands in `nginx.conf` beside this file, once for all places it runs in.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from serving import BEHIND_PROXY, TOO_MANY_PAGES, VISITOR_COOKIE

TEMPLATE = Path(__file__).with_name("nginx.conf")
_PAGE = (
    "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'>{head}"
    "<title>Transformer Walkthrough</title><body style='font: 18px sans-serif; margin: 3em'><p>{says}</p></html>"
)
# What one visitor may ask of the proxy, and all at one address; docs/classroom.md tells the same numbers. Who keeps no
# cookie has one visitor's pages together with all others at the address who keep none.
LIMITS = {
    "VISITOR_REQUESTS": 10,  # a second
    "VISITOR_BURST": 50,  # at once
    "VISITOR_PAGES": 24,  # connections, of all processes
    "UNNAMED_REQUESTS": 50,
    "UNNAMED_BURST": 1000,
    "ADDRESS_REQUESTS": 300,
    "ADDRESS_BURST": 3000,
    "ADDRESS_PAGES": 1000,
    "UPLOADS": 2,  # a minute, of one visitor
    "UPLOADS_BURST": 20,
}
TOO_MUCH = "You ask for more than one visitor may: wait a few seconds, then load this page again."
NOT_THERE = "The app is starting. This page loads again by itself."


@dataclass(frozen=True)
class Site:
    """Where the proxy stands.

    listen: its address and port; apps: the app's, by names or addresses, with ports; trust: networks of proxies that
    stand before this one and say truly where a visitor comes from
    """

    listen: str
    apps: Sequence[str]
    trust: Sequence[str] = ()


class UnknownPlaceError(Exception):
    """Nobody knows the address of a place."""


class NoProxyError(Exception):
    """nginx is missing, or does not start."""


def nginx_path() -> str:
    """Where nginx is; Debian puts it where only root looks.

    Raises: NoProxyError
    """
    path = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if not path:
        raise NoProxyError("This needs nginx. On Debian or Ubuntu: apt-get install nginx")
    return path


def addresses(places: Sequence[str]) -> list[str]:
    """What places like `app:8501` stand for: addresses with ports, sorted. One name may have several addresses.

    Raises: UnknownPlaceError
    """
    found = set()
    for place in places:
        host, _, port = place.rpartition(":")
        try:
            known = socket.getaddrinfo(host, int(port), socket.AF_INET, socket.SOCK_STREAM)
        except (OSError, ValueError) as error:
            raise UnknownPlaceError(f"No app can be found at {place}.") from error
        found |= {"{}:{}".format(*at) for *_, at in known}
    return sorted(found)


def configuration(site: Site, apps: Sequence[str], folder: Path) -> str:
    """nginx's configuration for these processes of the app.

    Args: apps: addresses with ports; folder: where nginx may write
    """
    # Named after its address, so that the names of others stay when one comes or goes.
    names = {app: sha256(app.encode()).hexdigest()[:8] for app in apps}
    each = (
        f"upstream process_{name} {{ zone process_{name} 64k; server {app} fail_timeout=3s; "
        + " ".join(f"server {other} backup;" for other in apps if other != app)
        + " }"
        for app, name in names.items()
    )
    trust = [f"set_real_ip_from {network};" for network in site.trust]
    words = {
        "USER": "user root;" if os.geteuid() == 0 else "",  # root's own folders are closed to everybody else
        "FOLDER": str(folder),
        "LISTEN": site.listen,
        "TRUST": " ".join([*trust, "real_ip_header X-Forwarded-For; real_ip_recursive on;"] if trust else []),
        "VISITOR": VISITOR_COOKIE,
        "BEHIND": BEHIND_PROXY,
        "TOO_MANY_PAGES": TOO_MANY_PAGES,
        **{name: str(limit) for name, limit in LIMITS.items()},
        "ANY": " ".join(f"server {app} fail_timeout=3s;" for app in apps),
        "EACH": "\n    ".join(each),
        "POOLS": " ".join(f"{name} process_{name};" for name in names.values()),
        "NAMES": " ".join(f'"~(^|[ ,:]){re.escape(app)}$" {name};' for app, name in names.items()),
        "TOO_MUCH": _PAGE.format(head="", says=TOO_MUCH),
        "NOT_THERE": _PAGE.format(head="<meta http-equiv='refresh' content='4'>", says=NOT_THERE),
    }
    return re.sub("@([A-Z_]+)@", lambda found: words[found[1]], TEMPLATE.read_text(encoding="utf-8"))


class Proxy:
    """nginx, running; started again if it ends, and told when the app moves to other addresses."""

    def __init__(self, site: Site, folder: Path) -> None:
        """Args: folder: to write in

        Raises: NoProxyError, UnknownPlaceError
        """
        self._site, self._folder = site, folder
        self._nginx = nginx_path()
        self._apps = addresses(site.apps)
        self._write()
        self._start()

    def _write(self) -> None:
        text = configuration(self._site, self._apps, self._folder)
        (self._folder / "nginx.conf").write_text(text, encoding="utf-8")

    def _start(self) -> None:
        (self._folder / "files.sock").unlink(missing_ok=True)  # an nginx that was killed leaves it behind
        command = [self._nginx, "-p", str(self._folder), "-c", str(self._folder / "nginx.conf"), "-e", "stderr"]
        # A group of its own: where the first of nginx's processes was killed, the others would keep its address.
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)

    def _kill_the_rest(self) -> None:
        """End those of nginx's processes that outlived the first."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def look_after(self) -> None:
        """Start it again if it has ended, and follow the app to other addresses.

        Raises: NoProxyError if it cannot listen
        """
        if self.process.poll() is not None:
            if self.process.returncode > 0:  # it ended by itself; a signal gives less than 0
                raise NoProxyError(f"nginx ended. Is something else serving at {self._site.listen}?")
            print("The proxy has ended; it is started again.", flush=True)
            self._kill_the_rest()
            self._start()
        try:
            apps = addresses(self._site.apps)
        except UnknownPlaceError:
            return  # no answer is no news
        if apps != self._apps:
            self._apps = apps
            self._write()
            self.process.send_signal(signal.SIGHUP)

    def end(self) -> None:
        """End it, and with it all open connections."""
        self.process.terminate()
        self.process.wait()
        self._kill_the_rest()
