"""On Nova 30 an image with ``hw_vif_model=igb`` was called slow (VNIC062), where Nova refuses it;
and VNIC070 named igb among the models to take, on any release. Nova has it since 31.
"""

from datetime import date

import pytest

from tests.audit.clouds import server
from tests.platforms.openstack.servers import IMAGE
from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.work import Assumptions, AuditWork
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.knowledge.nova_conf.options import release_of
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import NicConfig
from vnicaudit.model.openstack import NovaVersions, ServerConfig
from vnicaudit.platforms.openstack.images import image_of
from vnicaudit.platforms.openstack.listing import releases


def said(model: str, highest: tuple[int, int] | None, release: str | None = None) -> dict[str, str]:
    """Rule -> fix, of an image of a cloud with that highest microversion, or with that
    ``--nova-release``."""
    raw = {"id": IMAGE, "hw_vif_model": model, "os_type": "linux", "disk_format": "qcow2"}
    newest = None if highest is None else releases(highest).newest
    found = image_of(raw, "openstack:c", newest)
    assert found is not None
    given = Assumptions(nova=None if release is None else release_of(release))
    work = AuditWork(
        rule_ids(), given, Suppressor((), date.today(), rule_ids()), {}, every_platform()
    )
    audited = work.description(found, "openstack:c")
    assert audited.crashed == ()
    return {one.rule: f"{one.message} | {one.fix}" for one in audited.findings}


@pytest.mark.parametrize("highest", [(2, 90), (2, 93), (2, 95), (2, 96)])
def test_igb_is_refused_before_31(highest: tuple[int, int]) -> None:
    found = said("igb", highest)
    assert set(found) == {"VNIC070"}
    assert "does not know this model, which came with 31: it refuses the image" in found["VNIC070"]
    assert "igb" not in found["VNIC070"].partition(" | ")[2]


@pytest.mark.parametrize("highest", [(2, 100), (2, 103), (2, 104)])
def test_igb_is_a_model_since_31(highest: tuple[int, int]) -> None:
    assert set(said("igb", highest)) == {"VNIC062"}
    assert "vmxnet3, igb." in said("virtio-net-pci", highest)["VNIC070"]


def test_where_the_release_is_not_known_it_is_said_since_when() -> None:
    assert "igb (since Nova 31)" in said("virtio-net-pci", None)["VNIC070"]


def test_the_release_that_was_given_counts() -> None:
    assert set(said("igb", None, "2024.2")) == {"VNIC070"}
    assert set(said("igb", None, "2025.1")) == {"VNIC062"}


@pytest.mark.parametrize(
    ("model", "highest"), [("vmxnet3", (2, 79)), ("e1000e", (2, 65)), ("lan9118", (2, 42))]
)
def test_other_models_that_came_later(model: str, highest: tuple[int, int]) -> None:
    assert set(said(model, highest)) == {"VNIC070"}


def test_a_server_that_keeps_it_does_not_start_there() -> None:
    kept = ServerConfig(
        status="ACTIVE", stored_properties=(("hw_vif_model", "igb"),), properties_source="api",
        nova=NovaVersions("2.96", 29, 30),
    )  # fmt: skip
    nic = NicConfig("ethernet", actual_type="ethernet", model="igb")
    rules = rule_ids()
    work = AuditWork(
        rules, Assumptions(), Suppressor((), date.today(), rules), {}, every_platform()
    )
    audited = work.domain(server(1, nic, kept=kept), HostConfig(), "openstack:c")
    (found,) = [one for one in audited.findings if one.rule == "VNIC007"]
    assert found.message.startswith("Nova refuses igb with KVM: the server does not start")
