"""The facts a rule may need, how to look at each, and what would tell where it is missing.

A rule's ``NEEDS`` names keys of this table. A fact that is None (or ``unknown``) means that this
source cannot tell: the rule is skipped, and the report carries the sentence below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from vnicaudit.model.effective import UNKNOWN


class Fact(NamedTuple):
    """``known`` looks at a subject; ``tell`` completes "needs …"."""

    known: Callable[[Any], bool]
    tell: str


def _effective(name: str) -> Callable[[Any], bool]:
    return lambda subject: getattr(subject.effective, name).state != UNKNOWN


def _host(name: str) -> Callable[[Any], bool]:
    return lambda subject: getattr(subject.host, name) is not None


def _domain(name: str) -> Callable[[Any], bool]:
    return lambda subject: getattr(subject.domain, name) is not None


def _state(name: str) -> Callable[[Any], bool]:
    return lambda subject: subject.state is not None and getattr(subject.state, name) is not None


FACTS: dict[str, Fact] = {
    "model": Fact(_effective("model"), "the effective model (architecture, or libvirt's dumpxml)"),
    "vhost": Fact(
        _effective("vhost"), "what runs: QEMU's command line, log or /proc of the hypervisor"
    ),
    "queues": Fact(_effective("queues"), "the effective number of queues"),
    "rx_queue_size": Fact(_effective("rx_queue_size"), "the effective RX ring"),
    "tx_queue_size": Fact(_effective("tx_queue_size"), "the effective TX ring"),
    "actual_type": Fact(
        lambda subject: subject.nic.actual_type is not None,
        "what the network is connected to (libvirt's network definition)",
    ),
    "vcpus": Fact(_domain("vcpus"), "the number of vCPUs"),
    "arch": Fact(_domain("arch"), "the guest's architecture"),
    "shared_memory": Fact(_domain("shared_memory"), "the guest's memory backing"),
    "running": Fact(
        lambda subject: subject.running is not None,
        "the QEMU that runs it (command line, log or /proc of the hypervisor)",
    ),
    "state": Fact(lambda subject: subject.state is not None, "a live libvirt connection"),
    "state.managed_save": Fact(_state("managed_save"), "a live libvirt connection"),
    "state.memory_snapshots": Fact(_state("memory_snapshots"), "a live libvirt connection"),
    "host.kvm": Fact(_host("kvm"), "the hypervisor's /dev/kvm (run it on the host itself)"),
    "host.vhost_net": Fact(
        _host("vhost_net"), "the hypervisor's /dev/vhost-net (run it on the host itself)"
    ),
    "host.zerocopy_tx": Fact(
        _host("zerocopy_tx"), "the hypervisor's /sys/module/vhost_net (run it on the host itself)"
    ),
    "host.qemu_version": Fact(
        _host("qemu_version"), "the QEMU version (a live connection, or --assume-qemu)"
    ),
    "host.libvirt_version": Fact(
        _host("libvirt_version"), "the libvirt version (a live connection, or --assume-libvirt)"
    ),
}
