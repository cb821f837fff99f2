"""Which kind of units a step is on: by the record that says what it changes."""

import pytest
from msgspec.structs import replace

from tests.remedy.applying.fakes import World
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.errors import UsageError
from vnicaudit.model.plan import DomainUnit, FileUnit, FlavorUnit, ImageUnit, ServerUnit, Unit

KINDS = every_platform().unit_kinds()
CLOUD = "openstack:prod"


@pytest.mark.parametrize(
    ("unit", "target", "kind"),
    [
        (DomainUnit(), "qemu:///system", "domain"),
        (FileUnit("a.xml"), "a.xml", "file"),
        (ServerUnit({}, {}), CLOUD, "server"),
        (ImageUnit({}, {}), CLOUD, "image"),
        (FlavorUnit({}, {}), CLOUD, "flavor"),
    ],
)
def test_the_record_tells_the_kind(world: World, unit: Unit, target: str, kind: str) -> None:
    step = replace(world.steps[0], unit=unit, target=target)
    assert KINDS.of(step).kind == kind


@pytest.mark.parametrize("unit", [DomainUnit(), FileUnit("a.xml")])
def test_a_unit_at_a_target_of_another_platform_is_of_no_kind(world: World, unit: Unit) -> None:
    step = replace(world.steps[0], unit=unit, target=CLOUD)
    with pytest.raises(UsageError, match="that can be changed: undo your edits"):
        KINDS.of(step)
