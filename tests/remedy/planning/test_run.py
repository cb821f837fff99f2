"""Targets -> a plan: all of them, each domain once, and what was named is there."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.platforms.stand_ins import platforms_with
from tests.remedy.planning.blocked import codes
from tests.remedy.planning.planned import (
    HOST,
    MAC,
    OFF,
    RUNNING,
    SECOND,
    UUID,
    Told,
    definition,
    interface,
    live,
    requested,
    selected,
)
from tests.remedy.planning.units import file_of
from tests.remedy.works import work
from tests.rows import rows
from vnicaudit import __version__
from vnicaudit.audit.reading.targets import target_of
from vnicaudit.audit.tally import RunProgress
from vnicaudit.cli.output.reading_progress import Progress
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.model.fleet import LiveDefinition
from vnicaudit.model.host import Host, VdpaDevice
from vnicaudit.model.plan import Plan
from vnicaudit.model.report import ReadError
from vnicaudit.remedy.planning import run
from vnicaudit.remedy.planning.run import PlanOptions
from vnicaudit.remedy.planning.source import DomainSource
from vnicaudit.reports.plan import to_json

TEXT = definition(interface("e1000"))
DEVICE = "/dev/vhost-vdpa-0"
CARD = VdpaDevice("v0", DEVICE, "vhost_vdpa", shared_memory=False)
VDPA = PlanOptions(to="vdpa", macs=(MAC,), devices=(DEVICE,))


class _Machine:
    """What this machine has: one card."""

    def running_process(self, uuid: str) -> None:
        """No QEMU of any domain."""

    def vdpa_devices(self) -> tuple[VdpaDevice, ...]:
        """The card's device."""
        return (CARD,)


_HOSTS: dict[str, list[DomainSource | ReadError]] = {}


def _definitions(uri: str, _options: object) -> Iterator[Host | LiveDefinition | ReadError]:
    if uri not in _HOSTS:
        raise TargetError("no answer within 30 s", file=uri)
    yield Host(uri)
    for one in _HOSTS[uri]:
        yield one if isinstance(one, ReadError) else LiveDefinition(
            one.running, one.domain, one.text, one.host, local=True
        )  # fmt: skip


PLATFORMS = platforms_with(definitions=_definitions)


def plan(
    *names: str | Path,
    options: PlanOptions = PlanOptions(),  # noqa: B008
    progress: RunProgress | None = None,
) -> Plan:
    told = Told()
    targets = [target_of(str(name), PLATFORMS.targets) for name in names]
    made = run.make_plan(
        targets,
        PLATFORMS.planners,
        requested(work(PLATFORMS), options=options)._replace(
            adapters=adapters()._replace(machine=_Machine()),
            progress=progress or told,
        ),
    )
    assert told.targets <= set(made.targets)
    return made


@pytest.fixture
def hosts() -> Iterator[dict[str, list[DomainSource | ReadError]]]:
    """What stands for live hosts: URI -> their domains. One without is silent."""
    yield _HOSTS
    _HOSTS.clear()


def named(name: str, *interfaces: str, uuid: str = UUID, state: object = OFF) -> DomainSource:
    text = definition(*(interfaces or (interface("e1000"),)), name=name, uuid=uuid)
    return live(text, state)  # type: ignore[arg-type]


