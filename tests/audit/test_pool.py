"""Many files: the same result in one process and in several, and a worker's death survived."""

import datetime
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.chunk import Batch, Job, WorkerError
from vnicaudit.audit.work import Assumptions, AuditWork, NicsWork
from vnicaudit.audit.workers import (
    CHUNK,
    SERIAL_BELOW,
    run_files,
)
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.errors import UsageError, VnicauditError
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig
from vnicaudit.model.report import Audited

DOMAIN = """<domain type='kvm'><name>{name}</name><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices><interface type='bridge'><source bridge='b'/><model type='{model}'/></interface></devices>
</domain>"""
MANY = SERIAL_BELOW + CHUNK + 7


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(MANY):
        model = "rtl8139" if number % 3 == 0 else "virtio"
        (tmp_path / f"{number:05}.xml").write_text(DOMAIN.format(name=f"vm{number}", model=model))
    (tmp_path / "00010.xml").write_text("<domain type='kvm'><name>broken")
    return tmp_path


def paths(folder: Path) -> Iterator[str]:
    return iter(sorted(str(path) for path in folder.iterdir()))


def work() -> AuditWork:
    suppressor = Suppressor((), datetime.date(2026, 11, 21), ("VNIC001",))
    return AuditWork(("VNIC001",), Assumptions(), suppressor, {}, every_platform())


def gathered(folder: Path, jobs: int, work: AuditWork | NicsWork) -> list[Batch]:
    return list(run_files(paths(folder), Job(work, "folder"), explicit=False, jobs=jobs))


def test_two_processes_give_what_one_gives(folder: Path) -> None:
    one, two = (gathered(folder, jobs, work()) for jobs in (1, 2))
    assert [batch.audited for batch in one] == [batch.audited for batch in two]
    assert [batch.errors for batch in one] == [batch.errors for batch in two]
    found = [f.about.name for batch in two for a in batch.audited for f in a.findings]
    assert found == [f"vm{n}" for n in range(0, MANY, 3)]
    (error,) = (error for batch in two for error in batch.errors)
    assert error.file == str(folder / "00010.xml")


def test_resolved_nics_survive_the_way_between_processes(folder: Path) -> None:
    two = gathered(folder, 2, NicsWork(Assumptions(), every_platform()))
    domains = [domain for batch in two for domain in batch.resolved]
    assert len(domains) == MANY - 1
    effective = domains[0].nics[0].effective
    assert effective is not None
    assert effective.model.effective == "rtl8139"


class Deadly(AuditWork):
    """Stands for a crash in a C library: the process is gone without a word."""

    def domain(self, domain: Domain, host: HostConfig | None, target: str) -> Audited:
        if domain.name == "vm42":
            os._exit(11)
        return super().domain(domain, host, target)


def test_a_dead_worker_costs_one_file_and_not_the_run(folder: Path) -> None:
    suppressor = Suppressor((), datetime.date(2026, 11, 21), ("VNIC001",))
    deadly = Deadly(("VNIC001",), Assumptions(), suppressor, {}, every_platform())
    batches = gathered(folder, 2, deadly)
    errors = {error.file: error.message for batch in batches for error in batch.errors}
    assert errors[str(folder / "00042.xml")].startswith("reading it killed a worker process (")
    assert set(errors) == {str(folder / "00010.xml"), str(folder / "00042.xml")}
    names = [audited.subject for batch in batches for audited in batch.audited]
    assert names == [f"vm{n}" for n in range(MANY) if n not in (10, 42)]


class Raising(AuditWork):
    """Stands for a defect of our own."""

    def domain(self, domain: Domain, host: HostConfig | None, target: str) -> Audited:
        if domain.name == "vm42":
            raise ZeroDivisionError(str(os.getpid()))
        return super().domain(domain, host, target)


def test_an_exception_in_a_worker_is_raised_here(folder: Path) -> None:
    suppressor = Suppressor((), datetime.date(2026, 11, 21), ("VNIC001",))
    raising = Raising(("VNIC001",), Assumptions(), suppressor, {}, every_platform())
    with pytest.raises(ZeroDivisionError, match=str(os.getpid())):
        gathered(folder, 2, raising)


class Refusing(AuditWork):
    """Stands for a module that is not installed."""

    def domain(self, domain: Domain, host: HostConfig | None, target: str) -> Audited:
        del host, target
        raise UsageError(f"install what {domain.name} needs")


