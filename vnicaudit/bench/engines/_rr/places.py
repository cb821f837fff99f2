"""The generator at the ends: built once for each architecture, and stored once at each end."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from vnicaudit.bench.contract import Endpoint
from vnicaudit.bench.generator import built
from vnicaudit.bench.readable import one_line
from vnicaudit.errors import MeasureError

NAME = "vnicaudit-rr"
_USAGE = 2
"""Exit code of the program without a role."""

_stored: WeakKeyDictionary[Endpoint, str | MeasureError] = WeakKeyDictionary()
"""Path of the program, or why there is none: asked for once at each end in a session."""


def program_at(endpoint: Endpoint) -> str:
    """The path of the program at an endpoint, in the session's folder. Raises MeasureError with the
    reason if it cannot be built, or does not run there, EndpointError if the end is lost."""
    if endpoint not in _stored:
        try:
            _stored[endpoint] = _store(endpoint)
        except MeasureError as error:
            _stored[endpoint] = error
    found = _stored[endpoint]
    if isinstance(found, MeasureError):
        raise found
    return found


def _store(endpoint: Endpoint) -> str:
    machine = endpoint.run(("uname", "-m")).stdout.strip()
    path = endpoint.put_file(NAME, built(machine))
    endpoint.run(("chmod", "700", path))
    tried = endpoint.run((path,))
    if tried.code != _USAGE:
        said = one_line(tried.stderr, last=True) or f"exit {tried.code}"
        raise MeasureError(f"{endpoint.url}: the generator of requests does not run there: {said}")
    return path
