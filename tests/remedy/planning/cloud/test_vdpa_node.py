"""What the compute node must have for a server's port on vDPA: what is installed, and what its
nova.conf lists (``[pci] device_spec``, as Nova 34.0 reads it)."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.remedy.planning.cloud.clouds import NOVA_34, OVS, PORT, SECOND, port, server
from tests.rows import rows
from vnicaudit.audit.judging.site import node_of
from vnicaudit.audit.reading.servers import NodesByHost
from vnicaudit.knowledge.nova_conf.options import release_of
from vnicaudit.knowledge.nova_conf.resolve import as_of
from vnicaudit.model.domain import Server
from vnicaudit.model.host import Version
from vnicaudit.model.nova import PciEntry, Release
from vnicaudit.model.openstack import NodeFacts, NovaVersions, ProviderNetwork
from vnicaudit.platforms.nova_conf.read import read_bytes
from vnicaudit.platforms.nova_conf.siblings import read_with_siblings
from vnicaudit.remedy.planning.cloud.ports import Prerequisite, node_prerequisites

FILE = "cmp1/nova.conf"
VF = '{"vendor_id": "15b3", "product_id": "101e", "physical_network": "physnet1"}'
OLD = f"passthrough_whitelist = {VF}"
VLAN, OTHER = ProviderNetwork("physnet1", "vlan"), ProviderNetwork("physnet2", "vlan")
TUNNEL = ProviderNetwork("", "geneve")


def facts(text: str, release: Release | None = None) -> NodeFacts | None:
    """What is kept of a nova.conf, as an audit joins it with the servers of its host."""
    config = read_bytes(f"[libvirt]\nvirt_type = kvm\n{text}".encode(), target=FILE, file=FILE)
    node = node_of(config if release is None else as_of(config, release))
    assert node is not None
    return NodesByHost([node]).of("cmp1")


def on(
    node: NodeFacts | None, nova: NovaVersions = NOVA_34, network: ProviderNetwork | None = None
) -> Server:
    """A server on that node, its port on that network."""
    bindings = (replace(OVS, network=network),)
    return server(port("virtio"), config={"node": node, "nova": nova, "bindings": bindings})


def checked(domain: Server, word: str) -> Prerequisite:
    """The prerequisite whose text has that word."""
    found = [one for one in node_prerequisites(domain, domain.nics[0]) if word in one.text]
    assert len(found) == 1, found
    return found[0]


def listed(
    text: str, nova: NovaVersions = NOVA_34, network: ProviderNetwork | None = VLAN
) -> Prerequisite:
    """What a nova.conf says of PCI devices for a port on that network."""
    return checked(on(facts(text), nova, network), "[pci] device_spec")


def entries(*values: str) -> NodeFacts:
    return NodeFacts(FILE, (), tuple(PciEntry(value, f"{FILE}:4") for value in values))


@rows
def test_an_entry_with_a_physical_network_by_any_spelling(text: str) -> None:
    """oslo.config 10: quotes are taken off, lines that begin with a blank go on."""
    assert listed(text) == (
        "ok",
        "[pci] device_spec gives devices to ports on physnet1, where the port's network is "
        "(cmp1/nova.conf:4)",
    )


def test_all_assignments_count_whatever_they_are_called() -> None:
    """An option of oslo.config's MultiStrOpt."""
    text = (
        f"[pci]\npassthrough_whitelist = {VF}\ndevice_spec = {VF.replace('physnet1', 'physnet2')}\n"
        'device_spec = {"address": "0000:65:00.*", "physical_network": null}\n'
    )
    text = text.replace('"101e"', '"101c"', 1)
    assert listed(text, network=None) == (
        "unknown",
        "whether the port's network is one of those that [pci] device_spec gives devices for: "
        "physnet1 (cmp1/nova.conf:4), physnet2 (cmp1/nova.conf:5), and networks without a physical "
        "one (cmp1/nova.conf:6); only an administrator can see it (provider:physical_network)",
    )


def test_more_networks_than_are_named() -> None:
    values = [
        f'{{"address": "{number}", "physical_network": "net{number}"}}' for number in range(5)
    ]
    found = checked(on(entries(*values), network=VLAN), "device_spec")
    assert found.text.endswith("net2 (cmp1/nova.conf:4) and 2 more")


