"""The program that makes requests: its source in C, and how it is compiled on this machine, for the
architecture of each end. No end needs a compiler.

With ``cc`` for this machine's own architecture; with ``zig cc`` of the extra ``generator`` (PyPI:
ziglang) for any, as a static program. docs/decisions/0010-generator-in-c.md
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from vnicaudit.base.wording import one_line
from vnicaudit.errors import MeasureError, install_command

PARTS = ("program", "sockets", "worker", "client", "main")
"""Files of ``native``, in the order in which they are compiled: each uses the ones before it."""

FLAGS = ("-std=c11", "-O2", "-pthread")
_COMPILERS = ("cc", "gcc", "clang")
_ZIG = {
    "x86_64": "x86_64",
    "aarch64": "aarch64",
    "s390x": "s390x",
    "ppc64le": "powerpc64le",
    "riscv64": "riscv64",
}
"""``uname -m`` -> zig's name of the architecture."""
_SECONDS = 900.0
"""Time in which even a busy machine has compiled it; zig first compiles a C library."""


def source() -> bytes:
    """The source; a compiler's messages name the file of each line."""
    folder = files(__package__).joinpath("native")
    return b"".join(
        b'#line 1 "%s.c"\n%s' % (name.encode(), folder.joinpath(f"{name}.c").read_bytes())
        for name in PARTS
    )


@cache
def built(machine: str) -> bytes:
    """The program for ends of that architecture (``uname -m``). Raises MeasureError with what to
    install, or what the compilers said."""
    said = []
    with tempfile.TemporaryDirectory(prefix="vnicaudit-") as folder:
        text, program = Path(folder, "rr.c"), Path(folder, "rr")
        text.write_bytes(source())
        for compiler in _commands(machine):
            why = _compiled((*compiler, "-o", str(program), str(text)))
            if not why:
                return program.read_bytes()
            said.append(f"{' '.join(compiler[:1])}: {why}")
    raise MeasureError(
        f"the generator of requests cannot be built on this machine for {machine}: {_advice(said)}"
    )


def _commands(machine: str) -> Iterator[tuple[str, ...]]:
    """Compilers with their flags, the one whose program runs on most ends first."""
    own = next(filter(shutil.which, _COMPILERS), None) if machine == platform.machine() else None
    if own:
        yield (own, *FLAGS, "-static", "-s")
    if machine in _ZIG and find_spec("ziglang") is not None:
        target = f"{_ZIG[machine]}-linux-musl"
        yield (sys.executable, "-m", "ziglang", "cc", "-target", target, *FLAGS, "-static", "-s")
    if own:
        yield (own, *FLAGS, "-s")


def _compiled(argv: tuple[str, ...]) -> str:
    """Compile; returns why that failed."""
    try:
        ran = subprocess.run(argv, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return one_line(str(error))
    if ran.returncode == 0:
        return ""
    return one_line(_first_error(ran.stderr.decode("utf-8", "replace"))) or f"exit {ran.returncode}"


def _first_error(text: str) -> str:
    """The line of a compiler's output with the problem: the first one labelled as an error, else
    the last."""
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line]
    return (errors or lines[-1:] or [""])[0]


def _advice(said: list[str]) -> str:
    if said:
        return "; ".join(said)
    return f"{install_command('generator')}, or, for this machine's own architecture, a C compiler"
