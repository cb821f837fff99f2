"""The devices by which a host is managed: those of the routes to the machine that logged in by ssh,
and to the address that it logged in to.

The second matters in a network namespace through which the host itself is reached; there, the
address is none of its own, and the route is asked for without it. Sources: ssh(1),
*SSH_CONNECTION*; ip-route(8), *get*: the kernel answers by its rules and all tables, except those
of a VRF, which it uses for sockets that are bound to it.
"""

from __future__ import annotations

import re

from vnicaudit.platforms.host.readings import HostCommand, HostFact, HostReadings

_SESSION = "ssh session"
_TO, _FROM = "way to the client", "way from the client"
_VRF = HostCommand("ip link show type vrf")
_SCRIPT = f"""
session() {{ # of the nearest process that has one: sudo removes it from the environment
    each=$$ found=
    while [ -z "$found" ] && [ "${{each:-0}}" -gt 1 ]; do
        found=$(tr '\\0' '\\n' <"/proc/$each/environ" | sed -n 's/^SSH_CONNECTION=//p')
        each=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$each/status")
    done 2>/dev/null
    printf '%s' "$found"
}}
ways() {{ # CLIENT PORT SERVER PORT
    part '{_SESSION}'
    printf '%s' "$1"
    [ -n "$1" ] || return 0
    client=${{1%%\\%*}} server=${{3%%\\%*}} zone=
    [ "$client" = "$1" ] || zone=${{1#*%}}
    fact '{_TO}' limited ip -o route get "$client" ${{zone:+oif "$zone"}}
    fact '{_TO}' limited ip -o route get "$client" from "$server" ${{zone:+oif "$zone"}}
    fact '{_FROM}' limited ip -o route get "$server" ${{zone:+oif "$zone"}}
}}
ways $(session)
"""
_DEVICE = re.compile(r" dev (\S{1,15})(?=\s|$)")


def read(readings: HostReadings) -> dict[str, object]:
    """The devices; empty without a session by ssh."""
    if readings.output(_SESSION) == "":
        return {"managed_by": ()}
    to, back = (_DEVICE.search(readings.output(name) or "") for name in (_TO, _FROM))
    has_vrf = bool((readings.output(_VRF.name) or "").strip())
    if to is None or has_vrf:
        return {}
    return {"managed_by": tuple(dict.fromkeys(match[1] for match in (to, back) if match))}


FACT = HostFact("management", read, script=_SCRIPT, commands=(_VRF,))
