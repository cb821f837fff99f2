"""Keystone says in its error what it was sent, and the password in it was printed."""

from __future__ import annotations

import pytest

from tests.platforms.openstack.cloud import PASSWORD, FakeCloud, reply
from tests.platforms.openstack.conftest import cloud, nowhere
from vnicaudit.errors import TargetError
from vnicaudit.platforms.openstack.connect import connect

__all__ = ["cloud", "nowhere"]


def test_a_password_that_keystone_repeats_is_masked(cloud: FakeCloud) -> None:
    said = {"error": {"message": f"Invalid input: {PASSWORD} is wrong", "code": 400}}
    answer = reply(400, said, Content_Type="application/json")
    cloud.intercept = lambda asked: answer if asked.method == "POST" else None
    with pytest.raises(TargetError, match=r"Invalid input: \*\*\* is wrong"):
        connect("admin", deadline=30)
