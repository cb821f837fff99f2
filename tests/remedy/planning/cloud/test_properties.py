"""A server as it would be with other properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.remedy.planning.cloud.clouds import flavor, port, server
from vnicaudit.model.openstack import MULTIQUEUE, PACKED
from vnicaudit.remedy.planning.cloud.properties import (
    clashes,
    diff,
    does_not_start,
    has_value,
    with_properties,
)


def test_it_is_so_in_whatever_spelling() -> None:
    kept = {"hw_vif_model": "VirtIO", MULTIQUEUE: "True", PACKED: "no"}
    config = server(kept=kept).declared.server
    assert config is not None
    assert has_value(config, "hw_vif_model", "virtio")
    assert has_value(config, MULTIQUEUE, "true")
    assert has_value(config, PACKED, "false")
    assert not has_value(config, MULTIQUEUE, "false")
    bare = server(kept={}).declared.server
    assert bare is not None
    assert not has_value(bare, PACKED, "false")  # that it is not set is not that it is off


def test_the_server_as_it_would_be() -> None:
    before = server(port("rtl8139"), port(None, "fa:16:3e:00:00:02", 1, kind="hostdev"))
    after = with_properties(before, {"hw_vif_model": "virtio", MULTIQUEUE: "true", PACKED: "true"})
    nic, assigned = after.nics
    assert (nic.declared.model, nic.declared.queues, nic.declared.packed) == ("virtio", 2, "on")
    assert assigned == before.nics[1]
    assert after.declared.server is not None
    assert after.declared.server.stored_properties == (
        ("hw_vif_model", "virtio"), (MULTIQUEUE, "true"), (PACKED, "true"),
    )  # fmt: skip
    off = with_properties(after, {MULTIQUEUE: "false", PACKED: "false"}).nics[0].declared
    assert (off.queues, off.packed) == (None, None)


@pytest.mark.parametrize("model", ["rtl8139", "e1000"])
def test_queues_are_for_virtio(model: str) -> None:
    after = with_properties(server(port(model)), {MULTIQUEUE: "true"})
    assert after.nics[0].declared.queues is None


@pytest.mark.parametrize(
    ("specs", "kept", "vcpus", "found"),
    [
        ({"hw:vif_multiqueue_enabled": "false"}, {MULTIQUEUE: "true"}, 2, [(MULTIQUEUE, "false")]),
        ({"hw:vif_multiqueue_enabled": "true"}, {MULTIQUEUE: "no"}, 2, [(MULTIQUEUE, "true")]),
        ({"hw:vif_multiqueue_enabled": "yes"}, {MULTIQUEUE: "true"}, 2, []),
        ({"hw:vif_multiqueue_enabled": "false"}, {MULTIQUEUE: "true"}, 1, []),
        ({"hw:vif_multiqueue_enabled": "false"}, {}, 2, []),
        ({"hw:virtio_packed_ring": "true"}, {PACKED: "false"}, 1, [(PACKED, "true")]),
    ],
)
def test_where_flavor_and_property_contradict_each_other(
    specs: dict[str, str], kept: dict[str, str], vcpus: int, found: list[tuple[str, str]]
) -> None:
    """nova/virt/hardware.py, get_vif_multiqueue_constraint: nothing below two vCPUs."""
    domain = server(kept=kept, vcpus=vcpus, config={"flavor": flavor(specs, vcpus=vcpus)})
    assert list(clashes(domain)) == found


def test_what_keeps_a_server_from_starting() -> None:
    specs = {"hw:vif_multiqueue_enabled": "false"}
    domain = server(port("virtio"), kept={MULTIQUEUE: "true"}, config={"flavor": flavor(specs)})
    assert list(does_not_start(domain)) == [
        (
            "its flavor has hw:vif_multiqueue_enabled=false: with "
            "hw_vif_multiqueue_enabled=true, Nova refuses to start it (FlavorImageConflict). "
            "Resize it to a flavor without that extra spec first"
        )
    ]
    packed = server(port("e1000"), kept={PACKED: "true"})
    assert list(does_not_start(packed)) == [
        "hw_virtio_packed_ring=true on a NIC that is not virtio: libvirt refuses to start the "
        "server"
    ]
    assert list(does_not_start(server(port("virtio"), kept={PACKED: "true"}))) == []
    by_flavor = {"flavor": flavor({"hw:virtio_packed_ring": "true"})}
    assert len(list(does_not_start(server(port("e1000"), config=by_flavor)))) == 1


def test_a_diff_has_a_line_for_each_side() -> None:
    old = {"hw_vif_model": "rtl8139", MULTIQUEUE: None, PACKED: "true", "same": "1"}
    new = {"hw_vif_model": "virtio", MULTIQUEUE: "true", PACKED: None, "same": "1"}
    assert diff("web-01", old, new) == (
        "--- web-01\n+++ web-01\n@@ properties @@\n"
        "-hw_vif_model=rtl8139\n+hw_vif_model=virtio\n"
        "+hw_vif_multiqueue_enabled=true\n"
        "-hw_virtio_packed_ring=true\n"
    )
    assert diff("web-01", new, new) == ""


@given(st.text(), st.text(), st.text())
def test_nothing_in_a_value_looks_like_a_line(title: str, old: str, new: str) -> None:
    """A name or a value may be whatever somebody gave it."""
    lines = diff(title, {"p": old}, {"p": new}).splitlines()
    assert len(lines) == (0 if old == new else 5)
