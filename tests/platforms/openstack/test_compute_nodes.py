"""The hosts of a cloud, for an inventory."""

import pytest

from tests.platforms.openstack.cloud import FakeCloud
from vnicaudit.errors import TargetError
from vnicaudit.model.runs import ComputeNode
from vnicaudit.platforms.openstack.lists import compute_nodes_of


@pytest.mark.usefixtures("cloud")
def test_an_admin_is_told_them_with_address_zone_and_aggregates() -> None:
    assert compute_nodes_of("admin", deadline=30) == [
        ComputeNode("vm", "127.0.0.1", "nova", ("agg-one",))
    ]


def test_others_are_told_what_to_do(cloud: FakeCloud) -> None:
    del cloud
    with pytest.raises(TargetError, match="only admins can see"):
        compute_nodes_of("demo", deadline=30)
