"""Reading a real libvirtd (a private one: see private_daemon.py)."""

import os
import re
import signal
import threading
import time

import libvirt
import pytest

from benchmarks import delay_proxy
from tests.platforms.libvirt.definitions import domain, nic
from tests.platforms.libvirt.private_daemon import PrivateDaemon, tcp_uri
from vnicaudit.model.domain import Domain, StagedNic
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.host import Version
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.libvirt.live import LiveHost, read

pytestmark = pytest.mark.rig

BRIDGE = f"vnat{os.getpid()}"
MAC = "52:54:00:7e:00:01"
OTHER_MAC = "52:54:00:7e:00:02"
LIVE_MAC = "52:54:00:7e:00:03"
E1000 = "<model type='e1000'/>"
VIRTIO = "<model type='virtio'/>"
PAUSED = libvirt.VIR_DOMAIN_START_PAUSED


def domains(live: LiveHost[Domain]) -> dict[str, Domain]:
    """The domains by name; none may have failed."""
    found = list(live.domains)
    assert [item for item in found if isinstance(item, ReadError)] == []
    return {item.name: item for item in found if isinstance(item, Domain)}


def test_the_host_tells_its_versions_and_architecture(
    daemon: PrivateDaemon, hypervisor_connection: libvirt.virConnect
) -> None:
    host = read(daemon.uri).host
    assert host.name == hypervisor_connection.getHostname()
    assert host.declared.arch == os.uname().machine
    assert host.declared.libvirt_version == Version.from_libvirt(libvirt.getVersion())
    assert host.declared.qemu_version == Version.from_libvirt(hypervisor_connection.getVersion())


def test_a_defined_domain_has_what_libvirt_filled_in(
    daemon: PrivateDaemon, hypervisor_connection: libvirt.virConnect
) -> None:
    bridged = nic(MAC, "bridge", "<source bridge='br0'/>")
    handle = hypervisor_connection.defineXML(domain("erp", bridged, vcpus=2))
    found = domains(read(daemon.uri))["erp"]
    assert found.uuid == handle.UUIDString()
    assert (found.declared.form, found.declared.vcpus) == ("dump", 2)
    assert found.nics[0].mac == MAC
    assert found.nics[0].declared.model == "rtl8139"
    assert found.state is not None
    assert found.state.active is False
    assert found.state.persistent is True
    assert found.state.managed_save is False
    assert found.state.snapshots == 0


def test_a_change_that_waits_for_a_power_cycle_is_staged(
    daemon: PrivateDaemon, hypervisor_connection: libvirt.virConnect
) -> None:
    before = [nic(MAC, "user", E1000), nic(OTHER_MAC, "user", VIRTIO)]
    hypervisor_connection.defineXML(domain("staged", *before)).createWithFlags(PAUSED)
    uuid = hypervisor_connection.lookupByName("staged").UUIDString()
    after = domain("staged", nic(MAC, "user", VIRTIO), nic(OTHER_MAC, "user", VIRTIO))
    hypervisor_connection.defineXML(after.replace("<memory", f"<uuid>{uuid}</uuid><memory"))
    found = domains(read(daemon.uri))["staged"]
    assert found.declared.form == "live"
    assert found.nics[0].declared.model == "e1000"
    assert [(nic.mac, nic.fields) for nic in found.pending.staged] == [
        (MAC, (("model", "e1000", "virtio"),))
    ]
    assert found.pending.coming == ()


