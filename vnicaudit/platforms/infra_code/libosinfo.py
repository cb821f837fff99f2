"""Which emulated NIC Nova gives an image because of its ``os_distro``.

The table is made by ``scripts/generate_osinfo_models.py``, which asks libosinfo what Nova's
``virt/osinfo.py`` asks it.
"""

from __future__ import annotations

import json
import pkgutil
from functools import cache


def emulated_model(os_distro: str) -> str | None:
    """The first NIC of an operating system, where it is emulated and virtio is in its list too.
    Compared as Nova does, letter by letter: ``ubuntu22.04`` -> e1000e, ``Ubuntu22.04`` -> None."""
    return _models().get(os_distro)


@cache
def _models() -> dict[str, str]:
    data = pkgutil.get_data(__package__, "osinfo_models.json") or b"{}"
    table: dict[str, str] = json.loads(data)["models"]
    return {name: model for model, names in table.items() for name in names.split()}