def test_a_plan_says_what_made_it_and_of_what(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(TEXT)
    (tmp_path / "b.xml").write_text(definition(interface("e1000"), interface("rtl8139", 2)))
    made = plan(tmp_path)
    assert (made.tool, made.version, made.to) == ("vnicaudit", __version__, "virtio")
    assert made.targets == (str(tmp_path),)
    assert to_json(made).startswith(b'{\n  "schema": "vnicaudit.plan/1"')
    assert datetime.fromisoformat(made.created.replace("Z", "+00:00")).tzinfo is not None
    assert [step.id for step in made.steps] == ["1", "2", "3"]
    assert {step.target for step in made.steps} == {str(tmp_path)}
    assert (made.not_planned, made.errors) == ((), ())


def test_what_cannot_be_read_costs_itself(
    tmp_path: Path, hosts: dict[str, list[DomainSource | ReadError]]
) -> None:
    hosts["qemu:///system"] = [named("a"), ReadError("domain 'b': not read: gone")]
    broken = tmp_path / "a.xml"
    broken.write_text("<domain>\n<name>a</name>\n")
    made = plan("qemu:///system", broken, "qemu:///session")
    assert [step.about.name for step in made.steps] == ["a"]
    first, second, third = made.errors
    assert first == "qemu:///system: domain 'b': not read: gone"
    assert second.startswith(f"{broken}:")
    assert third == "qemu:///session: no answer within 30 s"


def test_a_password_in_a_uri_is_not_in_the_plan(
    hosts: dict[str, list[DomainSource | ReadError]],
) -> None:
    hosts["qemu+ssh://root@kvm7/system"] = [named("a")]
    made = plan("qemu+ssh://root:Tr0ub4dor@kvm7/system")
    assert made.targets == ("qemu+ssh://root@kvm7/system",)
    assert [step.target for step in made.steps] == list(made.targets)
    assert "Tr0ub4dor" not in to_json(made).decode()
    (note,) = made.notes
    assert note.startswith("qemu+ssh://root@kvm7/system: the password in its URI was not used")


def test_a_file_that_two_targets_name_is_planned_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.xml"
    path.write_text(TEXT + definition(interface("rtl8139", 2), name="b"))
    (tmp_path / "link.xml").symlink_to(path)
    monkeypatch.chdir(tmp_path)
    made = plan("a.xml", path, tmp_path, "link.xml")
    assert [(step.about.name, file_of(step).path) for step in made.steps] == [
        ("a", str(path)), ("b", str(path)),
    ]  # fmt: skip


def test_the_order_is_that_of_the_targets(hosts: dict[str, list[DomainSource | ReadError]]) -> None:
    for uri, name in (("qemu+ssh://b/system", "b"), ("qemu+ssh://a/system", "a")):
        hosts[uri] = [named(name)]
    made = plan("qemu+ssh://b/system", "qemu+ssh://a/system")
    assert [step.about.name for step in made.steps] == ["b", "a"]


@rows
def test_what_was_named_must_be_there(
    domains: list[str], macs: list[str], says: str,
    hosts: dict[str, list[DomainSource | ReadError]],
) -> None:  # fmt: skip
    """A slip of the pen would look like a host where all is well."""
    hosts["qemu:///system"] = [named("a"), named("b", interface("e1000", 2))]
    with pytest.raises(UsageError) as error:
        plan("qemu:///system", options=PlanOptions(domains=frozenset(domains), macs=tuple(macs)))
    assert str(error.value) == says


def test_where_not_all_was_read_it_may_be_there(
    hosts: dict[str, list[DomainSource | ReadError]],
) -> None:
    hosts["qemu:///system"] = [named("a"), ReadError("domain 'b': not read: gone")]
    made = plan("qemu:///system", options=PlanOptions(domains=frozenset({"a", "b"})))
    assert len(made.steps) == 1
    assert made.errors[1] == "no domain in the targets has the name 'b' (--domain)"


def test_a_nic_with_nothing_to_change_is_there(
    hosts: dict[str, list[DomainSource | ReadError]],
) -> None:
    hosts["qemu:///system"] = [named("a", interface("virtio"))]
    made = plan("qemu:///system", options=PlanOptions(macs=(MAC,)))
    assert (made.steps, made.not_planned, made.errors) == ((), (), ())


def test_a_nic_that_was_plugged_in_is_there(
    hosts: dict[str, list[DomainSource | ReadError]],
) -> None:
    now = definition(interface("virtio"), interface("e1000", 2))
    hosts["qemu:///system"] = [live(definition(interface("virtio")), RUNNING, running=now)]
    made = plan("qemu:///system", options=PlanOptions(macs=(SECOND,)))
    assert [left.about.mac for left in made.not_planned] == [SECOND]


def test_one_device_is_not_for_two_guests(hosts: dict[str, list[DomainSource | ReadError]]) -> None:
    """A clone has its original's MAC addresses."""
    hosts["qemu:///system"] = [
        named("a", interface("virtio")), named("b", interface("virtio")),
    ]  # fmt: skip
    with pytest.raises(UsageError) as error:
        plan("qemu:///system", options=VDPA)
    assert str(error.value) == f"NIC {MAC} is in domain a and in b: say which (--domain)"
    made = plan("qemu:///system", options=replace(VDPA, domains=frozenset({"b"})))
    assert [step.about.name for step in made.steps] == ["b"]
    virtio = plan("qemu:///system", options=PlanOptions(macs=(MAC,)))
    assert virtio.steps == ()


def test_a_device_that_somebody_has_is_taken(
    hosts: dict[str, list[DomainSource | ReadError]],
) -> None:
    """By definition, or while it runs only."""
    vdpa = interface("virtio", 2, kind="vdpa", children=f"<source dev='{DEVICE}'/>")
    here = named("a", interface("virtio"))
    plugged = live(
        definition(name="b"), RUNNING, running=definition(vdpa, name="b")
    )  # fmt: skip
    for other in (named("b", vdpa), plugged):
        hosts["qemu:///system"] = [here, other]
        (step,) = plan("qemu:///system", options=VDPA).steps
        assert codes(step) == ("device-in-use",)
    hosts["qemu:///system"] = [here]
    (step,) = plan("qemu:///system", options=VDPA).steps
    assert step.blocked == ()


def test_what_would_be_wrong_is_judged_by_all_rules(
    hosts: dict[str, list[DomainSource | ReadError]],
) -> None:
    pinned = definition(interface("e1000", children="<driver name='vhost'/>"))
    hosts["qemu:///system"] = [live(pinned, host=replace(HOST, vhost_net=False, kvm=True))]
    (step,) = run.make_plan(
        [target_of("qemu:///system", PLATFORMS.targets)],
        PLATFORMS.planners,
        requested(selected("VNIC002", platforms=PLATFORMS), work()),
    ).steps
    assert step.rules == ("VNIC002",)
    assert codes(step) == ("brings-up-error",)


class FileProgress(Progress):
    """Remembers how many files were read, and of how many."""

    is_shown = True

    def __init__(self) -> None:
        super().__init__(enabled=False)
        self.read: list[tuple[int, int | None]] = []

    def read_files(self, done: int, total: int | None) -> None:
        self.read.append((done, total))


def test_files_have_a_total(tmp_path: Path) -> None:
    """A file that is named and also in a folder counts once."""
    for name in "abc":
        (tmp_path / f"{name}.xml").write_bytes(definition(interface("e1000"), name=name).encode())
    progress = FileProgress()
    plan(tmp_path, tmp_path / "a.xml", progress=progress)
    assert progress.read == [(1, 2), (2, 2), (1, 1)]


def test_targets_that_cannot_be_changed_are_no_targets() -> None:
    with pytest.raises(UsageError, match="standard input cannot be changed"):
        plan("-")


def test_what_runs_is_not_planned() -> None:
    with pytest.raises(UsageError) as error:
        plan("/proc")
    assert str(error.value) == (
        "/proc: a running QEMU cannot be changed on its own; name the libvirt URI it belongs "
        "to, for example qemu:///system"
    )
