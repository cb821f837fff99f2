"""Can this guest drive virtio-net? Judged from its definition alone.

The abilities of operating systems are in ``readiness.json``, made from osinfo-db by
``scripts/generate_readiness.py``: virtio-net *anywhere* in the system's device list counts, not
only in the first place.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import msgspec

from vnicaudit.base.opening import read_beside
from vnicaudit.model.decoding import json_as
from vnicaudit.model.finding import WINDOWS_RUNS_ON, Readiness

# The emulated NIC that Nova gives an image because of its ``os_distro``.
#
# The table is made by ``scripts/generate_osinfo_models.py``, which queries libosinfo like Nova's
# ``virt/osinfo.py``. The database of each compute node decides, which no API shows.


class Models(msgspec.Struct, frozen=True):
    """``os_distro`` -> the first NIC of that system, if it is emulated and virtio is in its list
    too; the version of osinfo-db. In ``osinfo_models.json``: model -> names of systems, separated
    by spaces."""

    version: str
    models: dict[str, str]


def emulated_model(os_distro: str) -> str | None:
    """The emulated model of a system, compared like in Nova, letter by letter: ``ubuntu22.04`` ->
    e1000e, ``Ubuntu22.04`` -> None."""
    return shipped().models.get(os_distro)


@cache
def shipped() -> Models:
    """The table that comes with this program."""
    table = json_as(read_beside(__file__, "osinfo_models.json"), Models)
    names = {name: model for model, names in table.models.items() for name in names.split()}
    return Models(table.version, names)


READY: Final = "ready"
LIKELY: Final = "likely-ready"
TRANSITIONAL: Final = "ready-transitional"
NEEDS_DRIVER: Final = "needs-driver"
UNKNOWN: Final = "unknown"
NOT_SUPPORTED: Final = "not-supported"

_MICROSOFT = "http://microsoft.com/"
_NO_SYSTEM = ("", "http://libosinfo.org/unknown")
"""Ids that name no system."""


class _ReadinessTable(msgspec.Struct, frozen=True):
    """``readiness.json``: verdict -> id up to the last slash -> last parts, separated by spaces."""

    source: str
    version: str
    verdicts: dict[Readiness, dict[str, str]]


def readiness_of(
    os_id: str | None,
    arch: str | None = None,
    *,
    virtio_nic: bool,
    virtio_disk: bool,
    windows_hint: bool,
) -> Readiness:
    """One of ready, likely-ready, ready-transitional, needs-driver, unknown and not-supported.

    A system known to have no driver for virtio 1.0 stays ``ready-transitional`` whatever else the
    domain has: it needs a device that also supports virtio 0.9. Another virtio NIC in the domain is
    proof. A virtio disk is proof if the system is not Windows, by its name or because Windows does
    not run on ``arch``; if the system is unknown, the guest is only ``likely-ready``, since NetKVM
    is a separate driver. The hint (Hyper-V enlightenments, a clock in local time) counts only if
    the metadata do not name a known system.
    """
    listed = None if os_id is None else _verdicts_by_id().get(os_id)
    windows = (os_id or "").startswith(_MICROSOFT) or (windows_hint and listed is None)
    if listed == TRANSITIONAL:
        return listed
    if virtio_nic:
        return READY
    if windows:
        return NOT_SUPPORTED if listed == NOT_SUPPORTED else NEEDS_DRIVER
    if virtio_disk:
        # anything that shows that it is not Windows, of which there are no signs
        named = os_id is not None and os_id not in _NO_SYSTEM
        return READY if named or arch not in (None, *WINDOWS_RUNS_ON) else LIKELY
    return listed or UNKNOWN


def readiness_of_release(name: str, number: str) -> Readiness | None:
    """ready, ready-transitional or unknown, for a release by its name and number (``rhel``,
    ``6.10``, or ``610`` where that is no number), or a series of releases (``6``), which is ready
    if one of them is; None if the table lists none of these."""
    numbered = [
        (os_id.rpartition("/")[2], verdict)
        for os_id, verdict in _verdicts_by_id().items()
        if os_id.split("/")[-2] == name
    ]
    while number:
        found = {
            verdict for each, verdict in numbered if each == number or each.startswith(f"{number}.")
        } or {verdict for each, verdict in numbered if each.replace(".", "") == number}
        if found:
            return READY if READY in found else TRANSITIONAL if found == {TRANSITIONAL} else UNKNOWN
        number = number.rpartition(".")[0]
    return None


@cache
def _verdicts_by_id() -> dict[str, Readiness]:
    """Id of an operating system -> verdict; read when first needed."""
    table = json_as(read_beside(__file__, "readiness.json"), _ReadinessTable)
    return {
        f"{vendor}{version}": verdict
        for verdict, vendors in table.verdicts.items()
        for vendor, versions in vendors.items()
        for version in versions.split(" ")
    }
