"""``GET /os-server-groups``: which servers are to be kept together or apart.

Source: Nova 34.0.0, ``api/openstack/compute/server_groups.py``: pages by offset, members that are
deleted left out, ``all_projects`` heeded for an admin only.
"""

from __future__ import annotations

from collections import defaultdict

import msgspec

from vnicaudit.model.decoding import json_decoder
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.openstack.calls import Calls
from vnicaudit.platforms.openstack.pages import Listing, offset_pages
from vnicaudit.platforms.openstack.refusals import take_all
from vnicaudit.platforms.openstack.versions import Microversions, shown

_PAGE = 1000
_FORBIDDEN = frozenset({403})


class RawGroup(msgspec.Struct):
    """One group as Nova says it."""

    id: str
    members: list[str] = []


class Groups:
    """Ids of server groups by the id of a member. ``seen`` False: this user may not see them; None:
    they could not be read, and ``errors`` say why."""

    def __init__(self) -> None:
        self.seen: bool | None = None
        self.errors: list[ReadError] = []
        self._of: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, raw: RawGroup) -> None:
        """Keep one."""
        for member in raw.members:
            self._of[member].append(raw.id)

    def of(self, server: str) -> tuple[str, ...]:
        """Those a server is a member of."""
        return tuple(self._of.get(server, ()))


def read_groups(calls: Calls, microversions: Microversions) -> Groups:
    """The groups of all projects, or of his own where this user may not see others."""
    found = Groups()
    query = (("all_projects", "True"),)
    listing = Listing(
        "compute", "/os-server-groups", "server_groups", _PAGE, query, shown(microversions.flavors)
    )
    listed = offset_pages(calls, listing, json_decoder(RawGroup))
    found.seen = take_all(listed, found.add, found.errors, _FORBIDDEN)
    return found
