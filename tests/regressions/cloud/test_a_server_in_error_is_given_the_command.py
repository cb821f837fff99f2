"""``it is ERROR: it neither runs nor is off``: no word of what to do, where a paused server, a
suspended and a locked one were given the command.
"""

import pytest

from tests.remedy.applying.clouds.conftest import MakeCloud
from tests.remedy.applying.clouds.conftest import make_cloud as make_cloud
from tests.remedy.applying.clouds.fakes import server_step


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (
            "error",
            (
                "it is ERROR, neither running nor off: openstack --os-cloud test server show "
                "-c fault {id} shows why; correct that, then openstack --os-cloud test server "
                "reboot --hard {id}, then try again"
            ),
        ),
        (
            "paused",
            (
                "it is PAUSED, neither running nor off: openstack --os-cloud test server "
                "unpause {id}, then try again"
            ),
        ),
        (
            "rescued",
            (
                "it is RESCUED, neither running nor off: openstack --os-cloud test server "
                "unrescue {id}, then try again"
            ),
        ),
        (
            "building",
            "it is BUILDING, neither running nor off: try again when it is ACTIVE or SHUTOFF",
        ),
    ],
)
def test_what_is_refused_says_what_to_do(make_cloud: MakeCloud, state: str, says: str) -> None:
    world = make_cloud()
    step = server_step(world.servers[0])
    world.servers[0].vm_state = state
    done = world.apply((step,), world.context("restart"))
    (unit,) = done.run.steps
    assert unit.outcome == "refused"
    assert says.format(id=world.servers[0].id) in unit.message
