"""``vnicaudit history`` and ``diff`` of stored audits: what they print, and where they look."""

import csv
import io
import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.inside import inside
from tests.history.filled import fill
from tests.rows import rows_of_tuples
from vnicaudit.history import history_to_write
from vnicaudit.history.place import history_place


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder with three audits in its history."""
    folder = tmp_path / "state"
    with history_to_write(history_place(None, folder)) as history:
        fill(history)
    return folder


def printed(*words: str | Path) -> str:
    """Standard output of a command that ends well, and says nothing else."""
    done = inside(*words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_history_lists_audits_newest_first(state: Path) -> None:
    text = printed("history", "status", "--state", state)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[0].startswith("audit hosts failed findings stale new reopened fixed gone looked")
    assert len(lines) == 7
    assert [line[:8] for line in lines if line.startswith("2026")] == [
        "20260103", "20260102", "20260101",
    ]  # fmt: skip
    assert "2 hosts in the inventory; oldest reading 2026-01-04T00:00:00Z" in " ".join(lines)


def test_history_alone_is_status(state: Path) -> None:
    status = printed("history", "status", "--state", state)
    assert inside("history", env={"VNICAUDIT_STATE": str(state)}).stdout == status
    assert printed("history", "--state", state) == status
    assert printed("history", "--help").startswith("Usage: vnicaudit history [OPTIONS] COMMAND")


def test_status_as_json(state: Path) -> None:
    found = json.loads(printed("history", "status", "--state", state, "--format", "json"))
    assert (found["schema"], found["tables"], found["hosts"]) == ("vnicaudit.history/1", "1", 2)
    middle = found["audits"][1]
    # guests 1 and 4 with three findings each; guest 3 is on a host that was not reached
    assert (middle["open"], middle["stale"], middle["new"], middle["gone"]) == (6, 3, 3, 3)
    assert (middle["ok"], middle["failed"], middle["fixed"]) == (1, 1, 0)


def test_show_says_what_an_audit_changed_and_what_it_could_not_read(state: Path) -> None:
    words = ("history", "show", "2026-01-03", "--state", state)
    found = json.loads(printed(*words, "--format", "json"))
    assert [(one["host"], one["read_at"], one["failure"]) for one in found["not_read"]] == [
        ("kvm2", "2026-01-02T00:00:00Z", "unreachable")
    ]
    states = {(one["state"], one["subject"], one["rule"]) for one in found["findings"]}
    rules = ("TEST01", "TEST02", "TEST04")
    assert states == {*(("gone", "vm2", r) for r in rules), *(("new", "vm4", r) for r in rules)}
    text = printed(*words)
    assert "kvm2: last read 2026-01-02T00:00:00Z; unreachable: something was not read" in text


def test_remove_takes_out_the_newest_audit(state: Path) -> None:
    refused = inside("history", "remove", "previous", "--state", state)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "later ones build on it; remove 20260103-" in refused.stderr
    text = printed("history", "remove", "latest", "--state", state)
    assert text.startswith("Removed audit 20260103-")
    found = json.loads(printed("history", "status", "--state", state, "--format", "json"))
    assert [one["id"][:8] for one in found["audits"]] == ["20260102", "20260101"]


@pytest.mark.parametrize("by", ["rule", "severity", "site", "owner", "all"])
def test_trend_counts_the_whole_fleet(state: Path, by: str) -> None:
    found = json.loads(
        printed("history", "trend", "--by", by, "--state", state, "--format", "json")
    )
    sums = {
        one["id"]: sum(p["open"] + p["stale"] for p in found["points"] if p["audit"] == one["id"])
        for one in found["audits"]
    }
    assert list(sums.values()) == [9, 9, 9]


def test_trend_as_csv(state: Path) -> None:
    text = printed("history", "trend", "--rule", "test01", "--state", state, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    columns = ("rule", "open", "stale", "new", "fixed", "gone")
    assert [tuple(row[name] for name in columns) for row in rows] == [
        ("TEST01", "3", "0", "3", "0", "0"),
        ("TEST01", "2", "1", "1", "0", "1"),
        ("TEST01", "3", "0", "0", "0", "1"),
    ]


def test_trend_as_text(state: Path) -> None:
    lines = printed("history", "trend", "--by", "all", "--state", state).splitlines()
    assert lines[1].split() == ["all", "9", "0", "+0", "12", "0", "0", "6", "███"]


def test_stored_audits_are_compared_in_every_format(state: Path) -> None:
    words = ("diff", "2026-01-02", "latest", "--state", state)
    found = json.loads(printed(*words, "--format", "json"))
    nics = {(one["state"], one["host"], one["domain"]) for one in found["nics"]}
    assert nics == {("moved", "kvm2", "vm2")}
    rows = list(csv.DictReader(io.StringIO(printed(*words, "--format", "csv"))))
    assert len(rows) == len(found["nics"]) + len(found["findings"]) == 4
    text, markdown = printed(*words), printed(*words, "--format", "markdown")
    assert "1 NIC moved:" in text
    assert "| kvm2 | vm2 | `52:54:00:00:00:02` | host kvm1 → kvm2, e1000 |" in markdown


def test_what_is_new_since_a_stored_audit_fails(state: Path) -> None:
    words = ("diff", "2026-01-02", "2026-01-03", "--state", state)
    assert [inside(*words, *more).returncode for more in ((), ("--level", "never"))] == [1, 0]


def test_only_what_both_audits_looked_at_is_compared(state: Path) -> None:
    text = " ".join(printed("diff", "previous", "latest", "--state", state).split())
    assert "1 host, 4 rules in both" in text
    assert "Note: 1 host read by only one of them: not compared" in text


@rows_of_tuples
def test_what_is_wrong_is_said(state: Path, words: tuple[str, ...], message: str) -> None:
    done = inside(*words, "--state", state)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize("words", [("history",), ("history", "trend"), ("diff", "a", "b")])
def test_where_nothing_is_stored_nothing_is_made(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = inside(*words, env={"VNICAUDIT_STATE": str(tmp_path / "none")})
    assert done.returncode == 2
    assert "nothing is stored there yet" in done.stderr
    assert not (tmp_path / "none").exists()


def test_what_is_no_history_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"something else, and long enough for a header of a database" * 99)
    done = inside("history", "status", "--history", path)
    assert done.returncode == 4
    assert "Error: history " in done.stderr
    assert "file is not a database; restore the file from a backup" in done.stderr


@pytest.mark.parametrize(
    "words", [("history", "status"), ("history", "trend"), ("history", "prune", "--keep", "1d")]
)
def test_a_fifo_is_not_waited_for(tmp_path: Path, words: tuple[str, ...]) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    done = inside(*words, "--history", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"history {path}: not a regular file" in done.stderr


@pytest.mark.parametrize("words", [("status",), ("show",), ("copy", "elsewhere.db")])
@pytest.mark.parametrize("is_folder", [False, True])
def test_what_others_may_write_is_not_read(
    words: tuple[str, ...], is_folder: bool, state: Path
) -> None:
    """Only storing refused it."""
    written = state if is_folder else state / "history.db"
    written.chmod(0o777)
    done = inside("history", *words, "--state", state)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{written} is writable by everyone" in done.stderr.replace(":", "")


def test_the_file_is_for_nobody_else(state: Path) -> None:
    assert stat.S_IMODE((state / "history.db").stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


def test_a_history_is_copied_whole(state: Path, tmp_path: Path) -> None:
    there = tmp_path / "there" / "h.db"
    text = printed("history", "copy", there, "--state", state)
    assert re.fullmatch(r"[0-9]+ rows copied to .*/there/h\.db\n", text)
    assert stat.S_IMODE(there.stat().st_mode) == 0o600
    trend = ("history", "trend", "--format", "json")
    assert printed(*trend, "--history", there) == printed(*trend, "--state", state)
    again = inside("history", "copy", there, "--state", state)
    assert (again.returncode, again.stdout) == (2, "")
    assert "it is not empty; copy into another place" in again.stderr


def test_prune_says_what_it_removed(state: Path) -> None:
    text = printed("history", "prune", "--keep", "1d", "--state", state)
    assert text == ("Removed 0 audits, 4 readings, 1 NIC and 3 findings that had ended\n")


def test_sql_prints_how_to_connect_and_statements_that_make_the_same_views(state: Path) -> None:
    text = printed("history", "sql", "--state", state)
    assert text.startswith(f"-- read-only: file:{state}/history.db?mode=ro\n")
    with closing(sqlite3.connect(f"file:{state}/history.db?mode=ro", uri=True)) as real:
        query = "SELECT sql FROM sqlite_master WHERE type = 'view'"
        assert all(f"{view};\n" in text for (view,) in real.execute(query))
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            real.execute("DELETE FROM audit")


ROOT = Path(__file__).parents[3]
SECRET = "postgresql://audit:hunter2secret@127.0.0.1:1/vnicaudit"


def test_a_password_is_shown_nowhere() -> None:
    for words in (("history",), ("history", "import"), ("history", "trend"), ("diff", "a", "b")):
        done = inside(*words, env={"VNICAUDIT_HISTORY": SECRET})
        assert done.returncode == 4
        assert "hunter2secret" not in done.stdout + done.stderr
        assert "audit:***@127.0.0.1" in done.stderr
    sql = inside("history", "sql", "--history", f"{SECRET}?password=alsosecret")
    assert "hunter2secret" not in sql.stdout
    assert "alsosecret" not in sql.stdout


def test_the_settings_may_name_the_place_and_no_password(state: Path, tmp_path: Path) -> None:
    file = tmp_path / "vnicaudit.toml"
    file.write_text(f'history = "{state}/history.db"\n')
    found = json.loads(printed("history", "status", "--config", file, "--format", "json"))
    assert found["place"] == f"{state}/history.db"
    file.write_text(f'history = "{SECRET}"\n')
    done = inside("history", "status", "--config", file)
    assert done.returncode == 2
    assert "history: a password does not belong in this file" in done.stderr
    assert "hunter2secret" not in done.stderr


@rows_of_tuples
def test_without_a_library_the_extra_is_named(
    tmp_path: Path, words: tuple[str, ...], module: str, extra: str
) -> None:
    """A machine without it: an import that fails, as it does there."""
    failing = f"raise ModuleNotFoundError({module!r}, name={module!r})\n"
    (tmp_path / f"{module}.py").write_text(failing)
    done = subprocess.run(
        [sys.executable, "-m", "vnicaudit", *words],
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 2
    assert f"pip install '.[{extra}]'" in done.stderr
