"""An image of a cloud -> a step, and what of it is left as it is."""

from tests.remedy.planning.blocked import why
from tests.remedy.planning.cloud.clouds import (
    CLOUD,
    IMAGE,
    PROJECT,
    image,
    left,
    plan,
    server,
    step,
    tenants,
)
from tests.remedy.planning.planned import selected
from tests.remedy.planning.units import cloud_of
from tests.rows import rows_of_tuples
from vnicaudit.audit.work import AuditWork
from vnicaudit.model.finding import Change, Crashed, Description, Ref
from vnicaudit.model.openstack import Image
from vnicaudit.model.plan import ImageUnit, NotPlanned, UnitStep
from vnicaudit.model.report import Audited
from vnicaudit.remedy.planning.run import PlanOptions
from vnicaudit.remedy.replacing import kept_digest

UNSAFE = PlanOptions(unsafe=True)


def test_the_model_of_an_image_is_for_servers_to_come() -> None:
    found = step(image(servers=12))
    why = "libosinfo lists virtio for this system; only new servers are affected"
    assert (found.unit.kind, found.target, found.owner) == ("image", CLOUD, "nova")
    assert found.about == Ref("image", "legacy", IMAGE)
    assert found.rules == ("VNIC062",)
    assert found.changes == (Change("hw_vif_model", "rtl8139", "virtio", safe=True, reason=why),)
    assert (found.safe, found.reason, found.readiness) == (True, why, "ready")
    assert found.unit == ImageUnit(
        {"hw_vif_model": "virtio"}, {"hw_vif_model": "rtl8139"}, project=PROJECT
    )
    assert found.digest == kept_digest("image", IMAGE, {"hw_vif_model": "rtl8139"})
    assert found.diff == (
        "--- legacy\n+++ legacy\n@@ properties @@\n-hw_vif_model=rtl8139\n+hw_vif_model=virtio\n"
    )
    assert (found.running, found.refused, found.procedure) == (False, (), ())
    assert [mode.possible for mode in found.modes] == [True, True, True]
    assert found.notes == (
        "It applies to servers created from it from now on.",
        (
            "12 servers created from it keep what Nova has kept for them: changes of them are "
            "planned separately."
        ),
    )


@rows_of_tuples
def test_how_many_servers_were_made_of_it(servers: int | None, says: tuple[str, ...]) -> None:
    assert step(image(servers=servers)).notes[1:] == says


def test_the_trap_of_os_distro_is_a_property_that_was_not_there() -> None:
    found = step(image({"os_distro": "debian12"}))
    assert found.rules == ("VNIC063",)
    assert (cloud_of(found).properties, cloud_of(found).old) == (
        {"hw_vif_model": "virtio"}, {"hw_vif_model": None},
    )  # fmt: skip
    assert found.diff.endswith("@@ properties @@\n+hw_vif_model=virtio\n")


def test_what_is_in_it_may_have_no_driver() -> None:
    windows = image(
        {"hw_vif_model": "e1000", "os_distro": "windows", "os_type": "windows"},
        libosinfo_model=None,
    )
    found = left(windows)
    assert (found.about.kind, found.project) == ("image", PROJECT)
    assert found.text == (
        "unsafe: Windows does not include a virtio driver: add NetKVM to the image first "
        "(--include-unsafe plans it)"
    )
    asked = step(windows, options=UNSAFE)
    assert (asked.safe, asked.readiness) == (False, "needs-driver")
    unknown = image({"hw_vif_model": "e1000"}, libosinfo_model=None)
    assert step(unknown, options=UNSAFE).readiness == "unknown"


def test_a_property_is_not_taken_away() -> None:
    """What was meant by one that Nova does not read would be gone."""
    misspelt = image({"hw_vif_model": "virtio", "hw_vif_multiqueue": "true"})
    for options in (PlanOptions(), UNSAFE):
        found = left(misspelt, options=options)
        assert (found.rules, found.reason) == (
            ("VNIC077",), "Set hw_vif_multiqueue_enabled in its place.",
        )  # fmt: skip


def test_an_image_that_is_as_it_should_be_has_no_step() -> None:
    assert plan(image({"hw_vif_model": "virtio"}), image({}, id="i2")) == []


def test_a_tenant_changes_the_images_of_the_project() -> None:
    """Public ones belong to somebody else, mostly."""
    mine, others = image(), image(id="i2", name="public", owner="0" * 32)
    planned = plan(tenants(server()), mine, others)
    images = {one.about.name: one for one in planned if isinstance(one, UnitStep)}
    assert images["legacy"].blocked == ()
    assert why(images["public"]) == (
        (
            f"the image belongs to project {'0' * 32}: ask its owner, or make your own image "
            "(openstack --os-cloud prod server image create, openstack --os-cloud prod image "
            "create) and set it there"
        ),
    )
    admins = [one for one in plan(server(), others) if isinstance(one, UnitStep)]
    assert [one.blocked for one in admins] == [(), ()]


def test_who_sees_no_server_is_not_known_to_be_a_tenant() -> None:
    assert step(image(owner="0" * 32)).blocked == ()


def test_images_come_first_by_use() -> None:
    few, many = image(id="a", name="few", servers=1), image(id="b", name="many", servers=90)
    unused = image(id="c", name="unused", servers=None)
    planned = plan(server(), few, unused, many)
    assert [one.about.name for one in planned] == ["many", "few", "unused", "web-01"]


class Crashing(AuditWork):
    def description(self, item: Description, target: str) -> Audited:
        assert isinstance(item, Image)
        crashed = Crashed("VNIC062", Ref("image", item.name), "ValueError: no")
        return Audited(target, item.name, crashed=(crashed,))


def test_a_rule_that_crashes_says_nothing() -> None:
    found = left(image(), judge=selected(kind=Crashing))
    assert isinstance(found, NotPlanned)
    assert found.reason == "rule VNIC062 crashes on it: ValueError: no"
