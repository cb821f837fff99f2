"""Guests and their NICs, as definitions describe them."""

from msgspec.structs import replace

from vnicaudit.model.domain import Domain, DomainConfig, DomainState
from vnicaudit.model.finding import Location
from vnicaudit.model.nic import Nic, NicConfig

HERE = Location("test")
MAC = "52:54:00:aa:bb:01"

PC = DomainConfig(type="kvm", arch="x86_64", machine="pc-i440fx-7.2", vcpus=4, nics=1)
Q35 = DomainConfig(type="kvm", arch="x86_64", machine="pc-q35-7.2", vcpus=4, nics=1)
S390X = DomainConfig(
    type="kvm", arch="s390x", machine="s390-ccw-virtio-7.2", vcpus=4, nics=1
)  # fmt: skip


def pci(
    model: str | None, address: str | None = "0000:00:03.0", index: int = 0, **set_: object
) -> Nic:
    """A NIC on a bridge and on PCI. ``address=None``: libvirt has yet to give it one."""
    bus = None if address is None else int(address.split(":")[1], 16)
    kind = None if address is None else "pci"
    return nic(model, address, kind, index, address_bus=bus, **set_)


def ccw(model: str | None, address: str = "fe.0.0001", index: int = 0, **set_: object) -> Nic:
    """A NIC on the channel subsystem of s390x."""
    return nic(model, address, "ccw", index, **set_)


def nic(
    model: str | None, address: str | None, kind: str | None, index: int, **set_: object
) -> Nic:
    """Any NIC."""
    config = {"type": "bridge", "actual_type": "bridge", "model": model, "address_type": kind}
    return Nic(
        index=index,
        declared=NicConfig(**{**config, **set_}),  # type: ignore[arg-type]
        location=HERE,
        mac=f"{MAC[:-1]}{index + 1}",
        address=address,
    )


def guest(
    declared: DomainConfig, *nics: Nic, os: str | None = None, active: bool | None = None
) -> Domain:
    """A domain. ``os``: what the guest's agent says of its system."""
    state = DomainState(active=active, guest_os=os) if os or active is not None else None
    return Domain("d", declared, HERE, nics=nics).with_state(state)


MACHINES = {"pc": PC, "q35": Q35, "s390x": S390X}


def nic_in(
    *, model: str | None, bus: str = "pci", address: str | None = "", index: int = 0, **set_: object
) -> Nic:
    """A NIC of a table; it has the usual address of its bus, unless the table says another."""
    at = {} if address == "" else {"address": address}
    if bus in ("pci", "ccw"):
        return (pci if bus == "pci" else ccw)(model, index=index, **at, **set_)  # type: ignore[arg-type]
    return nic(model, None, bus, index, **set_)


def domain_in(*, machine: str = "pc", **set_: object) -> DomainConfig:
    """What a table says of a domain: its machine, and fields that are not as usual."""
    return replace(MACHINES[machine], **set_)
