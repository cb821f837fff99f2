"""``plan -i`` with a history: how old findings are, what is new, what was measured,
and what is open on hosts that cannot be read. Hosts are libvirt's test driver."""

import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from tests.cli.inside import inside
from tests.cli.test_imports import loaded
from tests.fleet.daemons import write_host
from tests.history.measured import measurement
from tests.reports.plan.samples import EMPTY
from tests.reports.plan.test_by_change import step_on
from vnicaudit.cli.options.output import OutputOptions
from vnicaudit.cli.remedy.plan_output import print_plan
from vnicaudit.history import history_to_write
from vnicaudit.history.place import history_place
from vnicaudit.model.ranking import PlanHistory
from vnicaudit.reports.plan import from_json

NOTE = "Note: the plan is shown without facts from earlier audits: "


class Fleet(NamedTuple):
    """Three hosts of libvirt's test driver; half of the NICs of each are e1000."""

    folder: Path

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def file(self, number: int) -> Path:
        return self.folder / f"h{number}.xml"

    def audit(self, *words: str | Path) -> None:
        """An audit that the history keeps."""
        out = self.folder / "out"
        given = ("-i", self.folder / "fleet.toml", "--state", self.state, "-q", "-o", out)
        assert inside("audit", *given, *words).returncode in (0, 1, 4)

    def plan(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """A plan of all changes."""
        given = ("-i", self.folder / "fleet.toml", "--include-unsafe", "VNICAUDIT_RETRIES=0")
        state = () if "--state" in words else ("--state", self.state)
        return inside("plan", *given, *state, *words)


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """Hosts that nobody audited yet."""
    monkeypatch.delenv("VNICAUDIT_HISTORY", raising=False)
    monkeypatch.chdir(tmp_path)
    made = Fleet(tmp_path)
    for number in (1, 2, 3):
        write_host(made.file(number), number, 4)
    hosts = (f'[[hosts]]\nname = "h{n}"\nuri = "test://{made.file(n)}"\n' for n in (1, 2, 3))
    (tmp_path / "fleet.toml").write_text("".join(hosts))
    return made


def lines(text: str, word: str) -> list[str]:
    """Those with a word in them, without what stands before and behind."""
    return [line.strip() for line in text.splitlines() if word in line]


def aged(fleet: Fleet, host: str, date: str) -> None:
    """The findings of a host were first seen on that day."""
    query = "UPDATE finding SET first_seen = strftime('%s', ?) * 1000 WHERE host = ?"
    with closing(sqlite3.connect(fleet.state / "history.db")) as connection, connection:
        (number,) = connection.execute("SELECT id FROM host WHERE name = ?", (host,)).fetchone()
        connection.execute(query, (date, number))


def test_an_entry_tells_since_when_it_is_open_and_what_is_new(fleet: Fleet) -> None:
    fleet.audit()
    for host, date in {"h1": "2026-02-06", "h2": "2026-01-07", "h3": "2026-03-05"}.items():
        aged(fleet, host, date)
    write_host(fleet.file(3), 3, 8)
    result = fleet.plan()
    assert (result.returncode, NOTE in result.stderr) == (0, False)
    assert "8 steps like this, on 8 guests of 3 targets" in result.stdout
    assert lines(result.stdout, "history:") == [
        "history: oldest of 6 known findings first seen 2026-01-07; 2 not in the last audit"
    ]
    by_host = fleet.plan("--group-by", "host")
    assert lines(by_host.stdout, "history:") == [
        "history: oldest of 2 known findings first seen 2026-03-05; 2 not in the last audit",
        "history: oldest of 2 findings first seen 2026-02-06",
        "history: oldest of 2 findings first seen 2026-01-07",
    ]


def test_a_rule_that_the_last_audit_did_not_ask_is_not_called_new(fleet: Fleet) -> None:
    fleet.audit("--select", "VNIC001")
    result = fleet.plan()
    assert lines(result.stdout, "history:") == []
    assert "last audit, " not in result.stdout  # nothing was open


def test_a_guest_defined_on_two_hosts_counts_on_each(fleet: Fleet) -> None:
    for number in (1, 2):
        write_host(fleet.file(number), 1, 4)  # the same guests
    fleet.audit()
    aged(fleet, "h1", "2026-01-07")
    aged(fleet, "h2", "2026-02-06")
    by_host = fleet.plan("--group-by", "host").stdout
    assert [line[-10:] for line in lines(by_host, "history:")][:2] == ["2026-01-07", "2026-02-06"]


def test_a_guest_that_moved_since_the_last_audit_has_its_step_elsewhere(fleet: Fleet) -> None:
    fleet.audit()
    write_host(fleet.file(1), 2, 4)
    write_host(fleet.file(2), 1, 4)
    result = fleet.plan()
    assert not any("not in the last audit" in line for line in lines(result.stdout, "history:"))


def test_hosts_without_an_audit_are_told_and_not_counted(fleet: Fleet) -> None:
    fleet.audit("--limit", "h1,h2")
    result = fleet.plan()
    assert len(lines(result.stdout, "oldest of 4 known findings")) == 1


def test_a_host_without_an_audit_has_guests_that_were_audited_elsewhere(fleet: Fleet) -> None:
    fleet.audit("--limit", "h2")
    write_host(fleet.file(1), 2, 8)
    result = fleet.plan("--limit", "h1")
    assert NOTE not in result.stderr
    assert len(lines(result.stdout, "history: oldest of 2 known findings first seen")) == 1
    assert "last audit" not in result.stdout


def test_hosts_that_cannot_be_read_are_told_with_what_is_open_there(fleet: Fleet) -> None:
    fleet.audit("--limit", "h1,h2")
    for number in (2, 3):
        fleet.file(number).unlink()
    result = fleet.plan("-o", "p.json")
    assert result.returncode == 4
    with closing(sqlite3.connect(fleet.state / "history.db")) as connection:
        ((day,),) = connection.execute("SELECT date(max(read_at) / 1000, 'unixepoch') FROM reading")
    assert (
        f"2 hosts not read; 2 findings open there at their last audit\n"
        f"  h2: last read {day}: 4 guests, 4 NICs, 2 findings open\n"
        f"  h3: no audit has read it\n\n"
    ) in result.stdout
    quiet = fleet.plan("-q")
    assert "2 hosts not read" in quiet.stdout


def test_a_measured_gain_stands_beside_the_same_change(fleet: Fleet) -> None:
    fleet.audit()
    with history_to_write(history_place(None, fleet.state)) as history:
        history.add_measurements([measurement(f"m{n}", n) for n in (9, 200)])
    found = " ".join(fleet.plan().stdout.split())
    assert "measured: +104 % throughput of bulk (median of 2 measurements, +9 to +200 %)" in found


def test_a_plan_file_is_the_same_with_a_history_and_without(fleet: Fleet) -> None:
    def planned(name: str, *words: str | Path) -> list[str]:
        assert fleet.plan("-o", name, *words).returncode == 0
        text = Path(name).read_text().splitlines()
        return [line for line in text if '"created"' not in line]

    fleet.audit()
    assert planned("with.json") == planned("without.json", "--state", fleet.folder / "none")
    there = fleet.plan("-o", "-")
    assert there.stdout.splitlines()[0] == "{"
    assert "history" not in there.stdout


def test_a_plan_file_is_written_before_the_history_is_queried(tmp_path: Path) -> None:
    def interrupted() -> PlanHistory:
        raise KeyboardInterrupt

    plan = replace(EMPTY, targets=(), steps=(step_on(1),))
    output = OutputOptions(quiet=False, verbose=False, color="never")
    with pytest.raises(KeyboardInterrupt):
        print_plan(plan, str(tmp_path / "p.json"), "change", output, str, history=interrupted)
    assert from_json((tmp_path / "p.json").read_bytes(), "p.json").steps[0].id == "1"
    print_plan(plan, "-", "change", output, str, history=interrupted)  # it has no part in the file


def broken(path: Path) -> None:
    path.write_text("no database" * 100)


def older(path: Path) -> None:
    unread(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE history_schema SET number = 0")


def cut(path: Path) -> None:
    """Its first page is whole."""
    with history_to_write(history_place(str(path), "")):
        pass
    path.write_bytes(path.read_bytes()[:8192])


def lacks(path: Path) -> None:
    """A table is missing."""
    unread(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE finding")


def unread(path: Path) -> None:
    """No audit in it."""
    with history_to_write(history_place(str(path), "")):
        pass


@pytest.mark.parametrize(
    ("make", "words", "code"),
    [
        (broken, "not a database", 2),
        (older, "schema 0, this", 2),
        (Path.mkdir, "not a regular file", 2),
        (cut, "malformed", 2),
        (lacks, "no such table: finding; restore the file", 2),
        (unread, "it has no audit of these hosts", 0),
    ],
)
def test_a_history_that_is_of_no_use_is_told_and_in_the_way_only_on_the_command_line(
    fleet: Fleet, make: Callable[[Path], None], words: str, code: int
) -> None:
    fleet.state.mkdir(mode=0o700)
    path = fleet.state / "history.db"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    without = fleet.plan("-o", "p.json")
    assert (without.returncode, Path("p.json").exists()) == (0, True)
    (note,) = lines(without.stderr, NOTE)
    assert words in note
    assert NOTE not in fleet.plan("-q").stderr
    named = fleet.plan("--history", path)
    assert named.returncode == code
    assert words in named.stderr
    assert ("Error: " in named.stderr) == (code == 2)
    assert (path.read_bytes() if path.is_file() else b"") == before


def zeroed(path: Path) -> None:
    """The first page of the findings."""
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'finding_open'"
        ((page,),) = connection.execute(query)
        ((size,),) = connection.execute("PRAGMA page_size")
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(bytes(size))


def changed(path: Path, table: str, column: str, value: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE {table} SET {column} = {value}")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (zeroed, "malformed; restore the file"),
        (partial(changed, table="finding", column="first_seen", value="9e15"), "out of range"),
        (partial(changed, table="finding", column="first_seen", value="'x'"), "invalid value"),
        (partial(changed, table="finding", column="fingerprint", value="'x'||id"), "invalid value"),
        (partial(changed, table="finding", column="fingerprint", value="id << 40"), "invalid"),
        (partial(changed, table="reading", column="nics", value="'x'"), "invalid value"),
        (partial(changed, table="benchmark_result", column="percent", value="'x'"), "invalid"),
    ],
)  # fmt: skip
def test_a_history_that_fails_once_the_hosts_were_read_does_not_lose_the_plan(
    fleet: Fleet, damage: Callable[[Path], None], words: str
) -> None:
    fleet.audit()
    path = fleet.state / "history.db"
    with history_to_write(history_place(None, fleet.state)) as history:
        history.add_measurements([measurement("m1", 9)])
    damage(path)
    without = fleet.plan("-o", "p.json")
    assert (without.returncode, Path("p.json").exists()) == (0, True)
    (note,) = lines(without.stderr, NOTE)
    assert words in note
    assert "restore the file from a backup" in note
    named = fleet.plan("--history", path, "-q", "-o", "q.json")
    assert (named.returncode, Path("q.json").exists()) == (4, True)
    (error,) = lines(named.stderr, "Error: ")
    assert words in error


def test_a_file_that_sqlite_cannot_open_is_told_with_its_reason(fleet: Fleet) -> None:
    fleet.audit()
    (fleet.state / "history.db-shm").symlink_to(fleet.folder)
    (note,) = lines(fleet.plan().stderr, NOTE)
    assert "SQLite must be able to write to the folder of the file" in note


def test_nobody_is_told_of_a_default_history_that_was_never_made(fleet: Fleet) -> None:
    assert NOTE not in fleet.plan().stderr
    assert not fleet.state.exists()


NOWHERE = "postgresql://me:secret@127.0.0.1:1/vnicaudit"
"""Nobody listens on this port."""


@pytest.mark.parametrize(
    ("place", "words"), [("fresh.db", "nothing is stored there yet"), (NOWHERE, "127.0.0.1")]
)
def test_a_history_named_by_the_variable_or_on_the_command_line(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, place: str, words: str
) -> None:
    refused = fleet.plan("--history", place)
    assert refused.returncode == 2
    assert words in refused.stderr
    monkeypatch.setenv("VNICAUDIT_HISTORY", place)
    result = fleet.plan("-o", "p.json")
    (note,) = lines(result.stderr, NOTE)
    assert (result.returncode, words in note, Path("p.json").exists()) == (0, True, True)
    assert "secret" not in refused.stderr + result.stderr
    assert "--history" not in result.stderr


def test_a_history_named_by_the_settings_is_not_needed_for_a_plan(fleet: Fleet) -> None:
    Path("vnicaudit.toml").write_text('history = "fresh.db"\n')
    result = fleet.plan()
    (note,) = lines(result.stderr, NOTE)
    assert (result.returncode, "nothing is stored there yet" in note) == (0, True)
    assert not Path("fresh.db").exists()


def test_what_follows_names_the_same_state(fleet: Fleet) -> None:
    result = fleet.plan("-o", "p.json")
    assert f"next: vnicaudit apply p.json --state {fleet.state} --include-unsafe\n" in result.stderr


def test_no_database_is_loaded_where_there_is_no_history(fleet: Fleet) -> None:
    words = ("plan", "-i", str(fleet.folder / "fleet.toml"), "--state", str(fleet.state))
    modules = loaded(*words)
    assert {"libvirt", "vnicaudit.cli.remedy.plan_fleet", "vnicaudit.reports.plan.text"} <= modules
    assert not modules & {"sqlalchemy", "sqlite3"}
