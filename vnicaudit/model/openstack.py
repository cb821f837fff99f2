"""Images and flavors of OpenStack, as far as they affect NICs.

Source of the names: Nova 34.0.0, ``objects/fields.py`` (VIFModel), ``objects/image_meta.py``,
``virt/libvirt/vif.py`` (SUPPORTED_VIF_MODELS) and ``api/validation/extra_specs/hw.py``.
"""

from __future__ import annotations

import msgspec

from vnicaudit.model.guest_words import S390, Readiness
from vnicaudit.model.location import Description, Location

VIF_MODELS = frozenset({
    "virtio", "ne2k_pci", "pcnet", "rtl8139", "e1000", "e1000e", "netfront", "spapr-vlan",
    "lan9118", "sriov", "vmxnet", "vmxnet3", "igb",
})  # fmt: skip
"""Values that Nova accepts as ``hw_vif_model``, for all its hypervisors."""

FOREIGN_VIF_MODELS = frozenset({"netfront", "vmxnet", "sriov", "lan9118"})
"""Those that Nova's libvirt driver refuses with KVM, but another driver may accept."""

_LEGACY_VIF_MODELS = {
    "virtuale1000": "e1000",
    "virtuale1000e": "e1000e",
    "virtualpcnet32": "pcnet",
    "virtualsriovethernetcard": "sriov",
    "virtualvmxnet": "vmxnet",
    "virtualvmxnet3": "vmxnet3",
}

_TRUE = frozenset({"1", "t", "true", "on", "y", "yes"})

_LINUX = frozenset({
    "almalinux", "alpine", "arch", "centos", "cirros", "debian", "fedora", "fedora-coreos",
    "flatcar", "gentoo", "mandrake", "mandriva", "opensuse", "oracle", "rhel", "rocky", "sled",
    "sles", "ubuntu",
})  # fmt: skip
"""Values of ``os_distro`` for Linux that Glance's documentation lists, and others in use."""

_QEMU_TYPES = frozenset({"kvm", "qemu"})
_QEMU_FORMATS = {
    "raw": True,
    "qcow2": True,
    "vmdk": False,
    "vhd": False,
    "vhdx": False,
    "ova": False,
}
"""Disk format -> whether it is for QEMU (libvirt driver) or for another hypervisor's driver."""


class Property(msgspec.Struct, frozen=True):
    """One image property or flavor extra spec, and its place. ``certain`` False: the value is
    unknown until a template is rendered or a variable has its value."""

    name: str
    value: str
    location: Location
    certain: bool = True