def test_nics_of_one_definition_only_go_or_come(
    daemon: PrivateDaemon, hypervisor_connection: libvirt.virConnect
) -> None:
    definition = domain("half", nic(MAC, "user", VIRTIO))
    pluggable = definition.replace("<devices", "<features><acpi/></features><devices")
    handle = hypervisor_connection.defineXML(pluggable)
    handle.createWithFlags(PAUSED)
    handle.attachDeviceFlags(nic(LIVE_MAC, "user", VIRTIO), libvirt.VIR_DOMAIN_AFFECT_LIVE)
    handle.attachDeviceFlags(nic(OTHER_MAC, "user", VIRTIO), libvirt.VIR_DOMAIN_AFFECT_CONFIG)
    found = domains(read(daemon.uri))["half"]
    assert [nic.mac for nic in found.nics] == [MAC, LIVE_MAC]
    assert found.pending.staged == (StagedNic(LIVE_MAC, gone=True),)
    assert found.pending.coming == (OTHER_MAC,)
    handle.detachDeviceFlags(nic(MAC, "user", VIRTIO), libvirt.VIR_DOMAIN_AFFECT_CONFIG)
    removed = domains(read(daemon.uri))["half"]
    assert removed.pending.staged == (StagedNic(MAC, gone=True), StagedNic(LIVE_MAC, gone=True))


def test_a_running_guest_without_changes_has_nothing_staged(
    daemon: PrivateDaemon, hypervisor_connection: libvirt.virConnect
) -> None:
    driver = "<driver name='qemu' rx_queue_size='512'/>"
    nics = [nic(MAC, "user", VIRTIO, driver), nic(OTHER_MAC, "ethernet", VIRTIO)]
    hypervisor_connection.defineXML(domain("steady", *nics)).createWithFlags(PAUSED)
    found = domains(read(daemon.uri))["steady"]
    assert (found.pending.staged, found.pending.coming) == ((), ())
    assert found.state is not None
    assert found.state.active is True
    assert found.state.agent is False


def test_a_transient_domain_is_not_persistent(
    daemon: PrivateDaemon, hypervisor_connection: libvirt.virConnect
) -> None:
    hypervisor_connection.createXML(domain("ci-runner", nic(MAC, "user", VIRTIO)), PAUSED)
    state = domains(read(daemon.uri))["ci-runner"].state
    assert state is not None
    assert (state.active, state.persistent) == (True, False)


def test_a_managed_save_image_is_seen(
    daemon: PrivateDaemon, hypervisor_connection: libvirt.virConnect
) -> None:
    handle = hypervisor_connection.defineXML(domain("asleep", nic(MAC, "user", E1000)))
    handle.createWithFlags(PAUSED)
    handle.managedSave()
    state = domains(read(daemon.uri))["asleep"].state
    assert state is not None
    assert (state.active, state.managed_save) == (False, True)


def test_networks_tell_what_their_interfaces_become(
    daemon: PrivateDaemon, hypervisor_connection: libvirt.virConnect
) -> None:
    for name, body in {
        "lan": f"<bridge name='{BRIDGE}'/>",
        "wire": "<forward mode='bridge'><interface dev='eth0'/></forward>",
        "pool": "<forward mode='hostdev'><pf dev='eth1'/></forward>",
    }.items():
        hypervisor_connection.networkDefineXML(f"<network><name>{name}</name>{body}</network>")
    nics = [
        nic(f"52:54:00:7e:00:0{place}", "network", f"<source network='{name}'/>", VIRTIO)
        for place, name in enumerate(("lan", "wire", "pool", "gone"))
    ]
    hypervisor_connection.defineXML(domain("four-nics", *nics))
    live = read(daemon.uri)
    found = domains(live)["four-nics"]
    assert [nic.declared.actual_type for nic in found.nics] == ["bridge", "direct", "hostdev", None]
    assert {network.name: network.actual_type for network in live.host.networks} == {
        "lan": "bridge",
        "wire": "direct",
        "pool": "hostdev",
    }


def test_a_running_nic_on_a_network_is_resolved_and_not_staged(
    daemon: PrivateDaemon, hypervisor_connection: libvirt.virConnect
) -> None:
    network = hypervisor_connection.networkDefineXML(
        f"<network><name>lan</name><bridge name='{BRIDGE}'/></network>"
    )
    network.create()
    on_network = nic(MAC, "network", "<source network='lan'/>", VIRTIO)
    hypervisor_connection.defineXML(domain("on-lan", on_network)).createWithFlags(PAUSED)
    found = domains(read(daemon.uri))["on-lan"]
    assert (found.nics[0].declared.type, found.nics[0].declared.actual_type) == (
        "network",
        "bridge",
    )
    assert found.nics[0].source == "lan"
    assert found.nics[0].target_dev is not None
    assert (found.pending.staged, found.pending.coming) == ((), ())


