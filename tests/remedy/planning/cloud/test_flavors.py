"""A flavor that contradicts the images it is booted with -> a new flavor, the old one stays."""

import pytest

from tests.remedy.planning.blocked import why
from tests.remedy.planning.cloud.clouds import (
    flavor,
    image,
    left,
    plan,
    server,
    step,
    steps,
    tenants,
)
from tests.remedy.planning.planned import selected
from tests.remedy.planning.units import flavor_of
from vnicaudit.audit.work import AuditWork
from vnicaudit.model.finding import Change, Crashed, Description, Ref
from vnicaudit.model.openstack import Flavor
from vnicaudit.model.plan import FlavorUnit, UnitStep
from vnicaudit.model.report import Audited
from vnicaudit.remedy.planning.run import PlanOptions
from vnicaudit.remedy.replacing import kept_digest

SPEC = "hw:vif_multiqueue_enabled"
OFF = image({"hw_vif_multiqueue_enabled": "false"})
WHY = "without the extra spec the image decides, and nothing contradicts it; the old flavor stays"


def test_a_new_flavor_without_the_extra_spec() -> None:
    found = step(flavor({SPEC: "true", "hw:mem_page_size": "large"}, images=(OFF,)))
    assert (found.unit.kind, found.owner, found.about) == (
        "flavor", "nova", Ref("flavor", "m1.small", "2"),
    )  # fmt: skip
    assert found.rules == ("VNIC066",)
    assert found.changes == (Change(SPEC, "true", None, safe=True, reason=WHY),)
    assert found.unit == FlavorUnit({SPEC: None}, {SPEC: "true"}, new_name="m1.small-vnic")
    assert found.digest == kept_digest("flavor", "2", {SPEC: "true"})
    assert found.diff == (
        "--- m1.small\n+++ m1.small\n@@ properties @@\n-hw:vif_multiqueue_enabled=true\n"
    )
    assert (found.safe, found.refused) == (True, ())
    assert found.notes[0] == (
        "Servers keep their flavor. To move a server to the new one, resize it, which "
        "takes it down and may move it to another host: openstack --os-cloud prod server "
        "resize --flavor m1.small-vnic SERVER, then openstack --os-cloud prod server "
        "resize confirm SERVER"
    )


@pytest.mark.parametrize(
    "harmless",
    [
        flavor({SPEC: "false"}, images=(OFF,)),
        flavor({SPEC: "true"}),
        flavor({}, images=(OFF,)),
        flavor({SPEC: "true"}, images=(OFF,), vcpus=1),
    ],
)
def test_where_nothing_is_contradicted_there_is_no_step(harmless: Flavor) -> None:
    assert plan(harmless) == []


def test_the_new_name_is_nobodys() -> None:
    """Not that of a flavor there is, nor of another that is planned."""
    first = flavor({SPEC: "true"}, images=(OFF,))
    taken = flavor(id="3", name="m1.small-vnic")
    twin = flavor({SPEC: "true"}, images=(OFF,), id="4")
    names = [flavor_of(one).new_name for one in steps(first, taken, twin)]
    assert names == ["m1.small-vnic2", "m1.small-vnic3"]


def test_a_name_that_a_shell_would_take_apart_is_quoted() -> None:
    found = step(flavor({SPEC: "true"}, images=(OFF,), name="big; reboot"))
    assert "--flavor 'big; reboot-vnic' SERVER" in found.notes[0]


def test_flavors_are_an_operators_to_make() -> None:
    planned = plan(tenants(server()), flavor({SPEC: "true"}, images=(OFF,)))
    (found,) = [
        one for one in planned if isinstance(one, UnitStep) and one.about.name == "m1.small"
    ]
    assert why(found) == (
        "only an operator of the cloud can create flavors: ask for one like this",
    )


def test_a_name_that_nova_does_not_read_is_left_in_the_rules_words() -> None:
    found = left(flavor({"hw:vif_multiqueue": "true"}))
    assert (found.about.kind, found.rules) == ("flavor", ("VNIC077",))
    assert found.reason == "Set hw:vif_multiqueue_enabled in its place."


def test_only_what_is_named() -> None:
    clash = flavor({SPEC: "true"}, images=(OFF,))
    assert plan(clash, options=PlanOptions(domains=frozenset({"web-01"}))) == []
    assert step(clash, options=PlanOptions(domains=frozenset({"m1.small"})))
    assert plan(clash, image(), options=PlanOptions(macs=("fa:16:3e:00:00:09",))) == []


class Crashing(AuditWork):
    def description(self, item: Description, target: str) -> Audited:
        assert isinstance(item, Flavor)
        crashed = Crashed("VNIC066", Ref("flavor", item.name), "ValueError: no")
        return Audited(target, item.name, crashed=(crashed,))


def test_a_rule_that_crashes_says_nothing() -> None:
    assert (
        left(flavor(), judge=selected(kind=Crashing)).reason
        == "rule VNIC066 crashes on it: ValueError: no"
    )
