"""Ports for the servers that tests start."""

import os
import secrets
import socket

WORKERS = 16  # of pytest-xdist, at most
LOWEST, HIGHEST = 12_000, 32_000


def free_port() -> int:
    """A port that nobody takes before the server does.

    It lies below those that Linux gives to connections, and no other worker of pytest-xdist gets it.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS
    while True:
        port = LOWEST + WORKERS * secrets.randbelow((HIGHEST - LOWEST) // WORKERS) + worker
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)):
                return port
