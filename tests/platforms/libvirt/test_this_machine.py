"""Live targets: what costs a host costs that host, and a log only speaks for its own start."""

from pathlib import Path

import pytest

from vnicaudit.audit.reading.error_boundary import guarded
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Location
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.host import Version
from vnicaudit.model.nic import RunningNic, RunningQemu
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.libvirt import live as platform
from vnicaudit.platforms.libvirt.live import read_live
from vnicaudit.platforms.qemu.proc import read_processes, with_log


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (KeyError("odd"), "unexpected failure: KeyError: 'odd'"),
        (TargetError("no answer within 1 s", file="qemu:///system"), "no answer within 1 s"),
    ],
)
def test_a_failure_costs_that_host(
    monkeypatch: pytest.MonkeyPatch, failure: Exception, message: str
) -> None:
    def broken(*_arguments: object, **_options: object) -> None:
        raise failure

    monkeypatch.setattr(platform, "read", broken)
    items = list(guarded("qemu:///system", read_live("qemu:///system", LiveOptions())))
    assert [(item.message, item.file) for item in items if isinstance(item, ReadError)] == [
        (message, "qemu:///system")
    ]


def nic(**more: object) -> RunningNic:
    return RunningNic("virtio-net-pci", "virtio", id="net0", **more)  # type: ignore[arg-type]


def qemu(**more: object) -> RunningQemu:
    facts = {"name": "web", "uuid": "u", "nics": (nic(),)} | more
    return RunningQemu(Location("t"), **facts)  # type: ignore[arg-type]


def test_the_log_of_the_same_start_adds_versions_and_warnings() -> None:
    log = qemu(
        qemu_version=Version(7, 2, 22), libvirt_version=Version(9), stopped=False,
        nics=(nic(log_warning="Unable to open vhost-net"),),
    )  # fmt: skip
    joined = with_log(qemu(pid=7), log)
    assert (joined.pid, joined.qemu_version, joined.libvirt_version) == (
        7, Version(7, 2, 22), Version(9),
    )  # fmt: skip
    assert joined.nics[0].log_warning == "Unable to open vhost-net"


@pytest.mark.parametrize("log", [None, qemu(stopped=True), qemu(uuid="other"), qemu(name="other")])
def test_the_log_of_another_start_adds_nothing(log: RunningQemu | None) -> None:
    assert with_log(qemu(), log) == qemu()


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    for pid, name in ((7, "web"), (8, "mail")):
        folder = tmp_path / str(pid)
        (folder / "fd").mkdir(parents=True)
        (folder / "task").mkdir()
        words = ["/usr/bin/qemu-system-x86_64", "-name", f"guest={name}", "-nodefaults",
                 "-device", "e1000,id=net0,mac=52:54:00:00:00:01"]  # fmt: skip
        (folder / "cmdline").write_bytes("\0".join(words).encode() + b"\0")
    return tmp_path


def test_one_process_or_all(proc: Path) -> None:
    def names(path: Path) -> list[str]:
        return [item.name for item in read_processes(str(path)) if isinstance(item, Domain)]

    assert names(proc) == ["web", "mail"]
    assert names(proc / "8") == ["mail"]
