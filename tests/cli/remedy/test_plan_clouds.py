"""``vnicaudit plan openstack:CLOUD``, as a user runs it. What is read of the cloud is made up here:
reading itself is tested with its platform."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.cli.definitions import E1000
from tests.platforms.stand_ins import platforms_with
from tests.remedy.planning.cloud.clouds import CLOUD, ID, MAC, PROJECT, image, port, server, tenants
from tests.rows import rows
from vnicaudit.cli.main import run as run_program
from vnicaudit.cli.wiring import Wiring
from vnicaudit.model.fleet import CloudItem, LiveOptions
from vnicaudit.model.report import ReadError
from vnicaudit.reports.plan import from_json

Capture = pytest.CaptureFixture[str]


class _Cloud:
    def __init__(self, items: list[CloudItem]) -> None:
        self.list = items
        self.notes: tuple[str, ...] = ()
        self.calls: dict[str, int] = {}
        self.items = self._items()

    def _items(self) -> Iterator[CloudItem]:
        """All that is in it."""
        yield from self.list
        self.notes = ("Nova is 34 or later",)


_CLOUDS: dict[str, list[CloudItem]] = {}


def _read(name: str, live: LiveOptions) -> _Cloud:
    del live
    return _Cloud(_CLOUDS[name])


PLATFORMS = platforms_with(cloud=_read)


def run(words: list[str]) -> int:
    """The command; its clouds are those above."""
    return run_program(words, Wiring(platforms=lambda: PLATFORMS))


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[CloudItem]:
    """What is in the cloud, in a folder of one's own."""
    items: list[CloudItem] = [server(), image()]
    _CLOUDS.update({CLOUD: items, "openstack:mine": items})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return items


def test_a_plan_of_a_cloud_is_shown_and_written(tmp_path: Path, capsys: Capture) -> None:
    assert run(["plan", CLOUD, "-o", "plan.json", "--diff"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(f"{CLOUD}\n  legacy  nova  image  project {PROJECT}")
    assert shown.out.endswith(
        f"note: {CLOUD}: Nova is 34 or later\n\n2 steps on 1 image and 1 server: 2 safe\n"
        "Nothing has been changed.\n"
    )
    plan = from_json((tmp_path / "plan.json").read_bytes(), "plan.json")
    assert [one.unit.kind for one in plan.steps] == ["image", "server"]


def test_quiet_has_no_notes_on_targets_but_errors(inside: list[CloudItem], capsys: Capture) -> None:
    """The plan has them all the same; what is to be known of a step is a part of it."""
    inside.append(ReadError("no answer within 30 s", CLOUD))
    assert run(["plan", CLOUD, "-q", "-o", "plan.json"]) == 4
    shown = capsys.readouterr()
    assert f"note: {CLOUD}: " not in shown.out
    assert "note, 1 step: It applies to servers created from it from now on." in shown.out
    assert f"Could not be read\n  {CLOUD}: no answer within 30 s\n" in shown.out
    assert shown.err == ""
    assert from_json(Path("plan.json").read_bytes(), "plan.json").notes


def test_what_could_not_be_read_is_exit_code_4(inside: list[CloudItem], capsys: Capture) -> None:
    inside[:] = [ReadError("no answer within 30 s", CLOUD)]
    assert run(["plan", CLOUD]) == 4
    assert f"Could not be read\n  {CLOUD}: no answer within 30 s\n" in capsys.readouterr().out


def test_a_tenant_is_told_what_can_be_done(inside: list[CloudItem], capsys: Capture) -> None:
    inside[:] = [tenants(server())]
    assert run(["plan", "openstack:mine", "--diff"]) == 0
    shown = capsys.readouterr().out
    assert "        2. Ask the operator of the cloud to run this on a controller, while" in shown
    assert f"nova-manage image_property set {ID} --property hw_vif_model=virtio\n" in shown


@rows
def test_what_makes_no_sense(
    arguments: list[str], says: str, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "a.xml").write_text(E1000)
    assert run(["plan", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_vdpa_is_planned_port_by_port(inside: list[CloudItem], capsys: Capture) -> None:
    inside[:] = [server(port("virtio"))]
    assert run(["plan", CLOUD, "--nic", MAC, "--to", "vdpa", "--diff"]) == 0
    shown = capsys.readouterr().out
    assert f"    blocked  1  NIC 0 {MAC}  to vdpa\n" in shown
    assert "      note: ok: the port is an ordinary one (vnic_type normal)\n" in shown


def test_a_named_server_alone(inside: list[CloudItem], tmp_path: Path) -> None:
    inside.append(server(name="db", id="1" + ID[1:]))
    assert run(["plan", CLOUD, "--domain", "db", "-o", "p.json"]) == 0
    plan = from_json((tmp_path / "p.json").read_bytes(), "p.json")
    assert [one.about.name for one in plan.steps] == ["db"]
    assert run(["plan", CLOUD, "--domain", "nope"]) == 2


def test_hostile_names_do_not_reach_the_terminal(inside: list[CloudItem], capsys: Capture) -> None:
    inside[:] = [replace(server(name="\x1b[2Jweb"))]
    assert run(["plan", CLOUD, "--diff"]) == 0
    assert "\x1b" not in capsys.readouterr().out
