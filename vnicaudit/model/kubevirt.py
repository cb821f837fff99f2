"""KubeVirt objects that affect NICs without being virtual machines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from vnicaudit.model.finding import Location, NamedDescription, Readiness

if TYPE_CHECKING:
    from vnicaudit.model.nic import NicConfig

MODELS = frozenset({"e1000", "e1000e", "igb", "ne2k_pci", "pcnet", "rtl8139", "virtio"})
"""Values that KubeVirt accepts as ``model`` (igb: from 1.4.0 on). Source:
``validInterfaceModels`` in KubeVirt's ``pkg/network/admitter/netiface.go``."""

MAX_QUEUES = 256
"""``MultiQueueMaxQueues`` in KubeVirt's ``pkg/virt-launcher/virtwrap/converter/network``."""

REMOVED_BINDINGS = ("slirp", "macvtap", "passt")
"""Fields of an interface that KubeVirt's API still has, but that its admission refuses since v1.3
(``pkg/network/admitter/discontinued.go``, ``pkg/deprecation``)."""


class Manifest(msgspec.Struct, frozen=True, tag="manifest"):
    """Settings for all NICs of a VM, from a KubeVirt manifest and the preference it refers to."""

    kind: str = "VirtualMachine"
    preference: str | None = None
    """``fedora``: the name of the preference it refers to."""
    preference_read: bool = True
    """False: it refers to a preference that was not found."""
    preference_judged: bool = False
    """The preference is judged in this run too, and its problems are reported there."""
    preferred_model: str | None = None
    preferred_readiness: Readiness = "unknown"
    """Readiness for virtio of the guests for which the preference is made."""
    multiqueue: bool | None = None
    """``networkInterfaceMultiqueue``, or else the preference's setting; None: neither is set."""
    multiqueue_read: bool = True
    """False: a template, or a preference that was not found, may set it."""
    transitional: bool = False
    """``useVirtioTransitional``, or else the preference's setting."""
    version: str | None = None
    """Version of KubeVirt, by its KubeVirt object; None: unknown."""
    has_one_queue: bool = False
    """Its running instance reports a virtio NIC with one queue pair."""
    by_image: bool = False
    """Only the name of its container disk shows that the guest supports virtio."""

    @property
    def has_removed_bindings(self) -> bool:
        """True on a release that still has them: at v1.2.2 nothing refuses them, at v1.3.0
        pkg/network/admitter/slirp.go and pkg/virt-config/deprecation do."""
        return re.match(r"v?(?:0|1\.[0-2])(?!\d)", self.version or "") is not None

    def next_model(self, nic: NicConfig) -> str | None:
        """The model that an interface gets at the next start; None: unknown."""
        if "model" in nic.unseen or not (nic.model or self.preference_read):
            return None
        return nic.model or self.preferred_model or "virtio"


class Preference(NamedDescription, frozen=True):
    """A VirtualMachinePreference or VirtualMachineClusterPreference. A field is None if the
    preference does not set it.

    Source: KubeVirt ``staging/src/kubevirt.io/api/instancetype/v1beta1/types.go``.
    """

    scope = "preference"
    described_for = "kubevirt"

    interface_model: str | None = None
    multiqueue: bool | None = None
    transitional: bool | None = None
    pod_interface: bool | None = None
    """``preferredAutoattachPodInterface``: whether a VM without interfaces gets one."""
    kind: str = "VirtualMachineClusterPreference"
    unseen: tuple[str, ...] = ()
    """Fields that a template decides."""
    readiness: Readiness = "unknown"
    """Readiness for virtio of the guests for which it is made, as in
    :class:`~vnicaudit.model.domain.DomainConfig`."""
    places: tuple[tuple[str, Location], ...] = ()
    """Field -> where it is set."""

    def place(self, field: str | None) -> Location:
        """Where a field is set; the preference itself if it is not set."""
        return dict(self.places).get(field or "", self.location)
