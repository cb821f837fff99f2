"""Ctrl-C and SIGTERM: what is left in the middle is said at once."""

import pytest

from tests.remedy.applying.clouds.fakes import CloudWorld, server_step
from vnicaudit.remedy.applying.history import runs


@pytest.mark.parametrize("ended", [KeyboardInterrupt(), SystemExit(143)], ids=["ctrl-c", "term"])
def test_the_server_that_is_off_is_named(world: CloudWorld, ended: BaseException) -> None:
    (server,) = world.servers
    server.boot()
    world.interrupt_while_off(server, ended)
    steps = (server_step(server),)
    with pytest.raises(type(ended)):
        world.apply(steps, world.context("restart"))
    assert server.vm_state == "stopped"
    (run,) = runs(str(world.folder))
    said = dict(world.told)
    assert said[run.steps[0].name] == f"unfinished: {run.steps[0].message}"
    assert (
        "it was running before and may be off now; to start it by hand: openstack "
        in run.steps[0].message
    )
    assert said[f"run {run.id}"] == (
        f"repeat the command to resume it, or undo it with vnicaudit rollback {run.id} --state "
        f"{world.folder}"
    )
    assert world.apply(steps, world.context("restart")).run.steps[0].outcome == "applied"
    assert server.vm_state == "active"
