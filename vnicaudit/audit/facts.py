"""The facts a rule may need, how to look at each, and what would tell where it is missing.

A rule's ``NEEDS`` names keys of this table. A fact that is None (or ``unknown``) means that this
source cannot tell: the rule is skipped, and the report carries the sentence below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from vnicaudit.model.effective import UNKNOWN
from vnicaudit.model.hypervisors import KVM_OR_QEMU
from vnicaudit.model.machines import modern_only_slot
from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.model.nova_options import as_number
from vnicaudit.model.nova_releases import LASTING
from vnicaudit.model.openstack import FOREIGN_VIF_MODELS
from vnicaudit.model.rings import RING_SIZES
from vnicaudit.model.server import ServerConfig


class Fact(msgspec.Struct, frozen=True):
    """``known`` looks at a subject; ``tell`` completes "needs …"."""

    known: Callable[[Any], bool]
    tell: str


def _effective(name: str) -> Callable[[Any], bool]:
    return lambda subject: getattr(subject.effective, name).state != UNKNOWN


def _host(name: str) -> Callable[[Any], bool]:
    return lambda subject: getattr(subject.host, name) is not None


def _slot(subject: Any) -> bool:
    if subject.model == "virtio-non-transitional":
        return True
    return modern_only_slot(subject.nic, subject.domain) is not None


def _model(subject: Any) -> bool:
    """Of a server ``server.model`` tells."""
    return subject.domain.form == "server" or _effective("model")(subject)


def _server_model(subject: Any) -> bool:
    return subject.domain.form != "server" or _effective("model")(subject)


def _server(known: Callable[[ServerConfig], bool]) -> Callable[[Any], bool]:
    """A fact of a server of OpenStack; of any other domain there is no such thing."""

    def looked_at(subject: Any) -> bool:
        server = subject.domain.server
        return server is not None and known(server)

    return looked_at


def _server_kept(subject: Any) -> bool:
    """Its definition tells too."""
    server = subject.domain.server
    return subject.domain.form != "server" or (server is not None and server.kept_by != "unseen")


def _since_lasting(server: ServerConfig) -> bool:
    """Whether it is known if this Nova is one of those in which a change of a server lasts."""
    nova = server.nova
    if nova is None:
        return False
    return (nova.oldest or 0) >= LASTING or (nova.newest is not None and nova.newest < LASTING)


def _kept_by(subject: Any) -> bool:
    """Whether it is known which libvirt keeps it: Nova and oVirt have the system's alone."""
    domain = subject.domain
    system = subject.state is not None or domain.owner in ("nova", "ovirt")
    return system or domain.session is not None


def _domain(name: str) -> Callable[[Any], bool]:
    return lambda subject: getattr(subject.domain, name) is not None


def _option(section: str, name: str) -> Fact:
    """An option of nova.conf: known when it is not set, or set for certain."""

    def known(subject: Any) -> bool:
        nova = subject.nova
        found = (nova.winner(section, name), nova.written(section, name))
        return all(option is None or option.certain for option in found)

    return Fact(known, f"[{section}] {name} as Nova reads it ({_RENDERED})")


def _one_is_wrong_or_all_certain(
    options: Iterable[NovaOption], is_wrong: Callable[[NovaOption], bool]
) -> bool:
    """Of several options: enough is known when one is wrong for certain, or none is uncertain."""
    certain = [option.certain for option in options]
    return all(certain) or any(option.certain and is_wrong(option) for option in options)


def _rings(nova: NovaConfig) -> list[NovaOption]:
    found = (nova.setting("libvirt", name) for name in ("rx_queue_size", "tx_queue_size"))
    return [option for option in found if option is not None]


def _devices(nova: NovaConfig) -> list[NovaOption]:
    names = ("device_spec", "passthrough_whitelist")
    return [o for o in nova.settings if o.section == "pci" and o.name in names]


