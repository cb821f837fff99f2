"""Which units an unfinished run keeps other runs away from."""

from itertools import chain
from pathlib import Path

import pytest
from msgspec.structs import replace

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
UUID = "6f2c3a52-5d0e-4a35-9d15-3f3b1f1f0a01"


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


@pytest.mark.parametrize(
    ("opened", "other"),
    [
        pytest.param(unit("flavor", "a", "1"), unit("flavor", "b", "1"), id="two clouds"),
        pytest.param(unit("flavor", "a", "1"), unit("elsewhere", "a", "1"), id="two kinds"),
        pytest.param(unit("elsewhere", "a"), replace(unit("elsewhere", "a"), key="2"), id="keys"),
        pytest.param(unit("elsewhere", "a"), unit("flavor", "a"), id="no id, two kinds"),
        pytest.param(unit("file", "a", file="a"), unit("file", "a", file="b"), id="two files"),
        pytest.param(unit("domain", "a", UUID), unit("domain", "a", UUID[:-1] + "2"), id="uuids"),
    ],
)
def test_another_thing_is_left_alone(
    opened: UnitRequest, other: UnitRequest, tmp_path: Path
) -> None:
    assert not is_refused(tmp_path, opened, other)


@pytest.mark.parametrize(
    ("opened", "other"),
    [
        pytest.param(unit("flavor", "a", "1"), unit("flavor", "a", "1"), id="a flavor"),
        pytest.param(unit("elsewhere", "a"), unit("elsewhere", "a"), id="no id"),
        pytest.param(
            unit("domain", "qemu:///system", UUID),
            unit("domain", "qemu+ssh://host/system", UUID),
            id="a second name of a host, or where it moved to",
        ),
        pytest.param(unit("domain", "a", "1"), unit("domain", "b", "1"), id="it may move"),
        pytest.param(unit("server", "a", UUID), unit("server", "b", UUID), id="two names"),
        pytest.param(unit("server", "a", UUID), unit("domain", "b", UUID), id="what Nova made"),
        pytest.param(
            unit("file", "a.xml", file="/a.xml"), unit("file", "/", file="/a.xml"), id="its folder"
        ),
    ],
)
def test_the_same_thing_is_refused(opened: UnitRequest, other: UnitRequest, tmp_path: Path) -> None:
    assert is_refused(tmp_path, opened, other)
