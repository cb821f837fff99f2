"""Command lines that were cut (by ``ps``, a terminal, a forum), or that keep a NIC in a variable,
were read as whole: a NIC that the guest has not was reported, or the guest was called clean."""

from pathlib import Path

from tests.cli.inside import inside

RUNNING = (
    "qemu 2413 1 9 ? Sl Mar02 1:33 qemu-system-x86_64 -accel kvm -smp 2 -nodefaults -netdev "
    "tap,id=n0,vhost=on -device virtio-net-pci,netdev=n0,id=net0,mac=52:54:00:12:34:56,bus=pci.0,"
    "addr=0x3"
)


def _audited(tmp_path: Path, text: str) -> tuple[int, str]:
    (tmp_path / "in.txt").write_text(text)
    result = inside("audit", "in.txt", cwd=tmp_path)
    return result.returncode, " ".join(result.stdout.split())


def test_no_place_to_cut_a_line_gives_a_clean_bill(tmp_path: Path) -> None:
    """Wherever it is cut: the whole NIC is there, or the line is not judged."""
    begin = RUNNING.index("-netdev")
    whole = range(RUNNING.index(",id=net0"), len(RUNNING) + 1)
    for end in range(begin + 1, len(RUNNING) + 1):
        code, said = _audited(tmp_path, RUNNING[:end] + "\n")
        if end in whole and code == 0:
            assert "No problems in 1 guest, 1 NIC" in said, RUNNING[:end]
        else:
            assert code == 4, RUNNING[:end]
    assert code == 0, "it is not judged as a whole"
