"""Each NIC of a command line of several lines is found on its own line."""

from tests.rows import rows
from vnicaudit.model.nic import RunningQemu
from vnicaudit.platforms.qemu.proc import domain_of
from vnicaudit.platforms.qemu.read import read_text

# written for this test in the form libvirt 9.0 logs
LOG = r"""2026-11-20 10:00:00.000+0000: starting up libvirt version: 9.0.0, qemu version: 7.2.22
LC_ALL=C \
/usr/bin/qemu-system-x86_64 \
-name guest=web,debug-threads=on \
-nodefaults \
-netdev tap,fd=31,id=hostnet0 \
-device '{"driver":"rtl8139","netdev":"hostnet0","id":"net0","mac":"52:54:00:00:00:0A"}' \
-netdev '{"type":"tap","fd":"32","id":"hostnet1"}' \
-device virtio-net-pci,netdev=hostnet1,id=net1,mac=52:54:00:00:00:0b
"""
PASTED = """$ qemu-system-x86_64 -m 512 \\
   -netdev tap,id=a \\
   -device e1000,netdev=a \\
   -netdev tap,id=b -device e1000,netdev=b
$ qemu-system-x86_64 -m 512 -nic tap,model=rtl8139
"""


def read(text: str) -> list[RunningQemu]:
    return list(read_text(text.encode(), target="t", file="f"))


def lines(qemu: RunningQemu) -> list[int | None]:
    return [nic.location.line for nic in domain_of(qemu, "t").nics]


def test_in_a_log() -> None:
    (qemu,) = read(LOG)
    assert lines(qemu) == [7, 9]


def test_pasted() -> None:
    first, second = read(PASTED)
    assert lines(first) == [3, 4]
    assert lines(second) == [5]


def test_one_id_that_begins_another() -> None:
    text = PASTED.split("$")[1].replace("netdev=a", "netdev=a,id=x10").replace(
        "e1000,netdev=b", "e1000,netdev=b,id=x1"
    )  # fmt: skip
    (qemu,) = read(f"${text}")
    assert lines(qemu) == [3, 4]


def test_a_log_is_libvirts_even_when_nothing_else_says_so() -> None:
    (qemu,) = read(LOG)
    assert qemu.owner == "libvirt"


@rows
def test_who_keeps_the_definition(arguments: str, owner: str) -> None:
    (qemu,) = read(f"/usr/bin/qemu-system-x86_64 -nodefaults -m 512 {arguments}\n")
    assert qemu.owner == owner
