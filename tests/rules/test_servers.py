"""Whatever a cloud says of a server: no rule crashes, and what it says of it stays readable."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.host import HostConfig
from vnicaudit.model.openstack import PortBinding
from vnicaudit.rule_cases.cases import server_of

_ENGINE = DomainAuditor(rule_ids(), every_platform())
_LONGEST = 400
"""Characters of a message: a value from outside is cut."""

_MODELS = st.sampled_from(["virtio", "e1000", "VirtualVmxnet3", "vmxnet", "lan9118", "sriov"])
_TEXT = st.text(max_size=300)
_FLAGS = st.sampled_from(["true", "no"]) | _TEXT
_KEPT = st.fixed_dictionaries(
    {},
    optional={
        "hw_vif_model": _MODELS | _TEXT,
        "hw_vif_multiqueue_enabled": _FLAGS,
        "hw_virtio_packed_ring": _FLAGS,
        "hw_mem_page_size": st.sampled_from(["any", "large", "1GB"]) | _TEXT,
        "os_distro": st.sampled_from(["debian", "ubuntu22.04", "win2k22"]) | _TEXT,
    },
)
_FLAVOR = st.fixed_dictionaries(
    {},
    optional={
        "hw:vif_multiqueue_enabled": _FLAGS,
        "hw:virtio_packed_ring": _FLAGS,
        "hw:mem_page_size": st.sampled_from(["any", "small", "4", "2MB"]) | _TEXT,
    },
)
_NODE = st.fixed_dictionaries(
    {},
    optional={
        "virt_type": st.sampled_from(["kvm", "qemu"]) | _TEXT,
        "use_virtio_for_bridges": st.sampled_from(["true", "false"]),
        "max_queues": st.sampled_from(["", "1", "8"]) | _TEXT,
        "rx_queue_size": st.sampled_from(["", "1024"]) | _TEXT,
        "file_backed_memory": st.sampled_from(["", "0", "4096"]) | _TEXT,
    },
)
_PORT = st.fixed_dictionaries(
    {
        "vnic_type": st.sampled_from(["", "normal", "direct", "vdpa", "macvtap"]) | _TEXT,
        "vif_type": st.sampled_from(["", "ovs", "vhostuser", "macvtap", "unbound"]) | _TEXT,
    }
)
_NOVA = st.none() | st.tuples(st.none() | st.integers(1, 99), st.none() | st.integers(1, 99))
_SERVERS = st.fixed_dictionaries(
    {
        "status": st.sampled_from(["ACTIVE", "SHUTOFF", "ERROR"]) | _TEXT,
        "kept": _KEPT,
        "kept_by": st.sampled_from(["api", "image", "unseen"]),
        "image": st.none() | _KEPT,
        "image_state": st.sampled_from(["there", "gone", "volume", "unseen"]),
        "flavor": _FLAVOR,
        "flavor_seen": st.booleans(),
        "vcpus": st.integers(0, 10**9),
        "nova": _NOVA,
        "node": st.none() | _NODE,
        "ports": st.lists(_PORT, max_size=4),
        "arch": st.sampled_from([None, "x86_64", "s390x", "ppc64le", "aarch64"]),
        "readiness": st.sampled_from(["ready", "unknown", "needs-driver", "not-supported"]),
    }
)


_BOUND = [
    PortBinding("normal", "ovs"),
    PortBinding("normal", "bridge"),
    PortBinding("normal", "vhostuser"),
    PortBinding("normal", "macvtap"),
    PortBinding("normal", ""),
    PortBinding("direct", "hw_veb"),
    PortBinding("vdpa", "ovs"),
    PortBinding("macvtap", "macvtap"),
]


@pytest.mark.parametrize("binding", _BOUND, ids=str)
def test_a_port_of_a_case_is_what_the_reader_makes_of_it(binding: PortBinding) -> None:
    pytest.importorskip("openstack")
    from vnicaudit.platforms.openstack.guest import AllNics, nics_of
    from vnicaudit.platforms.openstack.network import Bound, Port

    kept = {"hw_vif_model": "e1000", "hw_virtio_packed_ring": "true"}
    (case,) = server_of({"kept": kept, "ports": [msgspec.to_builtins(binding)]}).nics
    port = Port("p", None, bound=Bound(binding))
    (read,) = nics_of("s", [port], AllNics("e1000", packed=True), {}, "openstack:test", {})
    names = ("type", "origin", "actual_type", "model", "queues", "packed")
    assert {name: getattr(case.declared, name) for name in names} == {
        name: getattr(read.declared, name) for name in names
    }


@given(_SERVERS)
def test_no_rule_crashes_on_what_a_cloud_says(case: dict[str, Any]) -> None:
    audited = _ENGINE.audit_domain(server_of(case), HostConfig(), "openstack:test")
    assert audited.crashed == ()
    assert [len(found.message) for found in audited.findings if len(found.message) > _LONGEST] == []


@given(_SERVERS)
def test_what_is_not_known_is_not_found(case: dict[str, Any]) -> None:
    nothing = case | {"kept": {}, "kept_by": "unseen", "flavor": {}, "node": None}
    audited = _ENGINE.audit_domain(server_of(nothing), HostConfig(), "openstack:test")
    assert audited.crashed == ()
    assert audited.findings == ()
