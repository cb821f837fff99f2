"""What a server gets, by what Nova keeps of it and what nova.conf of its host says.

The definitions that Nova 34.0.0 makes were seen on a real one (libvirt 9.0, QEMU 7.2): a queue per
vCPU with ``virt_type=kvm``, none with ``qemu``; ``<driver name='qemu'/>`` with the latter;
``rx_queue_size`` with both; no model, and so libvirt's rtl8139, without ``use_virtio_for_bridges``.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.audit.clouds import config, flavor, port, server
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import KNOWN, NONE, UNKNOWN, Effective, NicConfig
from vnicaudit.model.openstack import NodeFacts, NovaVersions, ServerConfig

DEFAULTS = {
    "use_virtio_for_bridges": "true", "rx_queue_size": "", "tx_queue_size": "", "max_queues": "",
    "virt_type": "kvm",
}  # fmt: skip
"""Of ``[libvirt]`` in Nova 34.0.0."""

HOST = "qemu+ssh://HOST/system"


def node(**options: str) -> NodeFacts:
    return NodeFacts("cmp1/nova.conf", tuple((DEFAULTS | options).items()))


def effective(nic: NicConfig, kept: ServerConfig, **domain: Any) -> Effective:
    declared = replace(server(1, nic, kept=kept).declared, **domain)
    return every_platform().resolver(declared)(nic, declared, HostConfig(), None)


def said(resolved: Any) -> tuple[Any, str, str]:
    return resolved.effective, resolved.state, resolved.reason


class TestModel:
    @pytest.mark.parametrize(
        ("kept", "reason"),
        [
            (config(hw_vif_model="rtl8139"), "Nova keeps hw_vif_model=rtl8139 for this server"),
            (
                config("image", hw_vif_model="rtl8139"),
                (
                    "hw_vif_model=rtl8139 from its image, which has not changed since the "
                    "server was created"
                ),
            ),
            (config(hw_vif_model="VirtualE1000"), "Nova writes rtl8139 for it, whatever it keeps"),
        ],
    )
    def test_what_is_kept(self, kept: ServerConfig, reason: str) -> None:
        found = effective(port("rtl8139"), kept)
        assert (found.model.declared, *said(found.model)) == ("rtl8139", "rtl8139", KNOWN, reason)
        assert found.starts

    @pytest.mark.parametrize(
        ("kept", "tell"),
        [
            (config("unseen"), "Nova does not report what it keeps for this server"),
            (config(), "virtio, unless use_virtio_for_bridges is off"),
            (config("image"), "virtio, unless use_virtio_for_bridges is off"),
            (config(os_distro="ubuntu22.04"), "os_distro=ubuntu22.04"),
            (replace(config("unseen"), node=node()), "Nova does not report what it keeps"),
            (replace(config(os_distro="ubuntu22.04"), node=node()), "os_distro=ubuntu22.04"),
        ],
    )
    def test_where_none_is_known(self, kept: ServerConfig, tell: str) -> None:
        found = effective(port(None), kept)
        assert (found.model.effective, found.model.state) == (None, UNKNOWN)
        assert tell in found.model.reason
        assert HOST in found.model.reason
        assert (found.vhost.state, found.queues.state) == (UNKNOWN, UNKNOWN)

    def test_novas_default(self) -> None:
        found = effective(port(None), replace(config(), node=node()))
        assert said(found.model) == (
            "virtio", KNOWN, "no hw_vif_model kept: virtio, by nova.conf of its host",
        )  # fmt: skip

    def test_the_default_of_an_image_that_names_none(self) -> None:
        found = effective(port(None), replace(config("image"), node=node()))
        reason = "its image names no hw_vif_model: virtio, by nova.conf of its host"
        assert said(found.model) == ("virtio", KNOWN, reason)

    @pytest.mark.parametrize(
        ("nova", "model", "tell"),
        [
            (NovaVersions("2.96", 29, 30), None, "Nova may still keep virtio from when it was on"),
            (NovaVersions("2.90", 24, 25), None, "Nova may still keep virtio from when it was on"),
            (NovaVersions("2.88", 23, 23), "rtl8139", "libvirt's default"),
        ],
    )
    def test_novas_own_choice_is_kept_since_25(
        self, nova: NovaVersions, model: str | None, tell: str
    ) -> None:
        """A real Nova 29.0.2 keeps hw_vif_model=virtio for servers of an image that names none."""
        kept = replace(config("image"), nova=nova, node=node(use_virtio_for_bridges="false"))
        found = effective(port(None), kept, arch="x86_64").model
        assert found.effective == model
        assert found.reason.startswith("use_virtio_for_bridges is off in nova.conf of its host")
        assert tell in found.reason

    @pytest.mark.parametrize(
        ("arch", "model", "state"), [("x86_64", "rtl8139", KNOWN), (None, None, UNKNOWN)]
    )
    def test_libvirts_default(self, arch: str | None, model: str | None, state: str) -> None:
        kept = replace(config(), node=node(use_virtio_for_bridges="false"))
        found = effective(port(None), kept, arch=arch)
        assert (found.model.effective, found.model.state) == (model, state)
        assert found.model.reason.startswith("use_virtio_for_bridges is off in nova.conf of its")

    @pytest.mark.parametrize(
        ("model", "kind", "starts"),
        [
            ("netfront", None, False),
            ("sriov", None, False),
            ("vmxnet", "qemu", False),
            ("lan9118", "kvm", False),
            ("lan9118", "qemu", True),
            ("lan9118", None, True),
            ("igb", "kvm", True),
        ],
    )
    def test_what_nova_refuses(self, model: str, kind: str | None, starts: bool) -> None:
        """``SUPPORTED_VIF_MODELS`` of nova/virt/libvirt/vif.py."""
        kept = config(hw_vif_model=model)
        kept = kept if kind is None else replace(kept, node=node(virt_type=kind))
        found = effective(port(model), kept)
        assert found.starts is starts
        assert (found.model.state == NONE) is not starts

    def test_what_qemu_does_not_have(self) -> None:
        found = effective(port("rtl8139"), config(hw_vif_model="rtl8139"), arch="s390x")
        assert not found.starts
        assert found.model.reason == "QEMU has no rtl8139 on s390x: does not start"

    def test_another_model_on_vhost_user_is_refused_by_libvirt(self) -> None:
        nic = port("e1000", type="vhostuser", actual_type="vhostuser")
        found = effective(nic, config(hw_vif_model="e1000"))
        assert not found.starts

    def test_a_packed_ring_on_another_model_is_refused_by_libvirt(self) -> None:
        nic = port("e1000", packed="on")
        assert not effective(nic, config(hw_vif_model="e1000")).starts
        assert effective(port("virtio", packed="on"), config(hw_vif_model="virtio")).starts


class TestVhost:
    @pytest.mark.parametrize(
        ("nic", "options", "expected"),
        [
            (port("e1000"), {}, (False, KNOWN)),
            (port(), {}, (None, UNKNOWN)),
            (port(), {"virt_type": "kvm"}, (None, UNKNOWN)),
            (port(), {"virt_type": "qemu"}, (False, KNOWN)),
            (port(type="network", actual_type=None), {}, (None, UNKNOWN)),
            (port(type="vhostuser", actual_type="vhostuser"), {}, (None, NONE)),
            (port(None, type="vdpa", actual_type="vdpa"), {}, (None, NONE)),
            (port(type="user", actual_type="user"), {}, (False, KNOWN)),
        ],
    )
    def test_what_is_known(
        self, nic: NicConfig, options: dict[str, str], expected: tuple[bool | None, str]
    ) -> None:
        kept = config(hw_vif_model=nic.model or "")
        kept = replace(kept, node=node(**options)) if options else kept
        assert said(effective(nic, kept).vhost)[:2] == expected

    def test_the_reasons_say_what_would_tell(self) -> None:
        open_, qemu = (
            effective(port(), replace(config(), node=node(virt_type=kind))).vhost.reason
            for kind in ("kvm", "qemu")
        )
        assert HOST in open_
        assert qemu == "virt_type=qemu in nova.conf of its host: Nova writes <driver name='qemu'/>"


class TestQueues:
    @pytest.mark.parametrize(
        ("queues", "options", "expected"),
        [
            (None, None, (1, KNOWN)),
            (4, None, (None, UNKNOWN)),
            (4, {}, (4, KNOWN)),
            (4, {"max_queues": "2"}, (2, KNOWN)),
            (4, {"max_queues": "8"}, (4, KNOWN)),
            (300, {}, (256, KNOWN)),
            (4, {"virt_type": "qemu"}, (1, KNOWN)),
        ],
    )
    def test_virtio(
        self,
        queues: int | None,
        options: dict[str, str] | None,
        expected: tuple[int | None, str],
    ) -> None:
        kept = config(hw_vif_model="virtio")
        kept = kept if options is None else replace(kept, node=node(**options))
        found = effective(port(queues=queues), kept).queues
        assert found.declared == queues
        assert said(found)[:2] == expected

    def test_the_reasons(self) -> None:
        def reason(queues: int | None, **options: str) -> str:
            kept = replace(config(hw_vif_model="virtio"), node=node(**options))
            return effective(port(queues=queues), kept).queues.reason

        assert reason(None) == (
            "multiqueue is off in its flavor and in what Nova keeps: one queue pair"
        )
        assert reason(4) == "multiqueue is on: one per vCPU"
        assert reason(4, max_queues="2") == (
            "multiqueue is on: one per vCPU, 2 at most (max_queues in nova.conf of its host)"
        )
        assert reason(4, virt_type="qemu") == (
            "virt_type=qemu in nova.conf of its host: Nova ignores multiqueue"
        )

    @pytest.mark.parametrize(
        "kept", [config("unseen"), replace(config(hw_vif_model="virtio"), flavor=None)]
    )
    def test_where_it_is_not_seen_whether_they_are_on(self, kept: ServerConfig) -> None:
        assert said(effective(port(), kept).queues)[:2] == (None, UNKNOWN)

    def test_no_others_have_several(self) -> None:
        assert effective(port("e1000", queues=4), config()).queues.effective == 1
        vdpa = port(None, type="vdpa", actual_type="vdpa")
        assert effective(vdpa, replace(config(), flavor=flavor(vcpus=4))).queues.effective == 1


class TestRings:
    @pytest.mark.parametrize(
        ("kind", "options", "rx", "tx"),
        [
            ("ethernet", None, (None, UNKNOWN), (256, KNOWN)),
            ("ethernet", {}, (256, KNOWN), (256, KNOWN)),
            ("bridge", {"rx_queue_size": "1024"}, (1024, KNOWN), (256, KNOWN)),
            ("bridge", {"rx_queue_size": "512", "virt_type": "qemu"}, (512, KNOWN), (256, KNOWN)),
            ("ethernet", {"tx_queue_size": "1024"}, (256, KNOWN), (256, KNOWN)),
            ("vhostuser", None, (None, UNKNOWN), (None, UNKNOWN)),
            ("vhostuser", {"rx_queue_size": "512", "tx_queue_size": "1024"}, (512, KNOWN),
             (1024, KNOWN)),
            ("vdpa", {"rx_queue_size": "512", "tx_queue_size": "1024"}, (256, KNOWN), (256, KNOWN)),
            (None, {"rx_queue_size": "512", "tx_queue_size": "512"}, (None, UNKNOWN),
             (None, UNKNOWN)),
            (None, {}, (256, KNOWN), (256, KNOWN)),
        ],
    )  # fmt: skip
    def test_virtio(
        self,
        kind: str | None,
        options: dict[str, str] | None,
        rx: tuple[int | None, str],
        tx: tuple[int | None, str],
    ) -> None:
        kept = config(hw_vif_model="virtio")
        kept = kept if options is None else replace(kept, node=node(**options))
        found = effective(port(type=kind or "network", actual_type=kind), kept)
        assert said(found.rx_queue_size)[:2] == rx
        assert said(found.tx_queue_size)[:2] == tx

    def test_others_have_none(self) -> None:
        found = effective(port("e1000"), config())
        assert (found.rx_queue_size.state, found.tx_queue_size.state) == (NONE, NONE)


def test_a_port_that_is_passed_through_has_nothing_of_it() -> None:
    nic = port(None, type="hostdev", actual_type="hostdev")
    found = effective(nic, config())
    assert {found.model.state, found.vhost.state, found.queues.state} == {NONE}
    assert found.starts


def test_another_hypervisors_server_is_judged_by_nobody() -> None:
    found = effective(port(None), config(), type="vmware")
    assert found.model.reason == "not a QEMU domain (type='vmware'): not judged"


def test_a_domain_of_libvirts_is_resolved_as_ever() -> None:
    """What Nova keeps of it is for rules; what it really is libvirt says."""
    kept = config(hw_vif_model="rtl8139")
    found = effective(
        port("virtio", queues=2), kept, described_by="live", joined_server=kept,
        platform="domain_xml",
    )  # fmt: skip
    assert (found.model.effective, found.queues.effective) == ("virtio", 2)
