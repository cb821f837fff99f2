"""Where the generator runs: the Python of an end, and the program that was put there."""

from __future__ import annotations

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
    """``python``: the program; ``path``: of the generator."""

    python: str
    path: str

    def argv(self, role: str, *words: str) -> tuple[str, ...]:
        """The command line of a role. Isolated: no environment or folder changes what is run."""
        return (self.python, "-I", self.path, role, *words)


_known: WeakKeyDictionary[Endpoint, Place] = WeakKeyDictionary()


def place(endpoint: Endpoint) -> Place:
    """What is at an endpoint; asked and put there once. Raises EndpointError where no Python runs
    that is new enough."""
    found = _known.get(endpoint)
    if found is None:
        found = _known[endpoint] = Place(_python(endpoint), endpoint.put(NAME, packed()))
    return found


def _python(endpoint: Endpoint) -> str:
    for python in _PYTHONS:
        ran = endpoint.run((python, "-I", "-c", _PROBE))
        if ran.code == 0 and ran.stdout.strip() == "True":
            return python
    raise EndpointError(
        f"{endpoint.url}: python3, 3.6 or newer, does not run there; is the package python3 "
        "installed?"
    )
