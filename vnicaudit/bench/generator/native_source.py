"""The generator's C program as one file for a compiler."""

from __future__ import annotations

from importlib.resources import files

NAME = "vnicaudit-rr.c"

PARTS = (
    "program", "sha256", "seal", "task", "sockets", "worker", "calls", "client", "server", "main",
)  # fmt: skip
"""Files of ``native``, in the order in which they are compiled: each uses the ones before it."""

FLAGS = ("-std=c11", "-O2", "-pthread")


def native_source() -> bytes:
    """The source; a compiler's messages name the file of each line."""
    folder = files(__package__).joinpath("native")
    parts = (f"{name}.c" for name in PARTS)
    return b"".join(
        b'#line 1 "%s"\n%s' % (name.encode(), folder.joinpath(name).read_bytes()) for name in parts
    )
