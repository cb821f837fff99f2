"""``vnicaudit apply`` and ``rollback`` on a cloud, as a user runs them. What it does to servers:
tests/remedy/applying/clouds and tests/openstack."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.adapters import open_endpoint
from tests.cli.inside import run_here as run_program
from tests.cli.records import context_of, options_of
from tests.remedy.applying.clouds.fakes import (
    MODEL,
    TARGET,
    CloudWorld,
    image_step,
    installed,
    server_step,
)
from tests.rows import rows
from vnicaudit.cli.options.remedy import ApplyOptions, run_context
from vnicaudit.cli.remedy.apply import command as command_of_apply
from vnicaudit.cli.wiring import Wiring, open_controller
from vnicaudit.cli.wiring.adapters import Controller
from vnicaudit.errors import ActionError, EndpointError, UsageError
from vnicaudit.model.measurement import Ran
from vnicaudit.model.plan import Plan, Step
from vnicaudit.remedy.hypervisor import MANAGE_SECONDS, CommandOutput
from vnicaudit.reports.plan import to_json

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CloudWorld:
    """A cloud with one server that runs, and its nova-manage."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("VNICAUDIT_STATE", str(tmp_path / "state"))
    found = installed(CloudWorld(tmp_path / "state"), monkeypatch)
    found.servers[0].boot()
    return found


class Manages(Controller):
    """nova-manage of a cloud that is none. The endpoint and the command line are judged."""

    world: CloudWorld

    def __call__(self, arguments: Sequence[str]) -> CommandOutput:
        return self.world.manage(arguments)


def run(world: CloudWorld, *words: str) -> int:
    """The command, with that cloud's nova-manage."""

    def controller(url: str, command: tuple[str, ...], seconds: float) -> Controller:
        made = Manages(url, command, seconds, open_endpoint)
        made.world = world
        return made

    return run_program(list(words), replace(world.wiring, controller=controller))


def plan(*steps: Step) -> str:
    """plan.json."""
    found = Plan(
        tool="vnicaudit",
        version="0",
        created="2026-11-22T00:00:00Z",
        to="virtio",
        targets=(TARGET,),
        steps=steps,
    )
    Path("plan.json").write_bytes(to_json(found))
    return "plan.json"


def apply(world: CloudWorld, *options: str) -> int:
    return run(world, "apply", "plan.json", "--yes", "--mode", "restart", *options)


def test_apply_runs_and_rollback(world: CloudWorld, capsys: Capture) -> None:
    plan(server_step(world.servers[0]), image_step(world, {MODEL: "virtio"}))
    assert apply(world, "VNICAUDIT_NOVA_MANAGE=local") == 0
    said = capsys.readouterr()
    assert "server-1: stopping (Nova powers it off" in said.err
    assert "  applied      image legacy\n" in said.out
    assert "  applied      server-1  fa:16:3e:00:00:01  down for" in said.out
    assert said.out.endswith(": 1 server, 1 image: 2 applied\n")
    assert (world.servers[0].model, world.image[MODEL]) == ("virtio", "virtio")

    assert run(world, "runs", "--format", "json") == 0
    (found,) = json.loads(capsys.readouterr().out)["runs"]
    assert [unit["kind"] for unit in found["steps"]] == ["image", "server"]

    assert (
        run(world, "rollback", found["id"], "--yes", "--quiet", "VNICAUDIT_NOVA_MANAGE=local") == 0
    )
    assert (world.servers[0].model, world.image[MODEL]) == ("rtl8139", "rtl8139")


def test_a_look(world: CloudWorld, capsys: Capture) -> None:
    plan(server_step(world.servers[0]))
    assert apply(world, "VNICAUDIT_NOVA_MANAGE=local", "--dry-run", "--quiet") == 0
    assert capsys.readouterr().out == "server-1: would be applied\n"
    world.servers[0].locked = True
    dry = ("VNICAUDIT_NOVA_MANAGE=local", "--dry-run", "--format", "json")
    assert apply(world, *dry) == 5
    (seen,) = json.loads(capsys.readouterr().out)["units"]
    assert (seen["name"], seen["outcome"], seen["codes"]) == ("server-1", "refused", ["locked"])
    assert "stop" not in world.calls


