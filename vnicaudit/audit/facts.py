"""The facts a rule may need, how to look at each, and what would tell where it is missing.

A rule's ``NEEDS`` names keys of this table. A fact that is None (or ``unknown``) means that this
source cannot tell: the rule is skipped, and the report carries the sentence below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from vnicaudit.model.effective import UNKNOWN
from vnicaudit.model.hypervisors import KVM_OR_QEMU
from vnicaudit.model.machines import modern_only_slot


class Fact(NamedTuple):
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


def _domain(name: str) -> Callable[[Any], bool]:
    return lambda subject: getattr(subject.domain, name) is not None


def _option(section: str, name: str) -> Fact:
    """An option of nova.conf: known when it is not set, or set for certain."""

    def known(subject: Any) -> bool:
        nova = subject.nova
        found = (nova.winner(section, name), nova.written(section, name))
        return all(option is None or option.certain for option in found)

    return Fact(known, f"[{section}] {name} as Nova reads it ({_RENDERED})")


_RENDERED = "the rendered file: here a template or another option decides"

FACTS: dict[str, Fact] = {
    "model": Fact(_effective("model"), "the effective model (architecture, or libvirt's dumpxml)"),
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
    "nova.virt_type": _option("libvirt", "virt_type"),
    "nova.use_virtio_for_bridges": _option("libvirt", "use_virtio_for_bridges"),
    "nova.rx_queue_size": _option("libvirt", "rx_queue_size"),
    "nova.tx_queue_size": _option("libvirt", "tx_queue_size"),
    "nova.libvirt_use_virtio_for_bridges": _option("DEFAULT", "libvirt_use_virtio_for_bridges"),
}
