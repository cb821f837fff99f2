"""What identifies a finding across audits."""

from __future__ import annotations

import os
from hashlib import blake2b


def digest(rule: str, owner: str, part: str) -> str:
    """24 hexadecimal digits for a rule, whom it is about (a domain's UUID, a file, a host) and
    which part of it (a MAC address, an xpath, an option). Never a line number."""
    data = f"{rule}\0{owner}\0{part}".encode("utf-8", "backslashreplace")
    return blake2b(data, digest_size=12).hexdigest()


def file_key(path: str) -> str:
    """One spelling for a file however it was named: relative to the current folder when it is
    below it, absolute when it is not."""
    try:
        here = os.getcwd().rstrip("/") + "/"
    except FileNotFoundError:  # the current folder has been deleted
        return path
    return os.path.abspath(path).removeprefix(here)