@pytest.mark.parametrize("is_stdin", [True, False])
@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [(Raising, WorkerError, "^ZeroDivisionError: "), (Refusing, VnicauditError, "^install what")],
)
def test_an_exception_beside_a_pipe_is_not_lost(
    kind: type[AuditWork], error: type[Exception], message: str, *, is_stdin: bool
) -> None:
    """What the worker took out of it cannot be read again here."""
    suppressor = Suppressor((), datetime.date(2026, 11, 21), ("VNIC001",))
    work = kind(("VNIC001",), Assumptions(), suppressor, {}, every_platform())
    reading, writing = os.pipe()
    os.write(writing, DOMAIN.format(name="vm42", model="virtio").encode())
    os.close(writing)
    with open(reading, "rb") as pipe:
        job = Job(work, "-", stdin=pipe if is_stdin else None)
        path = "-" if is_stdin else f"/dev/fd/{reading}"
        with pytest.raises(error, match=message) as raised:
            list(run_files(iter([path]), job, explicit=True, jobs=1))
    assert getattr(raised.value, "exit_code", None) == (2 if kind is Refusing else None)


class Loading(AuditWork):
    """Says in the place of the target which process loaded what it takes."""

    loaded_in = 0

    def load(self) -> None:
        self.loaded_in = os.getpid()
        super().load()

    def domain(self, domain: Domain, host: HostConfig | None, target: str) -> Audited:
        del target
        return super().domain(domain, host, str(self.loaded_in))


@pytest.mark.parametrize("suffix", [".xml", ".txt"])
def test_workers_are_forked_when_the_rules_are_there(folder: Path, suffix: str) -> None:
    """Where names say that there are definitions: nothing is read for it."""
    for path in folder.iterdir():
        path.rename(path.with_suffix(suffix))
    suppressor = Suppressor((), datetime.date(2026, 11, 21), ("VNIC001",))
    loading = Loading(("VNIC001",), Assumptions(), suppressor, {}, every_platform())
    batches = gathered(folder, 2, loading)
    expected = os.getpid() if suffix == ".xml" else 0
    assert {one.target for batch in batches for one in batch.audited} == {str(expected)}


_LATE = """
import datetime, sys
from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.chunk import Job, run_chunk
from vnicaudit.audit.work import Assumptions, AuditWork
from vnicaudit.audit.workers import load
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.audit.judging.catalogue import shipped_catalogue
rules = shipped_catalogue().ids
suppressor = Suppressor((), datetime.date(2026, 11, 21), rules)
job = Job(AuditWork(rules, Assumptions(), suppressor, {}, every_platform()), "t")
paths = sys.argv[1:]
load(paths, job)
before = set(sys.modules)
assert run_chunk(paths, job, explicit=False).audited
print(*sorted(name for name in set(sys.modules) - before if name.startswith("vnicaudit")))
"""


def test_workers_load_little_themselves(folder: Path) -> None:
    """What all of them need is loaded once, before they are forked."""
    paths = [str(path) for path in sorted(folder.iterdir())[20:60]]
    done = subprocess.run(
        [sys.executable, "-c", _LATE, *paths], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_a_batch_is_plain_data(folder: Path) -> None:
    batch = gathered(folder, 1, work())[0]
    returned = msgspec.msgpack.decode(msgspec.msgpack.encode(batch), type=Batch)
    assert msgspec.structs.asdict(returned) == msgspec.structs.asdict(batch)


def test_a_worker_that_dies_early_loses_no_other_file(tmp_path: Path) -> None:
    """With more chunks in flight than fit in the window: each file is judged, or named."""
    count = CHUNK * 12
    for number in range(count):
        text = DOMAIN.format(name=f"vm{number}", model="virtio")
        (tmp_path / f"{number:05}.xml").write_text(text)
    suppressor = Suppressor((), datetime.date(2026, 11, 21), ("VNIC001",))
    deadly = Deadly(("VNIC001",), Assumptions(), suppressor, {}, every_platform())
    batches = gathered(tmp_path, 2, deadly)
    names = [audited.subject for batch in batches for audited in batch.audited]
    assert sorted(names) == sorted(f"vm{n}" for n in range(count) if n != 42)
    assert len(names) == count - 1
    assert [error.file for batch in batches for error in batch.errors] == [
        str(tmp_path / "00042.xml")
    ]
