"""Command lines that were cut (by ``ps``, a terminal, a forum), or that keep a NIC in a variable,
were read as whole: a NIC that the guest has not was reported, or the guest was called clean."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside

PASTED = """qemu-system-x86_64 -accel kvm -cpu host -smp 4 -m 4G
  -nodefaults
  -drive file=/srv/x.qcow2,if=virtio
  -netdev tap,id=net0,ifname=tap0,script=no,downscript=no,vhost=on,queues=4
  -device virtio-net-pci,netdev=net0,mac=52:54:00:12:aa:01,mq=on,vectors=10
  -nographic
"""
RUNNING = (
    "qemu 2413 1 9 ? Sl Mar02 1:33 qemu-system-x86_64 -accel kvm -smp 2 -nodefaults -netdev "
    "tap,id=n0,vhost=on -device virtio-net-pci,netdev=n0,id=net0,mac=52:54:00:12:34:56,bus=pci.0,"
    "addr=0x3"
)
BARE = "qemu-system-x86_64 -nodefaults"
NETDEV = "-netdev tap,id=n,vhost=on"


def _audited(tmp_path: Path, text: str) -> tuple[int, str]:
    (tmp_path / "in.txt").write_text(text)
    result = inside("audit", "in.txt", cwd=tmp_path)
    return result.returncode, " ".join(result.stdout.split())


@pytest.mark.parametrize(
    "text",
    [
        PASTED,
        PASTED.replace("\n  -", " \\ \n  -"),
        PASTED.replace("\n  -", " \\\r\n  -"),
        PASTED.replace("\n  -drive", " \\\n  -drive"),
        PASTED.replace("  -", "--"),
        f"$ {PASTED}",
    ],
)
def test_lines_that_begin_with_an_option_belong_to_a_pasted_command(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "in.txt").write_text(text)
    result = inside("nics", "in.txt", "--format", "json", cwd=tmp_path)
    (nic,) = json.loads(result.stdout)["nics"]
    assert (nic["model"]["effective"], nic["queues"]["effective"]) == ("virtio", 4)
    assert nic["vhost"]["effective"] is True
    assert _audited(tmp_path, text)[0] == 0


@pytest.mark.parametrize(
    "text",
    [
        f"#!/bin/sh\n{PASTED}",
        f"#!/bin/sh\nset -e\n{PASTED}".replace("\n  -drive", " \\ \n  -drive"),
        f"set -e\n{PASTED}",
        f"[Service]\nExecStart=/usr/bin/{PASTED}",
        f"@echo off\n{PASTED}",
        PASTED.replace("\n  -drive", " \\\n  # -snapshot \\\n  -drive"),
        PASTED.replace("\n  -drive", " # fast\n  -drive"),
    ],
)
def test_a_program_whose_lines_are_not_continued_is_not_judged(tmp_path: Path, text: str) -> None:
    code, said = _audited(tmp_path, text)
    assert code == 4, said
    assert "begins with an option, but the line before it is not continued" in said
    assert "VNIC" not in said


def test_no_place_to_cut_a_line_gives_a_clean_bill(tmp_path: Path) -> None:
    """Wherever it is cut: the whole NIC is there, or the line is not judged."""
    begin = RUNNING.index("-netdev")
    whole = range(RUNNING.index(",id=net0"), len(RUNNING) + 1)
    for end in range(begin + 1, len(RUNNING) + 1):
        code, said = _audited(tmp_path, RUNNING[:end] + "\n")
        if end in whole and code == 0:
            assert "No problems in 1 domain, 1 NIC" in said, RUNNING[:end]
        else:
            assert code == 4, RUNNING[:end]
    assert code == 0, "it is not judged as a whole"


@pytest.mark.parametrize(
    "cut",
    [
        f"{NETDEV} -device virt",
        f"{NETDEV} -device virtio-net-pci,netdev=n -dev",
        "-device virtio-net-pci,netdev=n -netdev tap,id=n,vho",
    ],
)
@pytest.mark.parametrize("prefix", ["", "7 ? Sl 1:33 "])
def test_a_word_that_was_cut_off_shows_it(tmp_path: Path, prefix: str, cut: str) -> None:
    code, said = _audited(tmp_path, f"{prefix}{BARE} {cut}\n")
    assert code == 4, said


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("-netdev user,id=a -device $N", "$N"),
        ('-netdev user,id=a -device "${V4}"', "${V4}"),
        (f"{NETDEV} -device virtio-net-pci,netdev=n -netdev user,id=b -device $N", "'b'"),
        ("-device $N", "$N"),
        ("-netdev user,id=a", "'a'"),
    ],
)
def test_a_netdev_without_a_nic_is_told(tmp_path: Path, arguments: str, named: str) -> None:
    code, said = _audited(tmp_path, f"#!/bin/sh\n{BARE} {arguments}\n")
    assert code == 4, said
    assert named in said
    assert "not judged" in said


@pytest.mark.parametrize(
    "arguments",
    [
        "-netdev user,id=a -net nic,model=virtio,netdev=a",
        "-netdev user,id=a -netdev hubport,id=h,hubid=0,netdev=a -net nic,model=virtio",
        "-nic user,model=virtio -device $DISK",
    ],
)
def test_a_netdev_that_something_uses_is_not_left_over(tmp_path: Path, arguments: str) -> None:
    code, said = _audited(tmp_path, f"#!/bin/sh\n{BARE} {arguments}\n")
    assert code == 0, said
