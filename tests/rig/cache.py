"""Build once, use many times: one folder per recipe in the rig's cache."""

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.rig.process import log


def folder() -> Path:
    """Where builds and session files live: VNICAUDIT_RIG, or a folder in /var/tmp."""
    home = Path(os.environ.get("VNICAUDIT_RIG", "/var/tmp/vnicaudit-rig"))
    home.mkdir(parents=True, exist_ok=True)
    return home


def digest(*recipe: Path | str) -> str:
    """Key of a recipe: the files and words that decide what its build makes."""
    total = hashlib.sha256()
    for part in recipe:
        data = part.read_bytes() if isinstance(part, Path) else part.encode()
        total.update(hashlib.sha256(data).digest())
    return total.hexdigest()[:16]


def cached(name: str, key: str, build: Callable[[Path], None]) -> Path:
    """The folder that `build` fills: from an earlier run with the same key, or made now.

    The build works in a folder of its own that gets its final name at the end, so an
    interrupted build is done again; a second session waits for the first one's build.
    """
    ready = folder() / f"{name}-{key}"
    with locked(name):
        if ready.is_dir():
            return ready
        for interrupted in folder().glob(f"{name}-*.part"):
            shutil.rmtree(interrupted)
        part = ready.with_name(f"{ready.name}.part")
        part.mkdir()
        log(f"building {name}")
        began = time.monotonic()
        build(part)
        part.rename(ready)
        log(f"built {name} in {time.monotonic() - began:.0f} s")
    return ready


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold a lock that all sessions with this cache folder share."""
    with (folder() / f"{name}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