def _not_current(nova: NovaConfig) -> list[NovaOption]:
    return [o for o in nova.own if (o.known and o.known.status != "current") or o.name[:2] == "--"]


def _is_no_ring(option: NovaOption) -> bool:
    return bool(option.value.strip()) and as_number(option.value) not in RING_SIZES


def _is_refused(option: NovaOption) -> bool:
    form = None if option.known is None else option.known.form
    return form is not None and not form.accepts(option.value)


def _values_known(nova: NovaConfig) -> bool:
    """Enough is known when one value is wrong for certain, or none is uncertain."""
    if any(option.broken for option in nova.settings):
        return True
    return _one_is_wrong_or_all_certain(nova.settings, _is_refused)


def _is_there(nova: NovaConfig, section: str, name: str) -> bool:
    found = [o for o in nova.own if o.name == name and o.section in (section, "")]
    return not found or any(option.present for option in found)


def _model_is_judged(subject: Any) -> bool:
    """Whether the hypervisor an image is for is known, as far as its NIC model depends on it."""
    image = subject.image
    return image.qemu is not None or image.vif_model not in FOREIGN_VIF_MODELS


def _property(kind: str, name: str) -> Fact:
    """A property of an image or flavor: known when it is not seen, or set for certain."""

    def known(subject: Any) -> bool:
        found = getattr(subject, kind).property(name)
        return found is None or bool(found.certain)

    return Fact(known, f"{name} as it will be set (here a variable or a template decides)")


_RENDERED = "the rendered file: here a template or another option decides"

