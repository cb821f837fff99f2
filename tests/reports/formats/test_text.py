"""The report for people, to the letter."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from tests.reports.golden import golden
from tests.reports.samples import CLEAN, END, OK_END, STREAM, WEB_01, finding, written
from vnicaudit.model.finding import Change, Location, Ref, Skipped
from vnicaudit.model.report import Audited, DataPath, ReadError, RunEnd, Summary, TargetResult
from vnicaudit.reports.safe import width_of
from vnicaudit.reports.wording import slow_sentence
from vnicaudit.reports.writers import Options

AT_80 = golden("audit.text.at-80.txt")

WEB_AT_40 = golden("audit.text.web-at-40.txt")

VERBOSE = golden("audit.text.verbose.txt")


def test_the_whole_report_at_80_columns() -> None:
    assert written("text") == AT_80


def test_a_narrow_terminal_wraps_and_loses_nothing() -> None:
    assert written("text", Options(width=40)).startswith(WEB_AT_40 + "\n")


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    text = written("text", Options(width=width, verbose=True))
    assert max(map(width_of, text.splitlines())) <= width
    words = written("text", Options(width=1000, verbose=True)).split()
    assert text.split() == words


def test_verbose_shows_what_is_in_order_accepted_and_not_judged() -> None:
    assert VERBOSE in written("text", Options(verbose=True))


def test_quiet_keeps_findings_reading_errors_and_the_answer() -> None:
    text = written("text", Options(quiet=True))
    assert text == AT_80[: AT_80.index("Summary\n")] + AT_80[AT_80.index("1 of 2 NICs") :]


def test_severity_and_rule_are_coloured() -> None:
    coloured = written("text", Options(color=True))
    assert "\x1b[1;31mhigh\x1b[0m    \x1b[1mVNIC001\x1b[0m" in coloured


def test_a_clean_run_is_one_line() -> None:
    assert written("text", stream=[CLEAN], end=OK_END) == "No problems in 1 guest, 1 NIC\n"
    green = written("text", Options(color=True), stream=[CLEAN], end=OK_END)
    assert green == "\x1b[1;32mNo problems in 1 guest, 1 NIC\x1b[0m\n"


def test_a_run_that_could_not_read_everything_never_sounds_clean() -> None:
    end = msgspec.structs.replace(OK_END, targets=END.targets[:1])
    assert written("text", stream=[CLEAN], end=end) == (
        "Could not be read\n"
        "  domains/broken.xml:3: Opening and ending tag mismatch: mac and interface\n\n"
        "No problems in 1 guest, 1 NIC; but 1 of 1 target could not be read in full\n"
    )


def test_a_run_over_nothing_says_so() -> None:
    end = RunEnd(OK_END.finished, (TargetResult("empty", "ok"),), Summary())
    assert written("text", stream=[], end=end) == ("Nothing here defines a NIC\n")


def test_a_host_and_a_configuration_file_are_counted_beside_domains() -> None:
    problem = finding(about=Ref("host"), fix="")
    stream = [
        Audited("qemu:///system", "kvm7", owner="host", scope="host", findings=(problem,)),
        Audited("/etc/nova", "/etc/nova/nova.conf", owner="nova", scope="config"),
    ]
    end = RunEnd(OK_END.finished, (), Summary(findings=1, by_severity={"high": 1}))
    text = written("text", stream=stream, end=end)
    assert text.startswith("kvm7  host\n  high    VNIC001  domains/web-01.xml:18\n")
    assert text.endswith("1 problem in 1 host (1 high)\n")


def test_only_the_first_reading_errors_are_shown_unless_asked() -> None:
    errors = tuple(ReadError("not XML", f"d/{number}.xml", 1) for number in range(30))
    target = TargetResult("d", "partial", "d/0.xml:1: not XML", 1, 1, errors, 1234)
    end = msgspec.structs.replace(OK_END, targets=(target,))
    text = written("text", stream=[CLEAN], end=end)
    assert "  d/19.xml:1: not XML\n  … 1,214 more (--verbose shows them)\n" in text
    assert "d/20.xml" not in text
    everything = written("text", Options(verbose=True), stream=[CLEAN], end=end)
    assert "  d/29.xml:1: not XML\n  d: 1,204 more were not read\n" in everything


CLOUD_END = msgspec.structs.replace(
    OK_END,
    targets=(
        TargetResult("nodes", "ok", notes=("nodes/a/nova.conf: not joined",)),
        TargetResult(
            "openstack:prod", "ok", None, 1, 1,
            notes=("Nova 34", "as this user sees it:\x1b[2J hosts are told to admins only"),
            calls={"compute": 1005, "image": 4, "identity": 1, "network": 4},
        ),
    ),
)  # fmt: skip
NOTES = """\
Notes
  nodes: nodes/a/nova.conf: not joined
  openstack:prod: Nova 34
  openstack:prod: as this user sees it:\\x1b[2J hosts are told to admins only
"""
CALLS = """\
  openstack:prod: 1,014 API calls (compute 1,005, image 4, network 4, identity
    1)
"""


def test_what_else_bears_on_it_is_said_at_the_end() -> None:
    text = written("text", stream=[CLEAN], end=CLOUD_END)
    assert text == f"{NOTES}\nNo problems in 1 guest, 1 NIC\n"


def test_verbose_counts_the_calls_of_each_service() -> None:
    text = written("text", Options(verbose=True), stream=[], end=CLOUD_END)
    assert text.startswith(f"{NOTES}{CALLS}\n")


def test_quiet_says_neither() -> None:
    assert written("text", Options(quiet=True), stream=[], end=CLOUD_END) == ""


SERVER = Audited("openstack:prod", "web", "3b2bb8cc-9a31-4a4b-a26c-1a7d0a5c8e01", "nova", nics=1,
                 findings=(finding(fix=""),), server="web")  # fmt: skip


def test_a_server_is_told_from_others_of_its_name() -> None:
    text = written("text", stream=[SERVER], end=OK_END)
    assert text.startswith("web  nova, 1 NIC, 3b2bb8cc-9a31-4a4b-a26c-1a7d0a5c8e01\n")


def test_a_domain_that_is_a_server_has_both_names() -> None:
    domain = msgspec.structs.replace(SERVER, target="qemu:///system", subject="instance-00000001")
    text = written("text", stream=[domain], end=OK_END)
    assert text.startswith("instance-00000001  nova, server web, 1 NIC\n")


def test_rules_that_lack_the_same_thing_share_a_sentence() -> None:
    ref = Ref("nic", "a", None, None, 0)
    skipped = tuple(Skipped(rule, ref, "a live libvirt connection") for rule in ("VNIC2", "VNIC1"))
    foreign = Skipped("*", Ref("domain", "a"), "a QEMU or KVM domain (this one is type='xen')")
    stream = [msgspec.structs.replace(CLEAN, skipped=(*skipped, foreign))]
    text = written("text", stream=stream, end=OK_END)
    assert "  VNIC1, VNIC2 were not judged for 1 NIC: need a live libvirt connection\n" in text
    assert (
        "  No rule was judged for 1 guest: needs a QEMU or KVM domain (this one is\n"
        "    type='xen')\n"
    ) in text


def test_a_hostile_name_stays_on_its_line() -> None:
    name = "web\n  high    VNIC001\x1b[2J\u202e"
    nic = Ref("nic", name, None, "52:54:00:00:00:01", 0)
    stream = [msgspec.structs.replace(WEB_01, subject=name, findings=(finding(about=nic, fix=""),))]
    text = written("text", stream=stream)
    assert text.startswith(
        "web\\n  high    VNIC001\\x1b[2J\\u202e  libvirt, 2 NICs\n  high    VNIC001  NIC 0 52:"
    )
    assert all(line.isprintable() for line in text.split("\n"))


def test_ever_new_reasons_do_not_grow_the_report_for_ever() -> None:
    def stream() -> list[Audited]:
        return [
            msgspec.structs.replace(
                CLEAN, skipped=(Skipped("*", Ref("domain", "a"), f"a QEMU domain, not {number}"),)
            )
            for number in range(3000)
        ]

    text = written("text", Options(width=200), stream=stream(), end=OK_END)
    assert text.count("No rule was judged for ") == 1
    assert "for 3,000 guests: needs other facts (the JSON report has each) (2,000 guests); " in text
    assert "; 996 other things (the JSON report has each)\n" in text


def test_every_domain_of_the_stream_is_named_once_in_order() -> None:
    text = written("text", Options(verbose=True))
    places = [text.index(f"\n{audited.subject}  ") for audited in STREAM[1:]]
    assert places == sorted(places)
    assert text.startswith("web-01  libvirt, 2 NICs, 3b2bb8cc-9a31-4a4b-a26c-1a7d0a5c8e01\n")


@pytest.mark.parametrize(
    ("paths", "sentence"),
    [
        ({"slow": 9, "fast": 4, "unknown": 4}, "9 of 17 NICs are slow, 4 unknown"),
        ({"slow": 1, "does not start": 1}, "1 of 2 NICs is slow, 1 does not start"),
        ({"does not start": 1}, "1 of 1 NIC does not start"),
        ({"fast": 2}, "None of 2 NICs is slow"),
        ({"fast": 2, "unknown": 1}, "None of 3 NICs is known to be slow, 1 unknown"),
        ({"fast": 1}, "The NIC is not slow"),
        ({"unknown": 2}, "Of 2 NICs it is unknown whether they are slow"),
        ({}, ""),
    ],
)
def test_how_many_are_slow_is_said_first(paths: dict[DataPath, int], sentence: str) -> None:
    assert slow_sentence(Counter(paths)) == sentence


def test_what_is_safe_to_fix_comes_with_its_command() -> None:
    safe = Change("model", "rtl8139", "virtio", safe=True)
    xml = Location("a {b}.xml", "a {b}.xml", 3, "/domain/devices/interface")
    stream = [
        msgspec.structs.replace(
            WEB_01, target="a {b}.xml", findings=(finding(change=safe, location=xml),)
        ),
        Audited(
            "nova.conf", "nova.conf", owner="nova", scope="config",
            findings=(finding(change=safe, location=Location("nova.conf", "nova.conf", 2)),),
        ),
    ]  # fmt: skip
    text = written("text", stream=stream)
    assert "1 is safe to fix: vnicaudit plan 'a {b}.xml' -o plan.json\n" in text
    assert "1 is safe to fix in files: vnicaudit audit nova.conf --diff\n" in text
    log = finding(change=safe, location=Location("in.log", "in.log", 2), owner="kubevirt")
    pod = msgspec.structs.replace(WEB_01, owner="kubevirt", findings=(log,))
    assert "vnicaudit" not in written("text", stream=[pod]), "a log cannot be fixed"
    narrow = written("text", Options(width=50), stream=stream)
    assert "1 is safe to fix in files:\n  vnicaudit audit nova.conf --diff\n" in narrow
    many = [
        msgspec.structs.replace(WEB_01, target=f"{name}.xml", findings=(finding(change=safe),))
        for name in "abcd"
    ]
    assert "vnicaudit plan TARGET -o plan.json\n" in written("text", stream=many)
    fleet = written("text", Options(targets="-i hosts.ini"), stream=many)
    assert "vnicaudit plan -i hosts.ini -o plan.json\n" in fleet


def test_the_line_is_quoted_below_its_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("nova.conf")
    file.write_text("[libvirt]\nvirt_type = kvm\x1b[2J\nuse_virtio_for_bridges = false\n")
    found = [
        finding(location=Location("n", str(file), line, None, column), fix="")
        for line, column in ((3, 26), (2, 26), (3, None))
    ]
    stream = [msgspec.structs.replace(WEB_01, findings=tuple(found))]
    text = written("text", Options(width=40, quotes=True), stream=stream)
    assert f"    3 | use_virtio_for_bridges = false\n{' ' * 33}^\n" in text
    assert text.count("use_virtio_for_bridges") == 1, "a command without a column is not quoted"
    assert "\x1b" not in text
    assert max(map(width_of, text.splitlines())) <= 40
    assert " | " not in written("text", stream=stream)
