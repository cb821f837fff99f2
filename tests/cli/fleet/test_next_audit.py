"""The command by which the history learns what a run fixed."""

from collections.abc import Sequence
from pathlib import Path

import click
import pytest

from vnicaudit.cli.fleet.next_audit import tell_next_audit
from vnicaudit.cli.fleet.options import InventoryOptions, inventory_words
from vnicaudit.cli.options.reading import HistoryOptions
from vnicaudit.fleet.inventory.own_format import DEFAULT_URI
from vnicaudit.model.fleet import InventoryHost
from vnicaudit.model.runs import Outcome, RunRecord, UnitRun


def told(
    state: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    names: Sequence[str] = ("kvm1", "kvm2", "kvm3", "kvm4"),
    changed: int = 1,
    outcome: Outcome = "applied",
    limit: str | None = None,
    waiting: bool = False,
) -> str:
    """What is said after a run on the first of these hosts."""
    hosts = [InventoryHost(name, f"qemu+ssh://{name}/system") for name in names]
    units = tuple(
        UnitRun("vm", None, one.uri, ("1",), (), outcome, waiting=waiting)
        for one in hosts[:changed]
    )
    run = RunRecord("r", "apply", "", None, "", "next-boot", (), "done", units)
    inventory = InventoryOptions(("my fleet.toml",), limit, DEFAULT_URI, ())
    with click.Context(click.Command("apply")):
        tell_next_audit(run, hosts, inventory, HistoryOptions(None, None, (), str(state)))
    when = "an audit after the power cycle" if waiting else "the next audit"
    return capsys.readouterr().err.partition(f" as open until {when}: ")[2].strip()


def test_an_inventory_on_standard_input_is_a_file_to_be_named() -> None:
    options = InventoryOptions(
        ("-", "my fleet.toml"), None, DEFAULT_URI, ("test+ext:///x?command=a b",)
    )
    words = " -i FILE -i 'my fleet.toml' --trust-uri 'test+ext:///x?command=a b'"
    assert inventory_words(options) == words


def test_the_hosts_that_were_changed_are_audited_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert told(tmp_path, capsys) == ""  # there is no history
    (tmp_path / "history.db").mkdir()
    assert told(tmp_path, capsys) == ""  # it cannot be read
    (tmp_path / "history.db").rmdir()
    (tmp_path / "history.db").touch()
    words = "vnicaudit fleet audit -i 'my fleet.toml'"
    end = f" --state {tmp_path}"
    assert told(tmp_path, capsys) == f"{words} --limit kvm1{end}"
    assert told(tmp_path, capsys, waiting=True) == f"{words} --limit kvm1{end}"
    assert told(tmp_path, capsys, changed=3) == f"{words} --limit kvm1,kvm2,kvm3{end}"
    assert told(tmp_path, capsys, changed=4) == words + end  # all of them
    assert told(tmp_path, capsys, limit="zone_a,!kvm9") == f"{words} --limit 'zone_a,!kvm9'{end}"
    many = [f"h{number}" for number in range(9)]
    assert told(tmp_path, capsys, names=many, changed=5) == words + end
    assert told(tmp_path, capsys, names=("!odd", "b")) == words + end
    assert told(tmp_path, capsys, outcome="refused") == ""
    (tmp_path / "vnicaudit.toml").write_text("= not TOML")
    assert told(tmp_path, capsys) == ""
