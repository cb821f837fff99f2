"""Owners, and what they are called."""

from typing import get_args

import msgspec
import pytest

from vnicaudit.model.decoding import msgpack_decoder
from vnicaudit.model.finding import (
    KnownOwner,
    Location,
    OutsideOwner,
    Owner,
    name_of,
    owner_named,
    rewritten_by,
)
from vnicaudit.model.rule import NicSeen


@pytest.mark.parametrize("name", [*get_args(KnownOwner), "inventory", "host", ""])
def test_an_owner_keeps_its_name(name: str) -> None:
    assert name_of(owner_named(name)) == name


def test_one_that_is_known_is_not_from_outside() -> None:
    assert owner_named("nova") == "nova"
    assert owner_named("Nova") == OutsideOwner("Nova")


def test_who_writes_a_definition_anew_says_so() -> None:
    assert [rewritten_by(one) for one in get_args(KnownOwner)] == [
        "", "", "Nova", "KubeVirt", "oVirt", "OpenNebula", "Proxmox VE", "CloudStack", "Ganeti",
        "Incus or LXD", "",
    ]  # fmt: skip
    assert rewritten_by(OutsideOwner("inventory")) == ""
    assert rewritten_by(OutsideOwner("engine", "the Engine")) == "the Engine"


@pytest.mark.parametrize("owner", ["ovirt", OutsideOwner("engine", "the Engine")])
def test_owners_come_back_from_another_process(owner: Owner) -> None:
    seen = NicSeen(
        mac="52:54:00:00:00:01", domain="a", uuid=None, reading="r", target="t",
        location=Location("t"), index=0, kind="bridge", owner=owner,
    )  # fmt: skip
    assert msgpack_decoder(NicSeen).decode(msgspec.msgpack.encode(seen)) == seen
