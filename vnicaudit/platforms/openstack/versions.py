"""The highest microversion of Nova -> which releases it may be, and what is asked with which.

Source: Nova 34.0.0, ``api/openstack/compute/rest_api_version_history.rst``, whose headings say
"Maximum in …"; which release has which number is on releases.openstack.org.
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
"""``image.properties`` of a server: what Nova keeps for it."""
_FLAVOR = (2, 47)
"""``flavor`` of a server with its extra specs, as Nova keeps it, and no longer its id."""
_DOWN_CELLS = (2, 69)
"""A list of servers has those of a cell that is down too, with little of each; before, Nova leaves
them out without a word (its API guide, "Handling Down Cells")."""
_SPECS = (2, 61)
"""``extra_specs`` of a flavor in the list of flavors."""
_PAGES_OF_NODES = (2, 33)
_CPU = (2, 87)
"""The last with ``cpu_info`` of a hypervisor; from 2.88 on Nova asks each host for its uptime
instead, which takes long where one is down."""
_LEAST = (2, 1)


class Microversions(NamedTuple):
    """The microversion that each list is asked with, and the features of the answers."""

    servers: Microversion
    flavors: Microversion
    nodes: Microversion

    @property
    def stored_properties(self) -> bool:
        """Servers come with the image properties that Nova has stored for them."""
        return self.servers >= _STORED

    @property
    def paged_nodes(self) -> bool:
        """Hypervisors come in pages."""
        return self.nodes >= _PAGES_OF_NODES


def microversions(highest: Microversion | None) -> Microversions:
    """The lowest microversions that have all that is read, as far as a Nova goes."""
    most = highest or _LEAST
    return Microversions(
        servers=next((each for each in (_STORED, _DOWN_CELLS) if most >= each), min(most, _FLAVOR)),
        flavors=min(most, _SPECS),
        nodes=min(most, _CPU),
    )


def releases(highest: Microversion | None) -> NovaVersions:
    """Which releases of Nova have just this highest microversion. One between those of two
    releases is of a snapshot on the way to the later one."""
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