class Image(Description, frozen=True):
    """One image. ``complete`` False: it may have further properties (a command that only sets some,
    a list that is filled in)."""

    target: str
    name: str
    location: Location
    properties: tuple[Property, ...] = ()
    complete: bool = False
    disk_format: str | None = None
    libosinfo_model: str | None = None
    """The emulated NIC that libosinfo lists first for its ``os_distro``, if it lists virtio for
    that system as well. None: there is no such NIC, or it is unknown."""
    id: str | None = None
    """The id, in a live cloud."""
    servers: int | None = None
    """Number of visible servers that were created from it; None: not counted."""
    updated: str = ""
    """Time of its last change, as reported by Glance (UTC, ISO 8601)."""
    owner: str = ""
    """The id of its project."""
    owner_name: str = ""
    """The name of that project; empty: unknown."""
    nova: int | None = None
    """The newest release of Nova (its major number) that it may be for; None: unknown."""
    readiness: Readiness = "unknown"
    """Readiness for virtio of the system in it, in the words of
    :attr:`~vnicaudit.model.domain.DomainConfig.readiness` and by the same rules."""
    proven: bool = False
    """A server that was created from it, and is not Windows, has run with virtio."""

    def first_line(self) -> int | None:
        """The line on which it begins."""
        return self.location.line

    @property
    def vif_model(self) -> str | None:
        """``hw_vif_model`` as Nova reads it: lower case, old names replaced."""
        value = self.certain_value("hw_vif_model")
        return None if value is None else normal_vif_model(value)

    @property
    def qemu(self) -> bool | None:
        """True if servers of this image run on QEMU; None if the image does not tell."""
        kind = self.certain_value("img_hv_type") or self.certain_value("hypervisor_type")
        if kind is not None:
            return kind.lower() in _QEMU_TYPES
        if any(found.name.startswith(("vmware_", "xenapi_")) for found in self.properties):
            return False
        return _QEMU_FORMATS.get(self.disk_format or "")

    @property
    def architecture(self) -> str | None:
        """The architecture of its servers: ``hw_architecture``, for which Nova accepts
        ``architecture`` (``objects/image_meta.py``), or the one to emulate
        (``_check_emulation_arch`` in ``virt/libvirt/driver.py``); in any case of letters."""
        names = ("hw_emulation_architecture", "hw_architecture", "architecture")
        found = next((text for name in names if (text := self.certain_value(name))), None)
        return None if found is None else found.lower()

    @property
    def on_z(self) -> bool:
        """True if the image's properties say s390x."""
        return self.architecture in S390

    @property
    def linux(self) -> bool:
        """True if the image's properties say that it contains Linux."""
        kind, system = self.certain_value("os_type") or "", self.certain_value("os_distro") or ""
        return kind.lower() == "linux" or _system_name(system) in _LINUX

    @property
    def windows(self) -> bool:
        """True if the image's properties say that it contains Windows, which has no virtio driver
        of its own."""
        system = (self.certain_value("os_distro") or "").lower()
        return (self.certain_value("os_type") or "").lower() == "windows" or system.startswith(
            ("win", "http://microsoft.com/")
        )

    @property
    def use(self) -> str:
        """How many servers were created from it, as the end of a message; empty if they were not
        counted."""
        if self.servers is None:
            return ""
        if self.servers == 1:
            return "; used by 1 server"
        return f"; used by {self.servers or 'no'} servers"

    def property(self, name: str) -> Property | None:
        """The property that is in effect: the last of several."""
        return _last(self.properties, name)

    def certain_value(self, name: str) -> str | None:
        """The value of a property that is set for certain."""
        return _certain(self.property(name))


class Flavor(Description, frozen=True):
    """One flavor. ``complete`` as for an image; ``vcpus`` None: unknown here. ``images`` are those
    that a server (described in the same file, or of the same cloud) boots with this flavor."""

    target: str
    name: str
    location: Location
    properties: tuple[Property, ...] = ()
    complete: bool = False
    vcpus: int | None = None
    images: tuple[Image, ...] = ()
    id: str | None = None
    servers: int | None = None
    """Number of visible servers that use it; None: not counted."""

    def first_line(self) -> int | None:
        """The line on which it begins."""
        return self.location.line

    def property(self, name: str) -> Property | None:
        """The extra spec that is in effect: the last of several."""
        return _last(self.properties, name)

    def certain_value(self, name: str) -> str | None:
        """The value of an extra spec that is set for certain."""
        return _certain(self.property(name))

    def contradicted(self, spec: str, name: str) -> tuple[Image, ...]:
        """Images of the flavor that set the flag ``name`` to the opposite of the value of ``spec``
        here: Nova refuses a server with both (``FlavorImageConflict``)."""
        said = self.certain_value(spec)
        return tuple(image for image in self.images if _opposed(said, image.certain_value(name)))


def _opposed(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and as_flag(one) != as_flag(other)


def _system_name(os_distro: str) -> str:
    """The system of an ``os_distro`` without its version, which libosinfo's short ids include:
    ``debian12`` -> debian, ``sles15sp5`` -> sles."""
    name = os_distro.lower()
    version = next((place for place, letter in enumerate(name) if letter.isdigit()), len(name))
    return name[:version].removesuffix("-stream").rstrip("-")


def normal_vif_model(text: str) -> str:
    """A NIC model as Nova stores it: ``VirtualVmxnet3`` -> ``vmxnet3``."""
    lower = text.lower()
    return _LEGACY_VIF_MODELS.get(lower, lower)


def as_flag(text: str) -> bool:
    """A flag as Nova reads it: ``oslo_utils.strutils.bool_from_string``, for which everything that
    is not a word for yes means no."""
    return text.strip().lower() in _TRUE


def _last(properties: tuple[Property, ...], name: str) -> Property | None:
    return next((found for found in reversed(properties) if found.name == name), None)


def _certain(found: Property | None) -> str | None:
    return found.value if found is not None and found.certain else None
