"""One line per finding."""

from msgspec.structs import replace

from tests.reports.samples import CLEAN, OK_END, WEB_01, written
from vnicaudit.reports.writers import Options

WHOLE = """\
domains/web-01.xml:18: high VNIC001 web-01/0 rtl8139 is emulated packet by packet: no offload, no vhost [unsafe fix]
domains/web-01.xml:31: medium VNIC030 web-01/1 one queue pair for 8 vCPUs (confidence: medium) [safe fix]
domains/web-01.xml:1: low VNIC009 web-01 rtl8139 and virtio in one guest [by hand]
qemu:///system: high VNIC020 instance-0000002a/0 virtio without vhost: QEMU copies every packet [by hand]
qemu:///system: crash VNIC048 instance-0000002a/0 KeyError: 'mtu'
domains/broken.xml:3: unread Opening and ending tag mismatch: mac and interface
qemu+ssh://kvm7/system: unread no answer within 30 s
Found 4 problems (2 high, 1 medium, 1 low) in 2 of 4 domains, 5 NICs; 1 rule crashed (1 time); 2 of 3 targets could not be read in full; 1 finding suppressed, 2 findings known from the baseline
"""  # noqa: E501


def test_a_line_each_whatever_the_width() -> None:
    assert written("concise") == WHOLE
    assert written("concise", Options(width=40)) == WHOLE


def test_quiet_leaves_the_total_away() -> None:
    assert written("concise", Options(quiet=True)) == WHOLE[: WHOLE.index("Found")]


def test_a_clean_run_is_one_line() -> None:
    text = written("concise", stream=[CLEAN], end=OK_END)
    assert text == "No problems in 1 domain, 1 NIC\n"


def test_at_most_so_many_and_these_are_the_worst() -> None:
    text = written("concise", Options(most=2))
    lines = WHOLE.splitlines()
    shown = [line for line in lines[:4] if line in text.splitlines()]
    assert shown == [lines[0], lines[3]], "high ones, whatever was read before"
    assert "\n… 2 more problems (--max)\n" in text


def test_a_hostile_text_stays_on_its_line() -> None:
    (one, *_others) = WEB_01.findings
    hostile = replace(one, message="a\nb\x1b[2J")
    text = written("concise", stream=[replace(WEB_01, findings=(hostile,))])
    assert all(line.isprintable() for line in text.split("\n"))
    assert "a\\nb\\x1b[2J" in text