def test_a_name_by_which_the_release_does_not_know_it() -> None:
    yoga = release_of("yoga")
    new, old = facts(f"[pci]\ndevice_spec = {VF}\n", yoga), facts(f"[pci]\n{OLD}\n", yoga)
    assert new is not None
    assert new.devices == ()
    assert old is not None
    assert old.devices == (PciEntry(VF, "cmp1/nova.conf:4"),)


def test_files_that_are_read_together_are_one_list(tmp_path: Path) -> None:
    (tmp_path / "cmp1/nova.conf.d").mkdir(parents=True)
    first, second = tmp_path / FILE, tmp_path / "cmp1/nova.conf.d/10-pci.conf"
    first.write_text(f"[libvirt]\nvirt_type = kvm\n[pci]\ndevice_spec = {VF}\n")
    second.write_text(f"[pci]\ndevice_spec = {VF}\n")
    node = node_of(read_with_siblings(first.read_bytes(), target="t", file=str(first))[0])
    assert node is not None
    assert node.devices == (PciEntry(VF, f"{first}:4"), PciEntry(VF, f"{second}:2"))


@pytest.mark.parametrize("spec", ['{"vendor_id": "15b3"}', '{"physical_network": null}'])
def test_no_entry_has_a_physical_network(spec: str) -> None:
    """Nova 34.0 pci/utils.py, executed: a network without one takes both of them."""
    assert listed(f"[pci]\ndevice_spec = {spec}\n", network=None) == (
        "unknown",
        "whether the port's network is without a physical one: none of [pci] device_spec in "
        "cmp1/nova.conf has physical_network, so its devices are for such networks only "
        "(cmp1/nova.conf:4)",
    )


@rows
@pytest.mark.parametrize("network", [VLAN, TUNNEL, None])
def test_nothing_that_is_listed_is_for_such_a_port(
    spec: str, network: ProviderNetwork | None
) -> None:
    """Nova 34.0 pci/utils.py, executed: text is compared with text, whatever its case."""
    assert listed(f"[pci]\ndevice_spec = {spec}\n", network=network) == (
        "missing",
        "[pci] device_spec for such a port: of what cmp1/nova.conf lists nothing has a "
        'physical_network that is text or null, and no remote_managed but "false" (as text)',
    )


@rows
def test_an_entry_is_for_the_ports_network(spec: str) -> None:
    """Nova 34.0 pci/utils.py, executed."""
    assert listed(f"[pci]\ndevice_spec = {spec}\n") == (
        "ok",
        "[pci] device_spec gives devices to ports on physnet1, where the port's network is "
        "(cmp1/nova.conf:4)",
    )


def test_no_entry_is_for_the_ports_network() -> None:
    null = '{"address": "0000:65:00.0", "physical_network": null}'
    said = (
        "[pci] device_spec for physnet2, where the port's network is: none of the entries is for "
    )
    assert listed(f"[pci]\ndevice_spec = {VF}\n", network=OTHER) == (
        "missing", f"{said}physnet2, but for physnet1 (cmp1/nova.conf:4)",
    )  # fmt: skip
    assert listed(f"[pci]\ndevice_spec = {null}\n", network=OTHER) == (
        "missing", f"{said}physnet2, but for networks without a physical one (cmp1/nova.conf:4)",
    )  # fmt: skip


@pytest.mark.parametrize("spec", ['{"vendor_id": "15b3"}', '{"physical_network": null}'])
def test_an_entry_is_for_a_tunnel(spec: str) -> None:
    """Nova 34.0 pci/utils.py, executed: such a port asks for None, which is what ``get`` gives."""
    assert listed(f"[pci]\ndevice_spec = {spec}\n", network=TUNNEL) == (
        "ok",
        "[pci] device_spec gives devices to ports on networks without a physical one, as the "
        "port's is (geneve) (cmp1/nova.conf:4)",
    )


def test_no_entry_is_for_a_tunnel() -> None:
    assert listed(f"[pci]\ndevice_spec = {VF}\n", network=TUNNEL) == (
        "missing",
        "[pci] device_spec for networks without a physical one, as the port's is (geneve): Nova "
        "gives it a device of an entry without physical_network, or with null, and all are for "
        "physnet1 (cmp1/nova.conf:4)",
    )


