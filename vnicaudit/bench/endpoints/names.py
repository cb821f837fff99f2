"""Host names instead of addresses, resolved at the end that connects: by its hosts file, its DNS
servers, its search domains (``getent ahosts`` of glibc and musl)."""

from __future__ import annotations

import re
from ipaddress import ip_address

from vnicaudit.bench.contract import Endpoint
from vnicaudit.bench.readable import one_line
from vnicaudit.errors import EndpointError, UsageError

_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*(?=[A-Za-z0-9_-]*[A-Za-z]){_LABEL}\.?")
"""A host name. Its last label has a letter; otherwise it is a mistyped address."""
_SECONDS = 30.0
_MOST = 8
_GIVE = "append the address to the URL: ?address=IP"


def is_host_name(text: str) -> bool:
    """True for a name that a resolver can be asked for."""
    return len(text) <= 253 and _NAME.fullmatch(text) is not None


def resolved_at(endpoint: Endpoint, name: str) -> str:
    """The address of a name at that endpoint, IPv4 before IPv6. Raises EndpointError if it has
    none, UsageError if it has several, or a loopback address: another machine resolves such a name
    to something else."""
    ran = endpoint.run(("getent", "ahosts", name), seconds=_SECONDS)
    lines = ran.stdout.splitlines() if ran.code == 0 else []
    found = list(dict.fromkeys(filter(None, map(_address, lines))))
    if not found:
        said = one_line(ran.stderr)
        why = f" ({said})" if said else ""
        raise EndpointError(f"{endpoint.url} cannot resolve {name!r}{why}: {_GIVE}")
    best = [one for one in found if (":" in one) == all(":" in each for each in found)]
    if len(best) > 1:
        shown = ", ".join(best[:_MOST]) + (", …" if len(best) > _MOST else "")
        raise UsageError(f"{name!r} has several addresses at {endpoint.url} ({shown}): {_GIVE}")
    if ip_address(best[0]).is_loopback:
        raise UsageError(
            f"at {endpoint.url}, {name!r} is {best[0]}, which is that end itself: {_GIVE}"
        )
    return best[0]


def _address(line: str) -> str | None:
    """The address in a line of ``getent ahosts``; None if another machine cannot send to it."""
    try:
        return str(ip_address(line.split()[0]))
    except (IndexError, ValueError):
        return None