@pytest.mark.parametrize("command", ["apply", "rollback"])
def test_an_interruption_says_what_is_off_however_quiet(
    world: CloudWorld, capsys: Capture, command: str
) -> None:
    (server,) = world.servers
    plan(server_step(server))
    quiet = ("--quiet", "VNICAUDIT_NOVA_MANAGE=local")
    if command == "rollback":
        assert apply(world, *quiet) == 0
    world.interrupt_while_off(server)
    capsys.readouterr()
    runs = Path("state/runs")
    applied = max((path.name for path in runs.iterdir()), default="") if runs.exists() else ""
    if command == "apply":
        code = apply(world, *quiet)
    else:
        code = run(world, "rollback", applied, "--yes", *quiet)
    assert code == 130
    (mine,) = {path.name for path in runs.iterdir()} - {applied}
    assert capsys.readouterr().err.strip().splitlines() == [
        (
            "server-1: unfinished: it was running before and may be off now; to start it by "
            f"hand: openstack --os-cloud test server start {server.id}"
        ),
        (
            f"run {mine}: repeat the command to resume it, or undo it with vnicaudit "
            f"rollback {mine} --state {world.folder}"
        ),
        "",
        "Interrupted.",
    ]


@pytest.mark.parametrize("command", ["apply", "dry-run", "rollback"])
def test_where_nova_manage_is_has_to_be_said(
    world: CloudWorld, capsys: Capture, command: str
) -> None:
    plan(server_step(world.servers[0]))
    if command == "rollback":
        assert apply(world, "VNICAUDIT_NOVA_MANAGE=local") == 0
        run_id = max(path.name for path in Path("state/runs").iterdir())
        code = run(world, "rollback", run_id, "--yes")
    else:
        code = apply(world, *(["--dry-run"] if command == "dry-run" else []))
    assert code == 2
    said = capsys.readouterr().err
    assert f"Error: servers of {TARGET} are changed with nova-manage" in said
    assert "VNICAUDIT_NOVA_MANAGE (local, ssh://controller, docker://nova_api, kubectl" in said


def test_images_need_no_nova_manage(world: CloudWorld) -> None:
    plan(image_step(world, {MODEL: "virtio"}))
    assert run(world, "apply", "plan.json", "--yes", "--quiet") == 0
    assert world.image[MODEL] == "virtio"


def test_two_clouds_have_two_controllers(world: CloudWorld, capsys: Capture) -> None:
    one = server_step(world.servers[0])
    plan(one, replace(one, id="2", target="openstack:other"))
    assert apply(world, "VNICAUDIT_NOVA_MANAGE=local") == 2
    assert (
        "servers belong to several clouds (openstack:other, openstack:test)"
        in capsys.readouterr().err
    )


def test_it_is_not_measured(world: CloudWorld, capsys: Capture) -> None:
    plan(server_step(world.servers[0]))
    assert apply(world, "VNICAUDIT_NOVA_MANAGE=local", "--bench", "quick") == 2
    assert "--bench measures libvirt domains only" in capsys.readouterr().err


