"""The list of NICs: for people, as CSV, and as ``vnicaudit.nics/1``."""

import csv
import io

import msgspec
import pytest
from msgspec.structs import replace

from tests.reports.golden import golden
from tests.reports.nic_samples import EMPTY, LEGACY, ODD, REFUSED, TUNED, WEB
from vnicaudit.audit.judging.domains import nic_row
from vnicaudit.model.nic import NONE, UNKNOWN, NicConfig, Resolved
from vnicaudit.model.report import NicRow, NicsReport
from vnicaudit.reports.nics import (
    COLUMNS,
    Verdict,
    as_csv,
    as_json,
    as_text,
    connection_of,
    kind_of,
    verdict_of,
)
from vnicaudit.reports.safe import width_of
from vnicaudit.reports.writers import Options

TABLE = golden("nics.table.txt")

NARROW = golden("nics.narrow.txt")

VERBOSE = golden("nics.verbose.txt")


def text_of(options: Options) -> str:
    return "".join(as_text(iter([WEB, EMPTY, ODD]), options))


def test_a_table_at_90_columns() -> None:
    assert text_of(Options(width=90)) == TABLE


def test_a_row_that_does_not_fit_is_spelled_out() -> None:
    text = text_of(Options(width=80))
    assert max(map(width_of, text.splitlines())) <= 80
    assert (
        "! NIC 1  vnet7  bridge\n"
        "    model virtio  vhost yes→unknown  queues 4  rx 256  tx 1024→256\n"
    ) in text


def test_a_narrow_terminal() -> None:
    assert text_of(Options(width=40)) == NARROW


def test_verbose_gives_the_reasons_and_domains_without_nics() -> None:
    assert "".join(as_text([WEB, EMPTY], Options(verbose=True))) == VERBOSE


@pytest.mark.parametrize("order", [1, -1])
def test_a_guest_in_several_files_counts_once_and_by_its_worst_reading(order: int) -> None:
    """Its definition has virtio already, and its log shows what runs."""
    place = replace(LEGACY.location, file="web.xml")
    running = replace(LEGACY, location=place)
    assert TUNED.effective is not None
    defined = replace(running, effective=replace(TUNED.effective, vhost=Resolved(None, True, "")))
    files = [replace(WEB, nics=(nic,)) for nic in (defined, running, running)]
    *_, totals = as_text(iter(files[::order]), Options(width=100))
    assert "1 NIC in 1 guest (read 3 times): 1 emulated\n" in totals


def test_nothing_to_show_is_said_except_quietly() -> None:
    assert "".join(as_text([EMPTY], Options())) == "No NICs\n"
    assert "".join(as_text([EMPTY], Options(quiet=True))) == ""
    assert "NIC  MAC" not in "".join(as_text([WEB], Options(quiet=True)))


SOCKET = "/var/run/openvswitch/vhu0d2f3a1b-12"
CONNECTED = replace(
    WEB,
    nics=(
        replace(LEGACY, source="default"),
        replace(TUNED, source="br-int\x1b[2J"),
        replace(TUNED, declared=NicConfig("vhostuser", actual_type="vhostuser"), source=SOCKET),
    ),
)


@pytest.mark.parametrize("width", [60, 100, 200])
def test_where_a_nic_is_connected(width: int) -> None:
    text = "".join(as_text([CONNECTED], Options(width=width)))
    assert max(map(width_of, text.splitlines())) <= width
    unknown = "→unknown" if width != 100 else ""  # it has no room there
    for where in (f"network default{unknown}", "bridge br-int\\x1b[2J", f"vhostuser {SOCKET}"):
        assert text.count(where) == 1


@pytest.mark.parametrize("width", [80, 99, 100, 120])
@pytest.mark.parametrize("source", ["x1", "default", "br-provider-1", "production-vlan-100"])
def test_a_connection_pushes_no_column(source: str, width: int) -> None:
    """One that is too long for its column goes below."""
    nics = (replace(LEGACY, source=source), replace(TUNED, source=source))
    shown = tuple(replace(nic, effective=REFUSED.effective) for nic in nics)
    head, _domain, *rows = "".join(
        as_text([replace(WEB, nics=shown)], Options(width=width))
    ).splitlines()
    models = [row for row in rows if "notanic" in row]
    assert [row.index("notanic") for row in models] == [head.index("model")] * 2
    assert sum(source in row for row in rows) == 2


def test_networks_of_neutron_and_of_kubevirt() -> None:
    row = nic_row(WEB, replace(TUNED, source="private"))
    assert connection_of(row, server=True) == "network private→bridge"
    assert connection_of(replace(row, wiring="pod-bridge", source="pod")) == "pod-bridge pod"


