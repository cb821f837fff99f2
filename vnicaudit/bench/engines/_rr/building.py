"""The generator in C at an end: its source is stored there, and compiled by any available
compiler."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from vnicaudit.bench.contract import Endpoint, RequiredTool
from vnicaudit.bench.generator.native_source import FLAGS, NAME, native_source
from vnicaudit.bench.readable import one_line
from vnicaudit.errors import MeasureError

COMPILER = RequiredTool(
    "cc",
    {
        "apt": "gcc libc6-dev",
        "dnf": "gcc glibc-devel",
        "zypper": "gcc glibc-devel",
        "apk": "gcc musl-dev",
        "pacman": "gcc",
    },
)
_COMPILERS = (COMPILER.program, "gcc", "clang")
_SECONDS = 120.0
"""Time in which even an emulated guest has compiled it."""
_NOT_FOUND = 127
_USAGE = 2
"""Exit code of the program without a role."""

_built: WeakKeyDictionary[Endpoint, str | MeasureError] = WeakKeyDictionary()
"""Path of the program, or why there is none: asked for once at each end in a session."""


def built_program(endpoint: Endpoint) -> str:
    """The path of the program at an endpoint, in the session's folder. Raises MeasureError with the
    reason if it cannot be built."""
    if endpoint not in _built:
        try:
            _built[endpoint] = _build(endpoint)
        except MeasureError as error:
            _built[endpoint] = error
    found = _built[endpoint]
    if isinstance(found, MeasureError):
        raise found
    return found


def _build(endpoint: Endpoint) -> str:
    source = endpoint.put_file(NAME, native_source())
    program = source.removesuffix(".c")
    for compiler in _COMPILERS:
        argv = (compiler, *FLAGS, "-o", program, source)
        ran = endpoint.run(argv, seconds=_SECONDS)
        if ran.code != _NOT_FOUND:
            break
    else:
        raise MeasureError(f"{endpoint.url} has no C compiler")
    if ran.code != 0:
        said = one_line(_first_error(ran.stderr)) or f"exit {ran.code}"
        raise MeasureError(f"{endpoint.url}: {compiler} cannot compile the generator: {said}")
    tried = endpoint.run((program,))
    if tried.code != _USAGE:
        said = one_line(tried.stderr, last=True) or f"exit {tried.code}"
        raise MeasureError(
            f"{endpoint.url}: the generator that {compiler} built does not run there: {said}"
        )
    return program


def _first_error(text: str) -> str:
    """The line of a compiler's output with the problem: the first one labelled as an error, else
    the last."""
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line]
    return (errors or lines[-1:] or [""])[0]
