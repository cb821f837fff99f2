"""This machine's ARP table, as Linux 6.18 writes it."""

from pathlib import Path

from vnicaudit.platforms.host.tree import Tree, arp_of, read_arp

TABLE = """\
IP address       HW type     Flags       HW address            Mask     Device
10.102.193.2     0x1         0x2         52:54:00:AB:0a:01     *        vnab9921
10.102.193.9     0x1         0x0         00:00:00:00:00:00     *        vnab9921
10.102.193.3     0x1         0x6         52:54:00:ab:0a:01     *        br0
"""


def test_who_answered() -> None:
    assert arp_of(TABLE) == {"52:54:00:ab:0a:01": ("10.102.193.2", "10.102.193.3")}


def test_what_is_no_table_is_nothing() -> None:
    assert arp_of("") == {}
    assert arp_of("IP\n1.2.3.4 0x1 0xz 52:54:00:ab:0a:01 * br0\n\x00\n1 2\n") == {}


def test_of_a_machine(tmp_path: Path) -> None:
    assert read_arp(Tree(str(tmp_path))) == {}
    (tmp_path / "proc/net").mkdir(parents=True)
    (tmp_path / "proc/net/arp").write_text(TABLE)
    assert set(read_arp(Tree(str(tmp_path)))) == {"52:54:00:ab:0a:01"}
