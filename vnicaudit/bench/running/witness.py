"""A check of a path right after a failed run, from sources that took no part in the run.

ping says most: if it is answered, packets get through. If it gives no answer (it is not installed,
or a firewall drops it), two more can tell: the peer's neighbour table (ARP; for IPv6 neighbour
discovery), if the target is on a link of the peer, and the counters of the target's NIC, if the
target can be reached in another way (a guest's agent).
"""

from __future__ import annotations

import re

from vnicaudit.bench.contract import Ends
from vnicaudit.bench.guards.ping import Pinged, pinged
from vnicaudit.bench.readable import readable
from vnicaudit.bench.running.arms import OpenedArm
from vnicaudit.errors import EndpointError, MeasureError
from vnicaudit.model.measurement import Witness

_ECHO_REQUESTS = 3
"""Number of echo requests, one of which must be answered."""
_FRESH_SECONDS = 5
"""An address that was confirmed longer ago says nothing about this run."""

# ip/ipneigh.c of iproute2, print_cacheinfo and print_neigh_state
_NEIGHBOUR = re.compile(
    r" used \d{1,10}/(?P<confirmed>\d{1,10})/\d{1,10} ?probes \d{1,10} (?P<state>[A-Z]+) *$",
    re.MULTILINE,
)
_UNRESOLVED = ("FAILED", "INCOMPLETE")


def witness_of(opened: OpenedArm, failed: int | None = None) -> Witness:
    """The state of the path now, in about 3 s at most; with several targets, that of the first that
    does not answer. ``failed``: the index of the target whose run failed: no other is asked then,
    as it might never answer ping."""
    every = (opened, *opened.beside)
    found = [_witness(each) for each in (every if failed is None else (every[failed],))]
    return next((each for each in found if each.answered is False), found[0])


def _witness(opened: OpenedArm) -> Witness:
    answered, detail = _ping(opened.ends)
    return Witness(answered, detail, _resolved(opened.ends), opened.watch.target_counted)


def _ping(ends: Ends) -> tuple[bool | None, str]:
    try:
        with readable("what ping printed"):
            found = pinged(ends, _ECHO_REQUESTS)
    except (EndpointError, MeasureError) as error:
        return None, str(error)
    if not isinstance(found, Pinged):
        return None, found
    return found.received > 0, f"{found.received} of {found.sent} answered"


def _resolved(ends: Ends) -> bool | None:
    """True if the peer has just heard from the NIC that has the address, False if it asks in vain;
    None: unknown, as with a router between them."""
    try:
        ran = ends.peer.run(("ip", "-s", "-o", "neigh", "show", "to", ends.address))
    except EndpointError:
        return None
    return parse_neighbour(ran.stdout) if ran.code == 0 else None


def parse_neighbour(text: str) -> bool | None:
    """The state in the output of ``ip -s -o neigh show to ADDRESS``: see :func:`_resolved`."""
    entries = list(_NEIGHBOUR.finditer(text))
    if len(entries) != 1:
        return None
    (entry,) = entries
    if entry["state"] in _UNRESOLVED:
        return False
    fresh = int(entry["confirmed"]) <= _FRESH_SECONDS
    return True if entry["state"] == "REACHABLE" and fresh else None