@rows
def test_options_that_mean_nothing(
    world: CloudWorld, capsys: Capture, options: list[str], words: str
) -> None:
    plan(server_step(world.servers[0]))
    assert apply(world, *options) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "seconds"), [([], MANAGE_SECONDS), (["VNICAUDIT_NOVA_MANAGE_TIMEOUT=20"], 20.0)]
)
def test_how_long_nova_manage_may_take(
    options: list[str], seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run of it, and one whose end was not seen."""
    asked: list[float] = []

    class Lost:
        def run(self, argv: Sequence[str], *, seconds: float) -> Ran:
            del argv
            asked.append(seconds)
            raise EndpointError("the connection was lost")

        def close(self) -> None:
            pass

    def controller(url: str, command: tuple[str, ...], limit: float) -> Controller:
        return Controller(url, command, limit, lambda _url: Lost())

    monkeypatch.setenv("VNICAUDIT_NOVA_MANAGE", "local")
    for option in options:
        monkeypatch.setenv(*option.split("="))
    words = ["plan.json"]
    wanted = options_of(command_of_apply, *words)
    assert isinstance(wanted, ApplyOptions)
    with context_of(command_of_apply, *words):
        context = run_context(wanted, Wiring(controller=controller), "restart", wanted.schedule)
        assert context.reach.manage is not None
        with pytest.raises(ActionError, match="cannot be run"):
            context.reach.manage(("version",))
    assert (asked, context.limits.manage_seconds) == ([seconds], seconds)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Stands for a wrapper around nova-manage; its arguments are not taken apart by any shell."""
    path = tmp_path / "nova manage"
    path.write_text(
        "#!/bin/sh\necho \"$#:$2\"; echo warning >&2\n"
        "[ \"$2\" = die ] && exit 3\n[ \"$2\" = long ] && head -c 100000 /dev/zero | tr '\\0' x\n"
        "[ \"$2\" = kill ] && kill -9 $$\nexit 0\n"
    )  # fmt: skip
    path.chmod(0o755)
    return path


def test_it_is_run_word_for_word(script: Path) -> None:
    controller = open_controller("local", (str(script), "sudo x"), 60.0)
    try:
        assert controller(("a b; exit 9",)) == CommandOutput(0, "2:a b; exit 9\n", "warning\n")
        assert controller(("die",)).code == 3
        assert len(controller(("long",)).text) == 4096
        words = r"at local was killed, or took more than 60 s \(VNICAUDIT_NOVA_MANAGE_TIMEOUT\)"
        with pytest.raises(ActionError, match=words):
            controller(("kill",))
    finally:
        controller.close()


def test_one_that_is_not_there(tmp_path: Path) -> None:
    controller = open_controller("local", (str(tmp_path / "nova-manage"),), 60.0)
    try:
        assert controller(("version",)).code == 127
    finally:
        controller.close()


class Unsteady:
    """A connection that is lost each time something is in ``lost``."""

    def __init__(self, url: str, lost: list[int]) -> None:
        self._session = open_endpoint(url)
        self._lost = lost

    def run(self, argv: Sequence[str], *, seconds: float) -> Ran:
        if self._lost:
            self._lost.pop()
            raise EndpointError("the connection was lost")
        return self._session.run(argv, seconds=seconds)

    def close(self) -> None:
        self._session.close()


def test_a_connection_that_was_lost_is_made_anew(script: Path) -> None:
    """Once for each call: a controller that is gone is said to be gone."""
    lost: list[int] = []
    controller = Controller("local", (str(script),), 60.0, lambda url: Unsteady(url, lost))
    try:
        assert controller(("version",)).code == 0
        lost.append(1)
        assert controller(("version",)).code == 0
        lost += [1, 2]
        with pytest.raises(ActionError, match="nova-manage cannot be run: the connection was lost"):
            controller(("version",))
        assert lost == []
    finally:
        controller.close()


def test_a_controller_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """And that is asked again later: it may be back."""
    monkeypatch.setenv("PATH", "/nonexistent")
    controller = open_controller("docker://nova_api", ("nova-manage",), 60.0)
    for _time in range(2):
        with pytest.raises(ActionError, match="nova-manage cannot be run: docker://nova_api: "):
            controller(("version",))
    controller.close()


def test_what_is_no_endpoint_is_said_before_anything_is_done() -> None:
    with pytest.raises(UsageError, match="invalid endpoint"):
        open_controller("http://controller", ("nova-manage",), 60.0)