FACTS: dict[str, Fact] = {
    "model": Fact(_model, "the effective model (architecture, or libvirt's dumpxml)"),
    "server.model": Fact(
        _server_model,
        "the server's NIC model (what Nova keeps for it, which Nova 31 and later say; or libvirt "
        "of its compute node, read in the same run)",
    ),
    "server.kept": Fact(
        _server_kept,
        "what Nova keeps for the server (Nova 31 and later say it, by microversion 2.98; or "
        "libvirt of its compute node, read in the same run)",
    ),
    "server.flavor": Fact(
        _server(lambda server: server.flavor is not None and server.flavor.complete),
        "the extra specs of the server's flavor (its cloud's policy hides them from this user)",
    ),
    "server.node": Fact(
        _server(lambda server: server.node is not None),
        "nova.conf of the server's compute node, read in the same run",
    ),
    "server.nova30": Fact(
        _server(_since_lasting),
        "which Nova this is: since 30 image_property set outlasts migrations (nova-manage "
        "--version on a controller)",
    ),
    "session": Fact(
        _kept_by,
        "which libvirt keeps it, the system's or a session's (audit qemu:///system, or the file "
        "below /etc/libvirt/qemu)",
    ),
    "manifest.model": Fact(
        _effective("model"),
        "the interface's model (the rendered manifest, or the preference it refers to beside it)",
    ),
    "manifest.queues": Fact(
        _effective("queues"),
        "networkInterfaceMultiqueue and the vCPUs (the rendered manifest, or the preference and "
        "the instance type it refers to beside it)",
    ),
    "preference.readiness": Fact(
        lambda subject: subject.preference.readiness != "unknown",
        "what guests the preference is for (label instancetype.kubevirt.io/os-type, or annotation "
        "vm.kubevirt.io/os)",
    ),
    "preference.model": Fact(
        lambda subject: "model" not in subject.preference.unseen,
        "preferredInterfaceModel as it is once the template is rendered",
    ),
    "queues": Fact(_effective("queues"), "the effective number of queues"),
    "actual_type": Fact(
        lambda subject: subject.nic.actual_type is not None,
        "what the network is connected to (libvirt's network definition)",
    ),
    "slot": Fact(_slot, "the PCI controller the NIC is behind (libvirt's dumpxml shows them all)"),
    "accelerator": Fact(
        lambda subject: subject.domain.type != KVM_OR_QEMU,
        "the accelerator that QEMU chose, KVM or TCG (its command line leaves it open)",
    ),
    "vcpus": Fact(_domain("vcpus"), "the number of vCPUs"),
    "arch": Fact(_domain("arch"), "the guest's architecture"),
    "shared_memory": Fact(_domain("shared_memory"), "the guest's memory backing"),
    "state": Fact(lambda subject: subject.state is not None, "a live libvirt connection"),
    "running.vhost": Fact(
        lambda subject: subject.running is not None and subject.running.vhost is not None,
        "what runs: QEMU's command line, log or /proc of the hypervisor",
    ),
    "running.log_warning": Fact(
        lambda subject: subject.running is not None and subject.running.log_warning is not None,
        "libvirt's log of the last start",
    ),
    "host.arch": Fact(_host("arch"), "the hypervisor's architecture"),
    "host.backend_vhost": Fact(
        lambda subject: subject.nic.backend_vhost in dict(subject.host.vhost_paths),
        "the hypervisor's /dev (run it on the host itself)",
    ),
    "host.kvm": Fact(
        _host("kvm"), "whether the hypervisor can run KVM (its /dev/kvm and CPU flags)"
    ),
    "host.vhost_net": Fact(
        _host("vhost_net"), "the hypervisor's /dev/vhost-net (run it on the host itself)"
    ),
    "host.zerocopy_tx": Fact(
        _host("zerocopy_tx"), "the hypervisor's /sys/module/vhost_net (run it on the host itself)"
    ),
    "nova.driver": Fact(
        lambda subject: subject.nova.libvirt is not None,
        f"[DEFAULT] compute_driver as Nova reads it ({_RENDERED})",
    ),
    "nova.ring_sizes": Fact(
        lambda subject: _one_is_wrong_or_all_certain(_rings(subject.nova), _is_no_ring),
        f"[libvirt] rx_queue_size and tx_queue_size as Nova reads them ({_RENDERED})",
    ),
    "nova.values": Fact(
        lambda subject: _values_known(subject.nova),
        f"the values of options that bear on NICs, as Nova reads them ({_RENDERED})",
    ),
    "nova.names": Fact(
        lambda subject: any(option.present for option in _not_current(subject.nova)),
        "whether options that this release does not have are there in the rendered file",
    ),
    "nova.devices": Fact(
        lambda subject: any(option.certain for option in _devices(subject.nova)),
        f"the list of PCI devices as Nova reads it ({_RENDERED})",
    ),
    "nova.max_queues": _option("libvirt", "max_queues"),
    "nova.virt_type": _option("libvirt", "virt_type"),
    "nova.use_virtio_for_bridges": _option("libvirt", "use_virtio_for_bridges"),
    "nova.rx_queue_size": _option("libvirt", "rx_queue_size"),
    "nova.tx_queue_size": _option("libvirt", "tx_queue_size"),
    "nova.libvirt_use_virtio_for_bridges": Fact(
        lambda subject: _is_there(subject.nova, "DEFAULT", "libvirt_use_virtio_for_bridges"),
        "whether [DEFAULT] libvirt_use_virtio_for_bridges is there in the rendered file",
    ),
    "image.properties": Fact(
        lambda subject: subject.image.complete,
        "all properties of the image (here only some are set, or the list is filled in)",
    ),
    "image.qemu": Fact(
        _model_is_judged,
        "the hypervisor the image is for (its disk format, or img_hv_type)",
    ),
    "image.hw_vif_model": _property("image", "hw_vif_model"),
    "image.hw_virtio_packed_ring": _property("image", "hw_virtio_packed_ring"),
    "image.os_distro": _property("image", "os_distro"),
    "flavor.hw:vif_multiqueue_enabled": _property("flavor", "hw:vif_multiqueue_enabled"),
    "flavor.hw:virtio_packed_ring": _property("flavor", "hw:virtio_packed_ring"),
    "flavor.vcpus": Fact(
        lambda subject: subject.flavor.vcpus is not None, "the flavor's number of vCPUs"
    ),
}
