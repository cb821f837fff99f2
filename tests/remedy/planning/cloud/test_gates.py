"""What stands in the way of changing a server, and how a change of it can take effect."""

from typing import Any

import pytest

from tests.remedy.planning.cloud.clouds import (
    ID,
    NOVA_24,
    NOVA_29,
    NOVA_34,
    flavor,
    server,
    tenants,
)
from tests.rows import rows, rows_of_tuples
from vnicaudit.model.openstack import NovaVersions
from vnicaudit.model.plan import Blocked
from vnicaudit.remedy.planning.cloud import properties

PROPERTIES = {"hw_vif_model": "virtio"}
COMES_BACK = (
    "unless this Nova has the fix of Launchpad bug 2078999 (28.3.1, 29.2.1, 30.0), a "
    "resize or cold migration brings the old value back until the next hard reboot: "
    "hard-reboot the server after one"
)


def blocks(**given: Any) -> list[str]:
    return [one.text for one in properties.blocks(server(**given))]


@pytest.mark.parametrize("status", ["ACTIVE", "SHUTOFF"])
def test_a_server_that_runs_or_is_off_is_changed(status: str) -> None:
    assert blocks(status=status) == []


@rows
def test_every_other_state_says_what_to_do(status: str, says: str) -> None:
    assert blocks(status=status) == [says]


@pytest.mark.parametrize("status", ["SHELVED", "SHELVED_OFFLOADED"])
def test_what_is_made_anew_of_a_snapshot_is_unshelved_first(status: str) -> None:
    """Its snapshot has the old property, and unshelving passes that on and not what Nova keeps
    (compute/manager.py, _unshelve_instance). One that is shelved is offloaded when Nova comes to
    it."""
    assert blocks(status=status) == [
        "it is shelved, and unshelving rebuilds it from its snapshot, with the snapshot's "
        f"properties: openstack server unshelve {ID}, then plan again"
    ]
    assert blocks(status=status, config={"image_state": "volume"}) == []


def test_a_lock_is_a_word_of_somebody() -> None:
    says = f"it is locked{{}}: ask who locked it, then openstack server unlock {ID}"
    assert blocks(ref={"locked": True}) == [says.format("")]
    assert blocks(ref={"locked": True, "locked_reason": "audit until Monday"}) == [
        says.format(" (audit until Monday)")
    ]
    assert blocks(ref={"locked": None}) == blocks(ref={"locked": False}) == []


def test_a_server_that_nova_is_at_work_on() -> None:
    busy = "Nova is working on it (powering-off): plan again when that is done"
    assert blocks(ref={"task_state": "powering-off"}) == [busy]
    assert blocks(ref={"task_state": "powering-off"}, status="PAUSED") == [busy]


def test_nova_older_than_yoga_cannot() -> None:
    (says,) = blocks(config={"nova": NOVA_24})
    assert says.startswith("this is Nova 24 or older, which cannot change what it keeps")
    assert blocks(config={"nova": NovaVersions("2.90", 24, 25)}) == []
    assert blocks(config={"nova": NOVA_29}) == blocks(config={"nova": None}) == []


def test_a_running_server_has_to_be_stopped() -> None:
    next_boot, restart, hotswap = properties.modes(server())
    assert (next_boot.mode, next_boot.possible) == ("next-boot", False)
    assert next_boot.reason == (
        "Nova can set a property only while the server is stopped or shelved: this one is "
        "running and must be stopped first"
    )
    assert (restart.mode, restart.possible, restart.reason) == ("restart", True, "")
    assert (hotswap.mode, hotswap.possible) == ("hotswap", False)
    assert hotswap.reason.startswith("Nova plugs in NICs with the model that it keeps")


@pytest.mark.parametrize(
    ("status", "when"),
    [
        ("SHUTOFF", "the server is off: the change takes effect when it is started"),
        ("SHELVED", "the server is shelved: the change takes effect when it is unshelved"),
    ],
)
def test_one_that_is_off_takes_effect_later(status: str, when: str) -> None:
    next_boot, restart, hotswap = properties.modes(server(status=status))
    assert (next_boot.possible, next_boot.reason) == (True, when)
    assert (restart.possible, restart.reason) == (True, when)
    assert not hotswap.possible


def test_one_in_another_state_takes_effect_in_no_way() -> None:
    assert [mode.possible for mode in properties.modes(server(status="PAUSED"))] == [False] * 3
    assert properties.modes(server(status="PAUSED"))[1].reason == "it is PAUSED"


@rows_of_tuples
def test_what_else_to_know(
    config: dict[str, Any], ref: dict[str, Any], says: tuple[str, ...]
) -> None:
    assert tuple(properties.notes(server(config=config, ref=ref), PROPERTIES)) == says


@pytest.mark.parametrize("nova", [NOVA_34, NOVA_29, None])
def test_which_nova_keeps_a_change(nova: NovaVersions | None) -> None:
    notes = list(properties.notes(server(config={"nova": nova}), PROPERTIES))
    unknown = "this needs Nova 25.0 (Yoga) or later; the version of this cloud is unknown"
    assert notes == {NOVA_34: [], NOVA_29: [COMES_BACK], None: [unknown, COMES_BACK]}[nova]


def test_a_flavor_that_is_not_seen_whole_may_contradict() -> None:
    for config in ({"flavor": flavor(complete=False)}, {"flavor": None}):
        assert list(properties.notes(server(config=config), PROPERTIES)) == [
            "its flavor's extra specs are not visible: one that contradicts the change would keep "
            "it from starting"
        ]


def test_who_may_operate_is_told_where_a_server_runs() -> None:
    ref = server().cloud
    assert ref is not None
    assert properties.may_operate(ref)
    offloaded = server(ref={"host": None}).cloud
    assert offloaded is not None
    assert properties.may_operate(offloaded)  # it is nowhere, and still has a name there
    tenant = tenants(server()).cloud
    assert tenant is not None
    assert not properties.may_operate(tenant)


def test_an_id_from_outside_is_quoted() -> None:
    found = list(properties.blocks(server(id="a; reboot", status="PAUSED")))
    way = "openstack server unpause 'a; reboot'"
    assert found == [Blocked("server-state", f"it is paused: {way}, then plan again")]
