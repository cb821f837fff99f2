"""Which compute node a nova.conf is of: what it says itself, or where it lies."""

import socket

import pytest

from tests.rows import rows
from vnicaudit.audit.reading.servers import NodesByHost
from vnicaudit.model.finding import Location
from vnicaudit.model.host import NodeValue, SiteNode
from vnicaudit.model.openstack import NodeFacts


def node(file: str, host: str = "", rx: str = "512", target: str = "nodes") -> SiteNode:
    value = NodeValue("rx_queue_size", rx, Location(target, file, 3))
    return SiteNode(target, (file,), (), host, (value,))


def facts(file: str, rx: str = "512") -> NodeFacts:
    return NodeFacts(file, (("rx_queue_size", rx),))


WHY = ": [DEFAULT] host in the file, or else its folder, must have exactly this name"


@pytest.mark.parametrize(
    ("read", "why"),
    [
        ((), ""),
        (
            (node("/n/a.conf", "cmp1.example"),),
            f"nova.conf of cmp1.example is not for this host (cmp1){WHY}",
        ),
        (
            (node("/n/cmp1.example/nova.conf"),),
            f"/n/cmp1.example/nova.conf is not for this host (cmp1){WHY}",
        ),
        (
            (
                *(node(f"/n/{n}/nova.conf", f"cmp{n}") for n in (2, 3, 4, 5)),
                node("/n/6.conf", "cmp1.lab"),
            ),
            (
                "nova.conf of cmp1.lab, nova.conf of cmp2, nova.conf of cmp3 and 2 more are "
                f"not for this host (cmp1){WHY}"
            ),
        ),
        (
            (node("/a.conf", "cmp1"), node("/b.conf", "cmp1", rx="256")),
            "several different nova.conf belong to cmp1",
        ),
    ],
)
def test_why_a_host_has_none(read: tuple[SiteNode, ...], why: str) -> None:
    nodes = NodesByHost(read)
    assert nodes.of("cmp1") is None
    assert nodes.unknown_reason("cmp1") == why
    assert nodes.unknown_reason(None) == ""


def test_why_a_host_of_two_clouds_has_none() -> None:
    nodes = NodesByHost([node("/n/cmp1/nova.conf")])
    for cloud in ("openstack:b", "openstack:a"):
        nodes.meet("cmp1", cloud)
    assert nodes.unknown_reason("cmp1") == (
        "openstack:a, openstack:b each have a host named cmp1, so it is unclear whose "
        "nova.conf this is: name one cloud at a time"
    )


@rows
def test_a_path_names_the_node(file: str) -> None:
    assert NodesByHost([node(file)]).of("cmp1") == facts(file)


def test_what_it_says_itself_counts_more_than_where_it_lies() -> None:
    nodes = NodesByHost([node("/n/cmp1/nova.conf", "cmp2")])
    assert nodes.of("cmp2") == facts("/n/cmp1/nova.conf")
    assert nodes.of("cmp1") is None


@pytest.mark.parametrize("address", ["192.0.2.7", "2001:db8::7"])
def test_an_address_is_no_name(address: str) -> None:
    nodes = NodesByHost([node("/n/cmp1/nova.conf", address)])
    assert nodes.of(address) is None
    assert nodes.of("cmp1") == facts("/n/cmp1/nova.conf")


@pytest.mark.parametrize("host", [None, "", "cmp", "CMP1", "cmp1.example.org", "nova"])
def test_a_name_that_is_not_the_very_same_is_another(host: str | None) -> None:
    nodes = NodesByHost([node("/n/cmp1/nova.conf"), node("/nova.conf")])
    assert nodes.of(host) is None


def test_nova_conf_of_this_machine_is_of_this_machine() -> None:
    """``[DEFAULT] host`` is its host name, unless somebody says otherwise."""
    nodes = NodesByHost([node("/etc/nova/nova.conf")])
    assert nodes.of(socket.gethostname()) == facts("/etc/nova/nova.conf")


def test_two_that_say_different_things_are_of_none() -> None:
    nodes = NodesByHost([node("/a/cmp1/nova.conf"), node("/b/cmp1/nova.conf", rx="256")])
    assert nodes.of("cmp1") is None


def test_two_copies_are_one() -> None:
    nodes = NodesByHost([node("/a/cmp1/nova.conf"), node("/b/cmp1/nova.conf")])
    assert nodes.of("cmp1") == facts("/a/cmp1/nova.conf")


def test_one_that_says_so_itself_is_preferred_to_a_folder_of_that_name() -> None:
    nodes = NodesByHost([node("/a/cmp1/nova.conf"), node("/b/nova.conf", "cmp1", rx="256")])
    assert nodes.of("cmp1") == facts("/b/nova.conf", "256")


def test_what_was_not_joined_is_noted_once_for_each_target() -> None:
    nodes = NodesByHost(
        [
            node("/n/cmp1/nova.conf"),
            node("/n/cmp2/nova.conf"),
            node("/n/cmp3/nova.conf"),
            node("/m/nova.conf", target="other"),
            node("/m/said.conf", "cmp9", target="other"),
        ]
    )
    assert nodes.meet("cmp2", "openstack:prod")
    assert nodes.of("cmp2") is not None
    why = (
        "not used for the servers of its host, because the host is unknown: neither "
        "[DEFAULT] host nor its path names one of the hosts"
    )
    assert list(nodes.notes()) == [
        ("nodes", f"/n/cmp1/nova.conf (and 1 more): {why}"),
        ("other", f"/m/nova.conf: {why}"),
    ]


def test_the_files_that_one_node_reads_are_one() -> None:
    value = NodeValue("rx_queue_size", "512", Location("n"))
    both = ("/n/cmp1/nova.conf", "/n/cmp1/nova-compute.conf")
    nodes = NodesByHost([SiteNode("n", both, (), "", (value,))] * 2)
    assert list(nodes.notes()) == [
        ("n", next(nodes.notes())[1]),
    ]
    assert " more)" not in next(nodes.notes())[1]


def test_a_host_of_two_clouds_is_of_neither() -> None:
    nodes = NodesByHost([node("/n/nova.conf", "cmp1"), node("/n/cmp2/nova.conf")])
    assert nodes.meet("cmp1", "openstack:b")
    assert nodes.meet("cmp2", "openstack:b")
    assert nodes.of("cmp1") == facts("/n/nova.conf")
    assert nodes.meet("cmp1", "openstack:a")
    assert (nodes.of("cmp1"), nodes.of("cmp2")) == (None, facts("/n/cmp2/nova.conf"))
    assert list(nodes.notes()) == [
        (
            "nodes",
            (
                "/n/nova.conf: not used for the servers of its host, because openstack:a, "
                "openstack:b each have a host named cmp1; name one cloud at a time"
            ),
        )
    ]


@pytest.mark.parametrize("host", [None, "cmp2"])
def test_a_host_without_a_node_is_not_met(host: str | None) -> None:
    assert not NodesByHost([node("/n/nova.conf", "cmp1")]).meet(host, "openstack:a")
