"""The place where the generator runs: the program stored at an end, and its interpreter."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

from vnicaudit.bench.contract import Endpoint, RequiredTool
from vnicaudit.bench.engines._rr.building import built_program
from vnicaudit.bench.generator.packing import NAME, packed_generator
from vnicaudit.errors import EndpointError

PYTHON = RequiredTool(
    "python3",
    {"apt": "python3", "dnf": "python3", "zypper": "python3", "apk": "python3", "pacman": "python"},
)

_PYTHONS = ("python3", "/usr/libexec/platform-python")
"""RHEL 8 has the second one even if no Python was installed."""
_PROBE = "import sys; print(sys.version_info >= (3, 6))"


Language = Literal["python", "c"]
"""The two programs, which have the same command line and output."""


class GeneratorInstall(NamedTuple):
    """``program``: the beginning of its command lines; ``path``: path of the generator; ``key``:
    the key of that end, stored in a file there that only its user can read, and never on a command
    line."""

    program: tuple[str, ...]
    path: str
    key: bytes

    @property
    def key_file(self) -> str:
        """The file from which the generator reads the key."""
        return _key_file(self.path)

    def argv(self, role: str, *words: str) -> tuple[str, ...]:
        """The command line of a role."""
        return (*self.program, role, *words)


_known: WeakKeyDictionary[Endpoint, dict[Language, GeneratorInstall]] = WeakKeyDictionary()


def place(endpoint: Endpoint, language: Language = "python") -> GeneratorInstall:
    """The generator at an endpoint, stored there once. Raises EndpointError if there is no Python
    that is new enough, or no key can be stored, MeasureError if the C program cannot be built."""
    here = _known.setdefault(endpoint, {})
    if language not in here:
        put = _in_c if language == "c" else _in_python
        program, path = put(endpoint)
        here[language] = GeneratorInstall(program, path, _key(endpoint, program, path))
    return here[language]


def _in_c(endpoint: Endpoint) -> tuple[tuple[str, ...], str]:
    path = built_program(endpoint)
    return (path,), path


def _in_python(endpoint: Endpoint) -> tuple[tuple[str, ...], str]:
    """Isolated mode: neither environment nor current folder changes the program that runs."""
    python, path = _python(endpoint), endpoint.put_file(NAME, packed_generator())
    return (python, "-I", path), path


def _key_file(path: str) -> str:
    return f"{path}.key"


def _key(endpoint: Endpoint, program: tuple[str, ...], path: str) -> bytes:
    ran = endpoint.run((*program, "key", _key_file(path)))
    if ran.code != 0 or re.fullmatch(r"[0-9a-f]{64}\n", ran.stdout) is None:
        raise EndpointError(f"{endpoint.url}: the generator has no key there")
    return bytes.fromhex(ran.stdout.strip())


def _python(endpoint: Endpoint) -> str:
    for python in _PYTHONS:
        ran = endpoint.run((python, "-I", "-c", _PROBE))
        if ran.code == 0 and ran.stdout.strip() == "True":
            return python
    raise EndpointError(
        f"{endpoint.url}: python3, 3.6 or newer, cannot be run there; is the package python3 "
        "installed?"
    )
