"""Where the generator runs: the Python of an end, and the program that was put there."""

from __future__ import annotations

import re
from typing import NamedTuple
from weakref import WeakKeyDictionary

from vnicaudit.bench.contract import Endpoint, Tool
from vnicaudit.bench.generator.packing import NAME, packed
from vnicaudit.errors import EndpointError

PYTHON = Tool(
    "python3",
    {"apt": "python3", "dnf": "python3", "zypper": "python3", "apk": "python3", "pacman": "python"},
)

_PYTHONS = ("python3", "/usr/libexec/platform-python")
"""RHEL 8 has the second even where no Python was installed."""
_PROBE = "import sys; print(sys.version_info >= (3, 6))"


class Place(NamedTuple):
    """``python``: the program; ``path``: of the generator; ``key``: of that end, which is in a file
    there that only its user can read, and on no command line."""

    python: str
    path: str
    key: bytes

    @property
    def key_file(self) -> str:
        """Where the generator finds the key."""
        return _key_file(self.path)

    def argv(self, role: str, *words: str) -> tuple[str, ...]:
        """The command line of a role. Isolated: no environment or folder changes what is run."""
        return _argv(self.python, self.path, role, *words)


_known: WeakKeyDictionary[Endpoint, Place] = WeakKeyDictionary()


def place(endpoint: Endpoint) -> Place:
    """What is at an endpoint; asked and put there once. Raises EndpointError where no Python runs
    that is new enough."""
    found = _known.get(endpoint)
    if found is None:
        python, path = _python(endpoint), endpoint.put(NAME, packed())
        found = _known[endpoint] = Place(python, path, _key(endpoint, python, path))
    return found


def _key_file(path: str) -> str:
    return f"{path}.key"


def _key(endpoint: Endpoint, python: str, path: str) -> bytes:
    ran = endpoint.run(_argv(python, path, "key", _key_file(path)))
    if ran.code != 0 or re.fullmatch(r"[0-9a-f]{64}\n", ran.stdout) is None:
        raise EndpointError(f"{endpoint.url}: the generator has no key there")
    return bytes.fromhex(ran.stdout.strip())


def _argv(python: str, path: str, role: str, *words: str) -> tuple[str, ...]:
    return (python, "-I", path, role, *words)


def _python(endpoint: Endpoint) -> str:
    for python in _PYTHONS:
        ran = endpoint.run((python, "-I", "-c", _PROBE))
        if ran.code == 0 and ran.stdout.strip() == "True":
            return python
    raise EndpointError(
        f"{endpoint.url}: python3, 3.6 or newer, does not run there; is the package python3 "
        "installed?"
    )
