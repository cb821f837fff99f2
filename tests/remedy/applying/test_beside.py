"""Which units an unfinished run keeps other runs away from."""

from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from tests.rows import rows
from vnicaudit.cli.wiring.drivers import DRIVERS
from vnicaudit.errors import RefusedError
from vnicaudit.remedy.applying.apply import refuse_concurrent
from vnicaudit.remedy.applying.domains.driver import DomainDriver
from vnicaudit.remedy.applying.driver import Driver, KindTable
from vnicaudit.remedy.applying.journal.events import RunRequest, Transaction, UnitRequest
from vnicaudit.remedy.applying.journal.journal_file import Journal
from vnicaudit.remedy.applying.journal.past_run import begin_run, read_run
from vnicaudit.remedy.applying.journal.state import StateFolder, begun_with


class ElsewhereDriver(DomainDriver):
    """Of units that stay where they are."""

    kind = "elsewhere"
    may_move = False


EVERY: list[type[Driver]] = [*chain(*DRIVERS.values()), ElsewhereDriver]
KINDS = KindTable((driver, lambda _: True) for driver in EVERY)


def unit(kind: str, target: str, uuid: str | None = None, file: str | None = None) -> UnitRequest:
    """One of that kind; its key is of what tells it apart."""
    key = f"{kind} {target} {uuid} {file}".replace("/", "-")
    return UnitRequest(key, "guest", target, ("s",), (), kind, uuid, file)


def is_refused(tmp_path: Path, opened: UnitRequest, other: UnitRequest) -> bool:
    """Whether a run in the middle of the one keeps another from the other."""
    sheet = RunRequest("", "apply", "2026-11-21T10:00:00.000Z", "sha256:0", "restart", (opened,))
    run = begin_run(StateFolder(str(tmp_path)), sheet)
    journal = Journal(run.folder)
    journal.write(begun_with(Transaction("restart")), opened.key)
    journal.close()
    found = read_run(run.folder)
    assert found is not None
    try:
        refuse_concurrent(found, [other], KINDS)
    except RefusedError:
        return True
    return False


@rows
def test_another_thing_is_left_alone(opened: list[str], other: list[str], tmp_path: Path) -> None:
    assert not is_refused(tmp_path, unit(*opened), unit(*other))


def test_a_thing_without_an_id_is_told_by_its_key(tmp_path: Path) -> None:
    opened = unit("elsewhere", "a")
    assert not is_refused(tmp_path, opened, replace(opened, key="2"))


@rows
def test_the_same_thing_is_refused(opened: list[str], other: list[str], tmp_path: Path) -> None:
    assert is_refused(tmp_path, unit(*opened), unit(*other))
