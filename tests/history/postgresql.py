"""A PostgreSQL server of the tests' own: Debian's, in a private folder, on a socket alone."""

import glob
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.not_run import not_run

_SETTINGS = {
    "listen_addresses": "", "fsync": "off", "full_page_writes": "off",
    "shared_buffers": "64MB", "max_connections": "20",
}  # fmt: skip
"""Nothing here need outlive the machine."""
_INITDB = ("-A", "trust", "-U", "postgres", "--no-sync", "--locale=C.UTF-8", "-E", "UTF8")


def programs() -> Path:
    """The folder of PostgreSQL's programs, which are not on PATH in Debian."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        not_run("history", "PostgreSQL (Debian: postgresql) is not installed")
    return Path(found[-1] if found else str(on_path)).parent


@contextmanager
def server() -> Iterator[Path]:
    """A running server; the folder of its socket, where ``postgres`` may do all."""
    bin_ = programs()
    folder = Path(tempfile.mkdtemp(prefix="vnicaudit-pg-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        data = str(folder / "data")
        _run(bin_ / "initdb", "-D", data, *_INITDB)
        settings = {**_SETTINGS, "unix_socket_directories": str(folder)}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        waiting = ("-D", data, "-w", "-t", "300", "-l", str(folder / "log"))
        _run(bin_ / "pg_ctl", *waiting, "-o", options, "start")
        try:
            yield folder
        finally:
            _run(bin_ / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def _run(program: Path, *arguments: str) -> None:
    """As a user that is not root: PostgreSQL refuses that one."""
    before = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    subprocess.run(
        [*before, str(program), *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/"
    )


def url(folder: Path, database: str) -> str:
    """Of a database of that server."""
    return f"postgresql://postgres@/{database}?host={folder}"
