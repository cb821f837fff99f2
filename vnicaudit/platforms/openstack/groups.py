"""``GET /os-server-groups``: which servers are to be kept together or apart.

Source: Nova 34.0.0, ``api/openstack/compute/server_groups.py``: pages by offset, members that are
deleted left out, ``all_projects`` heeded for an admin only.
"""

from __future__ import annotations

from collections import defaultdict

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.openstack.calls import CallError, Calls
from vnicaudit.platforms.openstack.pages import Listing, offset_pages, read_error
from vnicaudit.platforms.openstack.versions import Asked, shown

_PAGE = 1000
_FORBIDDEN = 403


class _Group(msgspec.Struct):
    id: str
    members: list[str] = []


class Groups:
    """Ids of server groups by the id of a member."""

    def __init__(self) -> None:
        self.errors: list[ReadError] = []
        self._of: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, group: str, members: list[str]) -> None:
        """Keep one."""
        for member in members:
            self._of[member].append(group)

    def of(self, server: str) -> tuple[str, ...]:
        """Those a server is a member of."""
        return tuple(self._of.get(server, ()))


def read_groups(calls: Calls, asked: Asked) -> Groups:
    """The groups of all projects, or of his own where this user may not see others."""
    found = Groups()
    query = (("all_projects", "True"),)
    listing = Listing(
        "compute", "/os-server-groups", "server_groups", _PAGE, query, shown(asked.flavors)
    )
    try:
        for page in offset_pages(calls, listing, msgspec.json.Decoder(_Group)):
            found.errors += page.errors
            for group in page.items:
                found.add(group.id, group.members)
    except CallError as error:
        if error.status != _FORBIDDEN:
            found.errors.append(read_error(error))
    except TargetError as error:
        found.errors.append(read_error(error))
    return found
