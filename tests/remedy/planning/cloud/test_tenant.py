"""What somebody can do who uses a cloud and does not operate it."""

from typing import Any

from tests.remedy.planning.blocked import why
from tests.remedy.planning.cloud.clouds import ID, IMAGE, image, server, step, tenants
from tests.rows import rows
from vnicaudit.model.plan import Step

SET = "--property hw_vif_model=virtio"
MANAGE = (
    "Ask the operator of the cloud to run this on a controller, while the server is off: "
    f"nova-manage image_property set {ID} {SET}"
)
TENANT = (
    "only an operator of the cloud can change what Nova keeps for a server: the procedure "
    "lists what to ask for, and what you can do yourself"
)
REBUILT = (
    "A rebuild from its original image would lose all data on its root disk; id, ports and "
    "addresses stay."
)


def asked(**given: Any) -> Step:
    return step(tenants(server(**given)))


def test_a_tenant_asks_the_operator_or_rebuilds_a_snapshot() -> None:
    found = asked()
    assert why(found) == (TENANT,)
    assert found.procedure == (
        f"openstack server stop {ID}",
        MANAGE,
        f"openstack server start {ID}",
        (
            "Or without the operator: rebuild it from a snapshot of itself. Its root disk will "
            "be that of the snapshot; an ephemeral or swap disk of its flavor is created empty:"
        ),
        f"openstack server stop {ID}",
        f"openstack server image create --wait --name web-01-vnic {ID}",
        f"openstack image set {SET} web-01-vnic",
        f"openstack server rebuild --wait --image web-01-vnic {ID}",
        f"openstack server start {ID}",
        REBUILT,
        f"For new servers: openstack image set {SET} {IMAGE}",
    )


def test_one_that_is_off_is_not_stopped() -> None:
    procedure = asked(status="SHUTOFF").procedure
    assert procedure[0] == MANAGE
    assert f"openstack server stop {ID}" not in procedure


@rows
def test_one_that_nova_would_not_stop_is_brought_back_first(status: str, first: str) -> None:
    """It answers 409 otherwise, to a rebuild too."""
    procedure = asked(status=status).procedure
    assert procedure[:3] == (first, f"openstack server stop {ID}", MANAGE)
    assert procedure.count(first) == 1


def test_one_that_is_shelved_with_a_volume_is_off() -> None:
    shelved = asked(status="SHELVED", config={"image": None, "image_state": "volume"})
    assert shelved.procedure[0] == MANAGE


def test_the_image_of_somebody_else_is_for_its_owner() -> None:
    public = image(owner="0" * 32)
    assert asked(config={"image": public}).procedure[-1] == (
        f"For new servers: ask the owner of the image {IMAGE} to set {SET}, or make an image of "
        "your own that has it."
    )
    assert asked(config={"image": None, "image_state": "gone"}).procedure[-1] == REBUILT


def test_one_that_boots_from_a_volume_is_made_anew_of_it() -> None:
    procedure = asked(config={"image": None, "image_state": "volume"}).procedure
    assert procedure[1:3] == (MANAGE, f"openstack server start {ID}")
    assert procedure[3:] == (
        (
            "Or without the operator: a new server created from the volume takes the volume's "
            "properties: openstack volume set --image-property hw_vif_model=virtio VOLUME"
        ),
        (
            "Then delete the server, and create it with --volume VOLUME and --port for each of "
            "its ports. First make sure that these are not deleted with the server: the volume "
            "(delete_on_termination), and ports that Nova created."
        ),
        "A rebuild (--reimage-boot-volume, microversion 2.93) would overwrite the volume: all data "
        "on it would be lost.",
    )


def test_names_of_servers_are_quoted() -> None:
    procedure = asked(name="$(reboot)").procedure
    assert f"openstack server image create --wait --name '$(reboot)-vnic' {ID}" in procedure


def test_an_operator_has_no_procedure() -> None:
    assert step(server()).procedure == ()
