"""Determine the possible releases of Nova from its highest microversion, and the microversion for
each request.

Source: Nova 34.0.0, ``api/openstack/compute/rest_api_version_history.rst``, whose headings say
"Maximum in …"; the numbers of releases are on releases.openstack.org.
"""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.model.server import NovaVersions

Microversion = tuple[int, int]

_MAXIMUM = (
    ((2, 3), 11, 11), ((2, 12), 12, 12), ((2, 25), 13, 13), ((2, 38), 14, 14), ((2, 42), 15, 15),
    ((2, 53), 16, 16), ((2, 60), 17, 17), ((2, 65), 18, 18), ((2, 72), 19, 19), ((2, 79), 20, 20),
    ((2, 87), 21, 22), ((2, 88), 23, 23), ((2, 90), 24, 25), ((2, 93), 26, 26), ((2, 95), 27, 28),
    ((2, 96), 29, 30), ((2, 100), 31, 32), ((2, 103), 33, 33), ((2, 104), 34, 34),
)  # fmt: skip
"""Highest microversion of a release, and the first and the last release that has it: Kilo (11), …,
2026.2 Hibiscus (34)."""

_STORED = (2, 98)
"""``image.properties`` of a server: the properties that Nova keeps for it."""
_FLAVOR = (2, 47)
"""``flavor`` of a server has the extra specs that Nova keeps for it, and no longer the id."""
_DOWN_CELLS = (2, 69)
"""A list of servers includes those of a cell that is down, with few facts; before, Nova leaves them
out silently (its API guide, "Handling Down Cells")."""
_SPECS = (2, 61)
"""``extra_specs`` of a flavor in the list of flavors."""
_PAGES_OF_NODES = (2, 33)
_CPU = (2, 87)
"""The last with ``cpu_info`` of a hypervisor; from 2.88 on Nova instead queries each host for its
uptime, which takes long if one is down."""
_LEAST = (2, 1)


class Microversions(NamedTuple):
    """The microversion for each list, and the features of the answers."""

    servers: Microversion
    flavors: Microversion
    nodes: Microversion

    @property
    def stored_properties(self) -> bool:
        """True if servers come with the image properties that Nova has stored for them."""
        return self.servers >= _STORED

    @property
    def paged_nodes(self) -> bool:
        """True if hypervisors come in pages."""
        return self.nodes >= _PAGES_OF_NODES


def microversions(highest: Microversion | None) -> Microversions:
    """The lowest microversions that return everything needed, as far as this Nova supports them."""
    most = highest or _LEAST
    return Microversions(
        servers=next((each for each in (_STORED, _DOWN_CELLS) if most >= each), min(most, _FLAVOR)),
        flavors=min(most, _SPECS),
        nodes=min(most, _CPU),
    )


def releases(highest: Microversion | None) -> NovaVersions:
    """The releases of Nova with exactly this highest microversion. One between those of two
    releases belongs to a development snapshot of the later one."""
    if highest is None:
        return NovaVersions("")
    text = microversion_text(highest)
    later = [row for row in _MAXIMUM if row[0] >= highest]
    if not later:
        return NovaVersions(text, oldest=_MAXIMUM[-1][2])
    maximum, oldest, newest = later[0]
    if maximum == _MAXIMUM[0][0]:
        return NovaVersions(text, newest=newest)
    return NovaVersions(text, oldest, newest if maximum == highest else oldest)


def microversion_text(microversion: Microversion) -> str:
    """``(2, 98)`` -> ``2.98``."""
    return f"{microversion[0]}.{microversion[1]}"
