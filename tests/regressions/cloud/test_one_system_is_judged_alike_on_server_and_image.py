"""``os_distro=debian12`` was safe on the servers of an image, and unsafe on the image: the table of
the server came with the program, that of the image from a database of libosinfo that was older than
Debian 12. So a plan changed all servers and left the image, new servers came emulated as before,
and each changed server was told that it is unlike its image.
"""

from typing import Any

import pytest

from tests.platforms.openstack.servers import IMAGE, around, domain, port, raw
from tests.remedy.planning.cloud.clouds import image as planned_image
from tests.remedy.planning.cloud.clouds import plan
from tests.remedy.planning.cloud.clouds import server as planned_server
from tests.remedy.works import work
from vnicaudit.model.finding import Finding
from vnicaudit.model.openstack import Image
from vnicaudit.model.plan import NotPlanned, UnitStep
from vnicaudit.platforms.openstack.connect import CloudLogin
from vnicaudit.platforms.openstack.images import Images, image_of
from vnicaudit.platforms.openstack.lists import Projects
from vnicaudit.platforms.openstack.read import Uses

DISK = {"hw_vif_model": "rtl8139", "hw_disk_bus": "virtio"}
"""What Nova keeps for a server of such an image: the bus it chose by itself."""
LAUNCHED = {"OS-SRV-USG:launched_at": "2026-11-22T03:18:19.000000"}


def image(**properties: str) -> Image:
    """One of Glance's, where libosinfo of this machine lists nothing for its system."""
    said = {
        "id": IMAGE, "status": "active", "updated_at": "2026-01-01T00:00:00Z",
        "disk_format": "qcow2", "hw_vif_model": "rtl8139", **properties,
    }  # fmt: skip
    found = image_of(said, "openstack:c")
    assert found is not None
    return found


def listed(one: Image, kept: dict[str, Any]) -> Image:
    """The image as it comes when its one server, for which Nova keeps that, was read."""
    images, uses = Images("openstack:c"), Uses()
    images.by_id[IMAGE] = one
    uses.complete = True
    uses.count(domain(raw(kept, **LAUNCHED), around(port(), image=one)), None)
    cloud = CloudLogin("c", None, None, 30.0, frozenset({"admin"}))  # type: ignore[arg-type]
    (found,) = uses.images(images, cloud, Projects({}))
    return found


def of_image(one: Image) -> Finding:
    (found,) = [f for f in work().description(one, "openstack:c").findings if f.rule == "VNIC062"]
    return found


def is_safe(found: Finding) -> bool:
    return found.change is not None and found.change.safe


def test_an_older_libosinfo_makes_no_image_unsafe_whose_servers_are_safe() -> None:
    one = image(os_distro="debian12")
    assert domain(raw({"os_distro": "debian12", **DISK})).declared.readiness == "ready"
    assert one.readiness == "ready"
    assert is_safe(of_image(one))


def test_what_a_server_proves_of_a_linux_holds_for_its_image() -> None:
    kept = {"os_type": "linux", **DISK}
    one = image(os_type="linux")
    assert not is_safe(of_image(one))
    made = listed(one, kept)
    assert (made.proven, made.servers) == (True, 1)
    assert is_safe(of_image(made))


@pytest.mark.parametrize("system", [{"os_type": "windows"}, {"os_distro": "win2k22"}, {}])
def test_what_was_installed_in_a_server_is_not_in_its_image(system: dict[str, str]) -> None:
    made = listed(image(**system), {**system, **DISK, "hw_vif_model": "virtio"})
    assert not made.proven
    assert not is_safe(of_image(made))


def test_unsafe_gives_its_reason() -> None:
    found = of_image(image(os_type="linux"))
    assert found.fix.endswith(
        "Unsafe: Linux has had a virtio driver since 2.6.25 (2008), but a small kernel may lack it."
    )


def test_a_plan_changes_the_image_with_its_servers() -> None:
    one = planned_image(
        {"hw_vif_model": "rtl8139", "os_type": "linux"}, libosinfo_model=None, proven=True
    )
    steps = plan(planned_server(config={"image": one}), one)
    assert [one.unit.kind for one in steps if isinstance(one, UnitStep)] == [
        "image", "server",
    ]  # fmt: skip


def test_a_plan_that_leaves_the_image_says_what_a_rebuild_does() -> None:
    one = planned_image({"hw_vif_model": "rtl8139", "os_type": "linux"}, libosinfo_model=None)
    left, changed = plan(planned_server(config={"image": one}), one)
    assert isinstance(left, NotPlanned)
    assert "small kernel may lack it" in left.reason
    assert isinstance(changed, UnitStep)
    assert changed.notes[-1] == (
        "its image has hw_vif_model=rtl8139: unless that is changed too, a rebuild would bring "
        "it back (VNIC064)"
    )


def test_an_image_on_pci_express_is_as_unsure_as_its_servers() -> None:
    """An old driver does not do there: the same for both."""
    system = {"os_distro": "centos6.0", "hw_machine_type": "q35"}
    kept = {**system, "hw_vif_model": "rtl8139"}
    assert image(**system).readiness == domain(raw(kept)).declared.readiness
