"""What is said of a server that neither runs nor is off."""

from contextlib import ExitStack

from tests.remedy.applying.clouds.conftest import MakeCloud
from tests.remedy.applying.clouds.conftest import make_cloud as make_cloud
from tests.remedy.applying.clouds.fakes import MODEL, TARGET, server_step
from tests.rows import rows, rows_of_tuples
from vnicaudit.remedy.applying.clouds.nova_manage import Manage, Nodes
from vnicaudit.remedy.applying.clouds.server import verify
from vnicaudit.remedy.applying.clouds.transaction import CloudPlace, CloudTransaction

# ``it is ERROR: it neither runs nor is off``: no word of what to do, where a paused server, a
# suspended and a locked one were given the command.


@rows
def test_what_is_refused_says_what_to_do(make_cloud: MakeCloud, state: str, says: str) -> None:
    world = make_cloud()
    step = server_step(world.servers[0])
    world.servers[0].vm_state = state
    done = world.apply((step,), world.context("restart"))
    (unit,) = done.run.steps
    assert unit.outcome == "refused"
    assert says.format(id=world.servers[0].id) in unit.message


# ``runs --verify`` said of a server that is in ERROR that it waits for its next start, and the
# same of one that ran before the run and is off now.


VIRTIO: dict[str, str | None] = {MODEL: "virtio"}


@rows_of_tuples
def test_what_is_in_error_is_not_well(
    make_cloud: MakeCloud, ran: bool, vm_state: str, found: tuple[str, str]
) -> None:
    world = make_cloud()
    (server,) = world.servers
    server.keep({MODEL: "virtio"})
    server.vm_state = vm_state
    task = CloudTransaction(
        target=TARGET, id=server.id,
        mode="restart", before={}, goal=VIRTIO, back={}, active=ran, state="ACTIVE",
    )  # fmt: skip
    with ExitStack() as stack:
        nodes = Nodes("", 1.0, stack, world.adapters.connect)
        place = CloudPlace(world, Manage(world.manage), nodes, world.adapters, thorough=False)
        state, why, _checks = verify(place, task)
    assert (state, why) == (found[0], found[1].format(id=server.id))