@pytest.mark.parametrize("node", [None, NodeFacts(FILE, (), (PciEntry(VF, f"{FILE}:4"),))])
def test_segments_without_a_physical_network(node: NodeFacts | None) -> None:
    """Nova 34.0 network/neutron.py ``_get_physnet_tunneled_info`` raises there."""
    found = checked(on(node, network=ProviderNetwork("", segmented=True)), "no segment")
    assert found == (
        "missing",
        (
            "a physical network: no segment of the port's network has one, and Nova refuses a "
            "port on such a network"
        ),
    )


def test_the_first_segment_with_a_physical_network_counts() -> None:
    several = ProviderNetwork("physnet1", segmented=True)
    assert listed(f"[pci]\ndevice_spec = {VF}\n", network=several).verdict == "ok"
    assert "physnet1, where" in listed(f"[pci]\ndevice_spec = {VF}\n", network=several).text


NULL = '{"vendor_id": "15b3", "product_id": "101e", "physical_network": null}'


@rows
def test_an_entry_before_it_takes_all_of_its_devices(first: str) -> None:
    """Nova 34.0 pci/whitelist.py ``get_devspec``: the first that matches."""
    found = listed(f"[pci]\ndevice_spec = {first}\ndevice_spec = {VF}\n")
    assert found.verdict == "missing"
    assert found.text.endswith(
        ": no device comes to cmp1/nova.conf:5, since Nova takes the first entry that a device "
        "matches, and cmp1/nova.conf:4 matches all of its devices"
    )


@rows
def test_an_entry_before_one_with_an_address(first: str, verdict: str) -> None:
    placed = VF.replace("{", '{"address": "0000:65:00.2", ', 1)
    assert listed(f"[pci]\ndevice_spec = {first}\ndevice_spec = {placed}\n").verdict == verdict


def test_of_several_entries_before_it_the_first_takes_the_devices() -> None:
    found = listed(f"[pci]\ndevice_spec = {NULL}\ndevice_spec = {NULL}\ndevice_spec = {VF}\n")
    assert found.text.endswith("cmp1/nova.conf:4 matches all of its devices")


def test_an_entry_behind_one_for_another_network() -> None:
    text = f"[pci]\ndevice_spec = {VF.replace('physnet1', 'physnet2')}\ndevice_spec = {VF}\n"
    assert listed(text) == (
        "missing",
        "[pci] device_spec for physnet1: no device comes to cmp1/nova.conf:5, since Nova takes the "
        "first entry that a device matches, and cmp1/nova.conf:4 matches all of its devices",
    )


@rows
def test_an_entry_before_it_that_leaves_it_some_perhaps(first: str) -> None:
    assert listed(f"[pci]\ndevice_spec = {first}\ndevice_spec = {VF}\n").verdict == "ok"


def test_in_each_file_the_older_name_comes_first() -> None:
    """oslo.config 10, executed: of the two, Nova reads the one in line 5 first."""
    found = facts(f"[pci]\ndevice_spec = {VF}\n{OLD}\n[DEFAULT]\npci_{OLD}\n")
    assert found is not None
    assert found.devices is not None
    assert [entry.place for entry in found.devices] == [f"{FILE}:{line}" for line in (7, 5, 4)]


def test_what_else_is_to_be_looked_at() -> None:
    there = "whether a vDPA device is free on cmp1, made on a virtual function of a card "
    look = "(Nova makes none): vdpa dev show there"
    assert checked(on(None, network=VLAN), "is free") == ("unknown", f"{there}on physnet1 {look}")
    assert checked(on(None, network=TUNNEL), "is free") == (
        "unknown", f"{there}that carries networks without a physical one {look}",
    )  # fmt: skip
    assert checked(on(None), "is free").text.startswith(
        f"{there}on this network {look}, and openstack port show -c network_id {PORT}, then"
    )


def test_nothing_is_listed() -> None:
    assert listed("") == (
        "missing",
        "[pci] device_spec: cmp1/nova.conf does not set it, so Nova assigns no device of cmp1",
    )