PLAIN: NicRow = replace(
    nic_row(WEB, WEB.nics[1]),
    tx_queue_size=Resolved(None, 256, ""),
    vhost=Resolved(None, True, ""),
)
NOTHING: Resolved[bool] = Resolved(None, None, "", NONE)
NOBODY_KNOWS: Resolved[bool] = Resolved(True, None, "", UNKNOWN)


@pytest.mark.parametrize(
    ("nic", "verdict"),
    [
        (PLAIN, "ok"),
        (replace(PLAIN, vhost=NOBODY_KNOWS), "ok"),
        (replace(PLAIN, vhost=NOTHING), "ok"),
        (replace(PLAIN, vhost=Resolved(None, False, "")), "slow"),
        (replace(PLAIN, queues=Resolved(8, 4, "")), "less"),
        (replace(PLAIN, tx_queue_size=Resolved(1024, 256, "")), "less"),
        (replace(PLAIN, model=Resolved(None, "rtl8139", "")), "slow"),
        (replace(PLAIN, starts=False), "slow"),
        (replace(PLAIN, model=Resolved(None, None, "", NONE)), "slow"),
        (replace(PLAIN, type="hostdev", model=Resolved(None, None, "", NONE)), "ok"),
        (replace(PLAIN, model=Resolved(None, None, "", UNKNOWN)), "ok"),
    ],
)
def test_the_mark_of_a_nic(nic: NicRow, verdict: Verdict) -> None:
    assert verdict_of(nic) == verdict


def test_the_kind_of_a_nic() -> None:
    assert kind_of(PLAIN) == "virtio"
    assert kind_of(replace(PLAIN, model=Resolved(None, "e1000", ""))) == "emulated"
    none = replace(PLAIN, model=Resolved(None, None, "", NONE))
    assert kind_of(none) == "not created"
    assert kind_of(replace(none, type="hostdev")) == "passed through"
    assert kind_of(replace(none, type="network", actual_type=None)) == "passed through"
    assert kind_of(replace(PLAIN, model=Resolved(None, None, "", UNKNOWN))) == "of unknown model"


def test_totals_and_what_the_marks_mean() -> None:
    text = "".join(as_text([WEB, ODD], Options(width=100)))
    assert "\n3 NICs in 2 guests: 2 emulated, 1 virtio\n" in text
    assert "\nx 0 " in text
    assert "\n! 1 " in text
    *_, marks, words = text.splitlines()
    assert marks.startswith("x slow (emulated, or without vhost), ")
    assert words == "  yes→unknown: asked for, in use unknown"


def test_a_place_where_there_are_several() -> None:
    text = "".join(as_text([WEB], Options(width=200), places=True))
    assert f", {WEB.location.file or WEB.location.target}\n" in text


def test_csv() -> None:
    text = "".join(as_csv([WEB, EMPTY, ODD]))
    head, *rows = csv.reader(io.StringIO(text))
    assert tuple(head) == COLUMNS
    assert [row[head.index("verdict")] for row in rows] == ["slow", "less", "slow"]
    assert [row[head.index("vhost_effective")] for row in rows] == ["false", "", "false"]
    assert rows[1][head.index("tx_queue_size_declared")] == "1024"
    assert head[-1] == "source"


def test_every_nic_is_a_row_with_both_sides_and_the_reason() -> None:
    text = "".join(as_json(iter([WEB, EMPTY, ODD])))
    report = msgspec.json.decode(text, type=NicsReport)
    assert [(nic.domain, nic.index) for nic in report.nics] == [
        ("web-01", 0), ("web-01", 1), ("odd\x1b[2J", 0),
    ]  # fmt: skip
    first = report.nics[0]
    assert (first.type, first.actual_type, first.active) == ("network", None, True)
    assert (first.arch, first.machine, first.vcpus) == ("x86_64", "pc-q35-9.2", 4)
    assert first.model == Resolved(
        None, "rtl8139", "no model declared: libvirt's default on x86_64 q35"
    )
    assert first.rx_queue_size.state == "none"
    assert (report.nics[2].starts, report.nics[2].active) == (False, None)
    assert "\x1b" not in text


def test_no_domains_is_an_empty_list() -> None:
    text = "".join(as_json([]))
    assert msgspec.json.decode(text, type=NicsReport).nics == ()


def test_a_nic_that_was_not_resolved_is_a_mistake_of_the_caller() -> None:
    raw = msgspec.structs.replace(WEB, nics=(msgspec.structs.replace(LEGACY, effective=None),))
    with pytest.raises(ValueError, match="NIC 0 of 'web-01' has not been resolved"):
        list(as_json([raw]))
