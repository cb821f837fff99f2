"""The emulated NIC that Nova gives an image because of its ``os_distro``.

The shipped table is made by ``scripts/generate_osinfo_models.py``, which queries libosinfo like
Nova's ``virt/osinfo.py``. The reader of a live cloud prefers the database of the machine it runs on
(:mod:`vnicaudit.platforms.openstack.osinfo_db`), if there is one: it may be newer. In the end the
database of each compute node decides, which no API shows.
"""

from __future__ import annotations

from functools import cache

import msgspec

from vnicaudit.base.opening import read_beside
from vnicaudit.model.decoding import json_as


class Models(msgspec.Struct, frozen=True):
    """``os_distro`` -> the first NIC of that system, if it is emulated and virtio is in its list
    too; the version of osinfo-db, and whether that is installed on this machine."""

    version: str
    models: dict[str, str]
    installed: bool = False

    def emulated_model(self, os_distro: str) -> str | None:
        """Compared like in Nova, letter by letter: ``ubuntu22.04`` -> e1000e, ``Ubuntu22.04`` ->
        None."""
        return self.models.get(os_distro)


class _ModelsTable(msgspec.Struct, frozen=True):
    """``osinfo_models.json``: model -> names of systems, separated by spaces."""

    version: str
    models: dict[str, str]


def emulated_model(os_distro: str) -> str | None:
    """The emulated model by the shipped table, which is the same on every machine."""
    return shipped().emulated_model(os_distro)


@cache
def shipped() -> Models:
    """The table that comes with this program."""
    table = json_as(read_beside(__file__, "osinfo_models.json"), _ModelsTable)
    names = {name: model for model, names in table.models.items() for name in names.split()}
    return Models(table.version, names)