@rows
def test_what_nova_compute_does_not_start_with(spec: str, reason: str) -> None:
    found = listed(f"[pci]\ndevice_spec = {VF}\ndevice_spec = {spec}\n")
    said = f"[pci] device_spec with which nova-compute starts: cmp1/nova.conf:5: {reason}"
    assert found == ("missing", said)


def test_a_tag_that_only_later_releases_insist_on() -> None:
    text = '[pci]\ndevice_spec = {"physical_network": "physnet1", "managed": "maybe"}\n'
    assert listed(text, NovaVersions("2.96", 29, 30)).verdict == "ok"
    assert listed(text).text.endswith("managed is neither true nor false")


@pytest.mark.parametrize(
    "text", [f"[pci]\ndevice_spec = {'x' * 20000}\n", "[pci]\ndevice_spec = $nothing\n"]
)
def test_what_is_not_certain_or_too_long(text: str) -> None:
    assert listed(text) == (
        "unknown",
        "whether [pci] device_spec names the virtual function behind a vDPA device: in "
        "cmp1/nova.conf a template or another option decides, or it is too long to be judged",
    )


def test_no_nova_conf_was_read() -> None:
    assert checked(on(None), "device_spec") == (
        "unknown",
        "whether [pci] device_spec of cmp1 names the virtual function behind a vDPA device: give "
        "its nova.conf together with the cloud",
    )


def test_two_files_of_one_host_that_list_other_devices_are_of_none() -> None:
    text = f"[libvirt]\nvirt_type = kvm\n[pci]\ndevice_spec = {VF}\n"
    nodes = [
        node_of(read_bytes(one.encode(), target="t", file=f"{folder}/cmp1/nova.conf"))
        for folder, one in (("a", text), ("b", text.replace("physnet1", "physnet2")))
    ]
    assert NodesByHost(node for node in nodes if node is not None).of("cmp1") is None


@given(st.lists(st.text(), max_size=3) | st.lists(st.binary().map(repr), max_size=3))
def test_any_text_gets_one_verdict(values: list[str]) -> None:
    found = checked(on(entries(*values), network=VLAN), "[pci] device_spec")
    assert found.verdict in ("ok", "missing", "unknown")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from([
            "physical_network", "remote_managed", "address", "vendor_id", "managed", "devname",
            "bus",
        ]),
        inner,
    ),
    max_leaves=8,
)  # fmt: skip


@given(_JSON, _JSON, st.sampled_from([None, VLAN, TUNNEL]))
def test_any_json_gets_one_verdict(
    first: object, second: object, network: ProviderNetwork | None
) -> None:
    node = entries(json.dumps(first), json.dumps(second))
    found = checked(on(node, network=network), "[pci] device_spec")
    assert len(found.text) < 1000


@rows
def test_the_accelerator(kind: str, verdict: str, says: str) -> None:
    node = NodeFacts(FILE, (("virt_type", kind),))
    assert (verdict, says) in list(node_prerequisites(on(node), port("virtio")))


def test_an_accelerator_that_is_not_known() -> None:
    assert checked(on(None), "KVM") == (
        "unknown", "whether cmp1 runs servers with KVM: virt_type in its nova.conf",
    )  # fmt: skip


def test_the_memory_that_is_locked() -> None:
    assert checked(on(None), "Huge pages") == (
        "unknown",
        (
            "whether cmp1 has memory for it: all of the server's memory is locked while it "
            "runs, plus up to 1 GiB; overcommitted memory is not enough. Huge pages are not "
            "needed: free -m there"
        ),
    )


def test_a_libvirt_that_does_not_let_it_be_locked() -> None:
    old = replace(on(None), libvirt_version=Version(7, 1))
    assert checked(old, "lock") == (
        "missing",
        "libvirt 7.2.0, which lets QEMU lock the memory for a vDPA device: cmp1 has 7.1.0",
    )
    second = replace(server(port("virtio"), port(None, SECOND, 1, kind="vdpa")),
                     libvirt_version=Version(8, 6))  # fmt: skip
    assert checked(second, "lock") == (
        "missing",
        "libvirt 8.7.0, which lets QEMU lock the memory for each of several vDPA devices: cmp1 has "
        "8.6.0",
    )
    one = replace(on(None), libvirt_version=Version(8, 6))
    assert checked(one, "lock").verdict == "unknown"
