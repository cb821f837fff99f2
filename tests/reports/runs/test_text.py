"""Runs for people."""

import re
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.reports.runs.records import RECORDS
from tests.reports.runs.samples import APPLY, BACK, BROKEN, DB, RUNS
from tests.shares import examples
from vnicaudit.model.plan import UnitKind
from vnicaudit.model.runs import RunRecord
from vnicaudit.reports.runs import counts, local_time, render, render_one
from vnicaudit.reports.safe import width_of
from vnicaudit.reports.writers import Options

LIST = """\
20261121-101500-3f2a  rolled-back  apply restart       2026-11-21 11:15:00
  3 guests: 1 applied, 1 refused, 1 rolled-back; plan sha256:5f5f5f5f5f5f
20261120-220000-77b0  unfinished   apply next-boot     2026-11-20 23:00:00
  2 guests: 1 unfinished, 1 not-reached; plan sha256:5f5f5f5f5f5f
20261119-090000-aa01  done         rollback next-boot  2026-11-19 10:00:00
  1 guest: 1 undone; undoes 20261118-090000-9b1c
"""

ONE = """\
20261121-101500-3f2a  rolled-back  apply restart
  started   2026-11-21 11:15:00 CET
  finished  2026-11-21 11:19:12 CET
  plan      sha256:5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f
  targets   qemu:///system, qemu+ssh://kvm2/system

qemu:///system
  applied      mail-01  52:54:00:12:34:56, 52:54:00:12:34:57  down for 6.2 s
    ok       arguments: QEMU runs -device virtio-net-pci
    unknown  address: no lease and no ARP entry: a guest agent would show it
    ok       link
  rolled-back  db-01  52:54:00:00:00:07  down for 131.0 s
    the guest did not come back within 120 s; its definition is what it was
    failed   agent: does not answer

qemu+ssh://kvm2/system
  refused      web-01
    the definition is another one than when it was planned

3 guests: 1 applied, 1 refused, 1 rolled-back
"""


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A time zone that is not UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Europe/Zurich")
        time.tzset()
        yield
    time.tzset()


def test_a_time_that_is_none_is_shown_as_it_is() -> None:
    assert local_time("yesterday") == "yesterday"


def test_guests_that_wait_for_a_power_cycle_are_counted() -> None:
    waiting = replace(APPLY.steps[0], waiting=True)
    text = listed([replace(APPLY, steps=(waiting,))], Options(width=160))
    assert "1 guest: 1 applied, 1 waiting for a power cycle; plan" in text
    text = listed([replace(APPLY, steps=(replace(waiting, kind="kube-vm"),))], Options(width=160))
    assert "1 guest: 1 applied, 1 waiting for a restart of the VM; plan" in text


def listed(runs: list[RunRecord], options: Options) -> str:
    return "".join(render(runs, options))


def one(run: RunRecord, options: Options) -> str:
    return "".join(render_one(run, options))


def test_the_list() -> None:
    assert listed(RUNS, Options(width=80)) == LIST


def test_the_list_has_one_line_per_run_where_it_fits() -> None:
    lines = listed(RUNS, Options(width=160)).splitlines()
    assert [line.split()[0] for line in lines] == [run.id for run in RUNS]
    assert lines[2] == (
        "20261119-090000-aa01  done         rollback next-boot  2026-11-19 10:00:00  "
        "1 guest: 1 undone; undoes 20261118-090000-9b1c"
    )


def test_no_runs_is_said_except_quietly() -> None:
    assert listed([], Options()) == "No runs\n"
    assert listed([], Options(quiet=True)) == ""


def test_one_run() -> None:
    assert one(APPLY, Options(width=90)) == ONE


def test_one_run_quietly_has_no_totals() -> None:
    assert one(APPLY, Options(width=90, quiet=True)) == ONE[: ONE.index("\n3 guests")]


def test_a_run_that_did_not_end() -> None:
    assert "  finished  not finished\n" in one(BROKEN, Options())


def test_a_way_back_names_the_run_it_undoes() -> None:
    assert "  undoes    20261118-090000-9b1c\n" in one(BACK, Options())


def test_verbose_names_steps_and_uuids() -> None:
    text = " ".join(one(APPLY, Options(verbose=True)).split())
    assert "down for 6.2 s 6f4d3c1e-0e5a-4c52-8f6c-0d2f8f4f3a11 s1, s2 ok" in text


def test_a_run_that_reached_nothing() -> None:
    assert counts(()) == "0 guests"


def test_what_a_cloud_has_is_counted_by_its_kind() -> None:
    unit = APPLY.steps[0]
    kinds: tuple[UnitKind, ...] = ("image", "server", "server", "file", "flavor")
    units = [replace(unit, kind=kind) for kind in kinds]
    assert counts(units) == "2 servers, 1 image, 1 guest, 1 flavor: 5 applied"
    run = replace(APPLY, steps=(replace(unit, kind="image", macs=(), checks=(), downtime=None),))
    assert "\n  applied      image mail-01\n\n1 image: 1 applied\n" in one(run, Options(width=90))


def test_colour_adds_nothing_but_colour() -> None:
    for text, plain in (
        (listed(RUNS, Options(width=80, color=True)), LIST),
        (one(APPLY, Options(width=90, color=True)), ONE),
    ):
        assert re.sub(r"\x1b\[[0-9;]*m", "", text) == plain
    assert "\x1b[1;33mrolled-back\x1b[0m" in text
    assert "\x1b[1;32mok\x1b[0m       link" in text
    assert "\x1b[1;31mfailed\x1b[0m   agent" in text


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_every_width_is_kept(width: int) -> None:
    for text in (listed(RUNS, Options(width=width)), one(APPLY, Options(width=width))):
        for line in text.splitlines():
            assert width_of(line) <= width or "sha256" in line, line


def test_names_cannot_draw_on_the_terminal() -> None:
    hostile = replace(DB, name="\x1b[2Jdb", message="a\nb\u202e")
    text = one(replace(APPLY, steps=(hostile,)), Options())
    assert "  rolled-back  \\x1b[2Jdb  52:54:00:00:00:07" in text
    assert "    a\\nb\\u202e\n" in text


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(RECORDS, min_size=1, max_size=3), st.integers(20, 200), st.booleans())
def test_whatever_runs_hold_lines_are_harmless(
    runs: list[RunRecord], width: int, verbose: bool
) -> None:
    options = Options(width=width, verbose=verbose)
    for text in (listed(runs, options), one(runs[0], options)):
        text.encode()
        assert all(line.isprintable() for line in text.split("\n"))