def test_tcp_gives_what_the_local_socket_gives(
    daemon: PrivateDaemon, hypervisor_connection: libvirt.virConnect
) -> None:
    for number in range(70):
        hypervisor_connection.defineXML(domain(f"many-{number:02}", nic(MAC, "user", E1000)))
    here = [item.name for item in read(daemon.uri).domains if isinstance(item, Domain)]
    there = [item.name for item in read(daemon.tcp).domains if isinstance(item, Domain)]
    assert here == there == [f"many-{number:02}" for number in range(70)]


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (signal.SIGSTOP, "no answer within 1 s"),
        # libvirt names what it was doing: reading or writing data, or the socket it found closed
        (signal.SIGKILL, "data|client socket is closed"),
    ],
    ids=["hangs", "dies"],
)
def test_a_host_that_fails_in_the_middle_costs_what_was_not_read(
    daemon: PrivateDaemon,
    hypervisor_connection: libvirt.virConnect,
    how: signal.Signals,
    reason: str,
) -> None:
    """Until it does, its deadline's clock stands still: a machine that stalls is no silent host."""
    began, failed = time.monotonic(), threading.Event()

    def clock() -> float:
        return time.monotonic() if failed.is_set() else began

    for number in range(60):
        hypervisor_connection.defineXML(domain(f"vm-{number:02}", nic(MAC, "user", E1000)))
    # so slow that most is still to come when the first are there
    with delay_proxy.running(f"127.0.0.1:{daemon.port}", delay_ms=50) as (port, proxy):
        stream = read(tcp_uri(port), LiveOptions(1, calls=1), clock).domains
        first = next(stream)
        os.kill(proxy.pid, how)
        failed.set()
        rest = list(stream)
    assert isinstance(first, Domain)
    good = [item.name for item in (first, *rest) if isinstance(item, Domain)]
    bad = [item.message for item in rest if isinstance(item, ReadError)]
    assert good == [f"vm-{number:02}" for number in range(len(good))]
    assert len(good) + len(bad) == 60
    assert bad
    assert bad[-1].startswith("domain 'vm-59': ")
    assert re.search(reason, bad[0]), bad[0]
    if how == signal.SIGSTOP:  # one deadline for all of them, not one for each
        assert {message.partition(": ")[2] for message in bad} == {f"not read: {reason}"}
    assert [item.name for item in read(daemon.uri).domains if isinstance(item, Domain)] == [
        f"vm-{number:02}" for number in range(60)
    ]


def test_guests_are_not_asked_by_a_read_only_connection(
    daemon: PrivateDaemon, hypervisor_connection: libvirt.virConnect
) -> None:
    hypervisor_connection.defineXML(domain("guest", nic(MAC, "user"))).createWithFlags(PAUSED)
    reader = libvirt.openReadOnly(daemon.uri)
    handle = reader.lookupByName("guest")
    with pytest.raises(libvirt.libvirtError, match="read only access prevents"):
        handle.guestInfo(libvirt.VIR_DOMAIN_GUEST_INFO_OS)
    reader.close()


def test_a_guest_without_an_agent_has_no_facts(
    daemon: PrivateDaemon, hypervisor_connection: libvirt.virConnect
) -> None:
    hypervisor_connection.defineXML(domain("guest", nic(MAC, "user"))).createWithFlags(PAUSED)
    state = domains(read(daemon.uri, LiveOptions(agent=True)))["guest"].state
    assert state is not None
    assert (state.agent, state.guest_os, state.guest_kernel) == (False, None, None)
