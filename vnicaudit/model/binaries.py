"""Models that QEMU's binaries do not have, by architecture and version.

Sources: ``qemu-system-x86_64 -device help`` of QEMU 7.2 and 10.0; ``qemu-system-s390x`` measured
with 7.2.22 (virtio only) and 10.0.13 (e1000e and igb too).
"""

from __future__ import annotations

from vnicaudit.model.machines import PPC64, S390, X86
from vnicaudit.model.models import E1000E, VIRTIO, model_of_driver
from vnicaudit.model.version import Version

IGB = Version(8, 0)
"""The QEMU that brought igb."""

_WITHOUT_E1000E = Version(7, 2, 9999)
"""Up to the 7.2 series the s390x binary has virtio only; 10.0 has e1000e and igb. In between
nothing is claimed."""

_ON_BOARD = frozenset({"lan9118", "smc91c111", "scm91c111", "ftgmac100", "xgmac", "dp8393x"})
_ABSENT = {
    **dict.fromkeys(X86, _ON_BOARD | {"spapr-vlan", "virtio-net-ccw", "sungem", "sunhme"}),
    **dict.fromkeys(PPC64, _ON_BOARD | {"virtio-net-ccw"}),
}
"""Architecture -> models that no QEMU has there: parts of other boards and buses."""


def absent_on(model: str, arch: str | None) -> bool:
    """Whether no QEMU of an x86 or POWER architecture has this model."""
    return model in _ABSENT.get(arch or "", ())


def absent_on_s390(model: str, qemu: Version | None) -> bool:
    """Whether the s390x binary of this version (None: not known) has no such model."""
    if model_of_driver(model) in VIRTIO:
        return False
    return model not in E1000E or (qemu is not None and qemu <= _WITHOUT_E1000E)


def lacks(model: str, arch: str | None, qemu: Version | None) -> bool:
    """Whether the QEMU of this architecture and version is known to have no such model; None is
    not known."""
    if arch in S390:
        return absent_on_s390(model, qemu)
    return absent_on(model, arch) or (model == "igb" and qemu is not None and qemu < IGB)
