"""The generator's program in C as one file that a compiler takes."""

from __future__ import annotations

from importlib.resources import files

NAME = "vnicaudit-rr.c"

PARTS = (
    "program", "sha256", "seal", "task", "sockets", "worker", "calls", "client", "server", "main",
)  # fmt: skip
"""Files of ``native``, in the order they are compiled in: each uses what stands before it."""

FLAGS = ("-std=c11", "-O2", "-pthread")


def native_source() -> bytes:
    """The source; a compiler's messages name the file that each line is from."""
    folder = files(__package__).joinpath("native")
    parts = (f"{name}.c" for name in PARTS)
    return b"".join(
        b'#line 1 "%s"\n%s' % (name.encode(), folder.joinpath(name).read_bytes()) for name in parts
    )
