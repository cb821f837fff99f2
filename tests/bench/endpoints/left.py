"""What is left of a session on this machine: processes with its mark, its folder, listeners."""

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 120.0
"""Seconds that a fact may take to come: a busy machine stalls for several, and a limit that is long
costs nothing where the fact comes."""


def marked(folder: str, what: str = "") -> list[int]:
    """Processes that a session's supervisor started."""
    mark = f"KEPT_BY_VNICAUDIT={folder}:{what}".encode()
    found = []
    for environ in (process / "environ" for process in Path("/proc").glob("[0-9]*")):
        try:
            if mark in environ.read_bytes():
                found.append(int(environ.parent.name))
        except OSError:  # ended meanwhile
            continue
    return found


def gone(folder: str) -> bool:
    """Whether nothing is left: no process, no folder. To be waited for: what was killed (SIGKILL)
    ends when a CPU comes to it."""
    return not marked(folder) and not Path(folder).exists()


def listens(port: int, table: str = "/proc/net/tcp") -> bool:
    """Whether a TCP socket listens on that port (state 0A: include/net/tcp_states.h)."""
    names = (table, f"{table}6") if Path(f"{table}6").exists() else (table,)
    lines = [line.split() for name in names for line in Path(name).read_text().splitlines()[1:]]
    return any(line[3] == "0A" and int(line[1].rpartition(":")[2], 16) == port for line in lines)


def until(fact: Callable[[], object], what: str) -> None:
    """Wait until it is so."""
    end = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < end, f"not so after {PATIENCE:g} s: {what}"
        time.sleep(0.02)
