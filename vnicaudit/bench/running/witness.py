"""A second witness of a path: where a tool gets nothing through, whether ping does."""

from __future__ import annotations

from vnicaudit.bench.contract import Ends
from vnicaudit.bench.guards.ping import Pinged, pinged
from vnicaudit.bench.readable import readable
from vnicaudit.errors import EndpointError, MeasureError
from vnicaudit.model.measurement import Witness

_COUNT = 3
"""Echo requests, one of which has to be answered."""


def witness_of(ends: Ends) -> Witness:
    """Result of a ping from the peer to the target's address now, in about 3 s at most."""
    try:
        with readable("what ping printed"):
            found = pinged(ends, _COUNT)
    except (EndpointError, MeasureError) as error:
        return Witness(None, str(error))
    if not isinstance(found, Pinged):
        return Witness(None, found)
    return Witness(found.received > 0, f"{found.received} of {found.sent} answered")
