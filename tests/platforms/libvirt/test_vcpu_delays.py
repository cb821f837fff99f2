"""How long vCPUs waited for a CPU, as a real libvirtd tells it (a private one)."""

import time

import libvirt
import pytest

from tests.platforms.libvirt.definitions import domain
from tests.platforms.libvirt.private_daemon import PrivateDaemon
from vnicaudit.platforms.libvirt.control import connect

pytestmark = pytest.mark.rig


def test_vcpus_of_a_domain_that_runs(
    daemon: PrivateDaemon, hypervisor_connection: libvirt.virConnect
) -> None:
    began = time.monotonic()
    handle = hypervisor_connection.createXML(domain("busy", vcpus=2))
    host = connect(daemon.uri, deadline=120)
    try:
        machine = host.machine(handle.UUIDString())
        first = machine.vcpu_delays()
        second = machine.vcpu_delays()
    finally:
        host.close()
    took = time.monotonic() - began
    assert len(first) == len(second) == 2
    (early, late) = (first[0], second[0])
    assert early is not None
    assert late is not None
    assert 0 < early <= late < took * 10**9


def test_a_domain_that_is_off_has_none(
    daemon: PrivateDaemon, hypervisor_connection: libvirt.virConnect
) -> None:
    handle = hypervisor_connection.defineXML(domain("off"))
    host = connect(daemon.uri, deadline=30)
    try:
        assert set(host.machine(handle.UUIDString()).vcpu_delays()) <= {None}
    finally:
        host.close()


def test_a_driver_that_has_no_such_numbers_says_nothing() -> None:
    host = connect("test:///default", deadline=30)
    try:
        uuid = libvirt.open("test:///default").listAllDomains()[0].UUIDString()
        assert set(host.machine(uuid).vcpu_delays()) <= {None}
    finally:
        host.close()
