"""NICs of command lines were lost or had other facts: ``-device vfio-pci,sysfsdev=`` was dropped
while ``host=`` was listed, although both assign a device of the host; ``af-xdp`` with two queues
had one (QEMU makes a client for each, ``net_init_af_xdp`` in net/af-xdp.c); the NIC that a machine
adds itself was unknown on most machines; ``-global`` for a class was not heeded under the device's
alias, its base classes, and for ``-nic``. What QEMU 7.2 and 10.0 make of a ``-global`` was read
from ``info qtree``."""

import pytest

from tests.rows import rows
from vnicaudit.model.nic import RunningQemu
from vnicaudit.platforms.qemu.read import read_text

RING = "rx_queue_size=1024"


def _read(arguments: str, program: str = "qemu-system-x86_64 -nodefaults") -> RunningQemu:
    (qemu,) = read_text(f"#!/bin/sh\n{program} {arguments}\n".encode(), target="t", file=None)
    return qemu


@rows
def test_an_assigned_device_is_listed_unless_it_is_mediated(value: str, listed: bool) -> None:
    found = _read(f"-device vfio-pci,{value}").nics
    assert [nic.driver for nic in found] == (["vfio-pci"] if listed else [])


@pytest.mark.parametrize(
    ("backend", "device", "queues"),
    [("queues=2", "mq=on", 2), ("queues=2", "mq=off", 1), ("mode=native", "mq=on", 1)],
)
def test_queues_of_af_xdp_are_counted(backend: str, device: str, queues: int) -> None:
    netdev = f"-netdev af-xdp,id=n,ifname=eth0,{backend}"
    found = _read(f"{netdev} -device virtio-net-pci,netdev=n,{device}").nics
    assert [(nic.backend, nic.queues) for nic in found] == [("af-xdp", queues)]


@rows
def test_the_nic_that_the_machine_adds_is_listed(text: str, devices: list[str]) -> None:
    qemu = _read("-m 512", text)
    assert [nic.driver for nic in qemu.nics] == devices
    assert qemu.gaps == ()


@rows
def test_the_default_of_a_class_is_heeded(nic: str, driver: str, size: int) -> None:
    for option in (f"{driver}.{RING}", f"driver={driver},property=rx_queue_size,value=1024"):
        found = _read(f"{nic} -global {option}").nics
        assert [one.rx_queue_size for one in found] == [size]


def test_the_later_of_two_defaults_wins() -> None:
    defaults = f"-global virtio-net-pci.rx_queue_size=512 -global virtio-net-pci-base.{RING}"
    assert [one.rx_queue_size for one in _read(f"-device virtio-net {defaults}").nics] == [1024]
    on_ccw = f"-device virtio-net -global virtio-net-ccw.{RING}"
    found = _read(on_ccw, "qemu-system-s390x -nodefaults").nics
    assert [one.rx_queue_size for one in found] == [1024]
