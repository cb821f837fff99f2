"""Anybody may start a program that is called qemu: one argument of 32 KiB cost an audit of
``/proc`` thirteen seconds, and one process has room for 2 MiB of them."""

from pathlib import Path

import pytest

from tests.regressions.hostile_input.growth import MOST, TIMES, ratio
from vnicaudit.model.domain import Domain
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.qemu import proc
from vnicaudit.platforms.qemu.proc import read_processes

QEMU = b"qemu-system-x86_64\0-nodefaults\0-netdev\0%s\0-device\0rtl8139,netdev=n0\0"
PIECES = (b"fd ", b"hostnet1", b",,", b"{", b'"', b"$", b"<", b"%(", b"0", b"a=b,", b"\0-device\0a")


def process(root: Path, pid: int, argument: bytes) -> None:
    (root / str(pid) / "fd").mkdir(parents=True, exist_ok=True)
    (root / str(pid) / "cmdline").write_bytes(QEMU % argument)


@pytest.mark.parametrize("piece", PIECES, ids=repr)
def test_an_argument_costs_no_more_than_its_length(piece: bytes, tmp_path: Path) -> None:
    def read(size: int) -> None:
        process(tmp_path, 7, b"tap,id=n0,x=" + piece * (size // len(piece)))
        assert len(list(proc.read_proc(str(tmp_path)))) == 1

    assert ratio(read, 4096, TIMES * 4096) <= MOST


@pytest.mark.usefixtures("without_collection")
def test_a_process_that_takes_too_long_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pid in (7, 8):
        process(tmp_path, pid, b"user,id=n0")
    list(read_processes(str(tmp_path)))  # what loads with the first one is not its time
    real = proc._process

    def slow(root: str, pid: int, target: str) -> object:
        while pid == 7:
            sum(range(1000))
        return real(root, pid, target)

    monkeypatch.setattr(proc, "_process", slow)
    monkeypatch.setattr(proc, "PROCESS_SECONDS", 0.2)
    error, guest = read_processes(str(tmp_path))
    assert isinstance(error, ReadError)
    assert error.file == f"{tmp_path}/7/cmdline"
    assert error.message == "parsing was given up after 0 s of CPU time"
    assert isinstance(guest, Domain)
    assert [nic.declared.model for nic in guest.nics] == ["rtl8139"]
