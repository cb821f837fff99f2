"""A log from its end, in bounded memory."""

import os
from pathlib import Path

import pytest

from vnicaudit.platforms.qemu.read import is_log, last_start, read_tail, read_text

DATA = Path(__file__).parent / "data"
START = b"2023-01-02 03:04:05.678+0000: starting up libvirt version: 9.0.0\n/usr/bin/kvm -m 1\n"
_NOISE = b"2023-01-02T03:04:05Z qemu-system-x86_64: a line of noise\n" * 60_000


def test_a_log_is_read_from_its_last_start() -> None:
    new = START.replace(b"-m 1", b"-m 1 -nodefaults -device e1000,id=new")
    (qemu,) = read_text(START + b"old\n" + _NOISE + new, target="t", file="a.log")
    assert [nic.id for nic in qemu.nics] == ["new"]
    assert qemu.location.line == 60_005


@pytest.mark.parametrize(
    ("before", "read"),
    [
        (START + b"old\n", START + b"new\n"),
        (_NOISE * 22, START + b"new\n"),  # above 64 MiB
        (b"", START + _NOISE),  # the window grows until it holds a start
        (b"", b"-msg timestamp=on\n"),
    ],
)
def test_the_end_of_a_log_from_its_last_start(tmp_path: Path, before: bytes, read: bytes) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(before + read)
    with path.open("rb") as file:
        assert read_tail(file.fileno(), os.fstat(file.fileno()).st_size) == read


def test_an_emulator_of_any_name() -> None:
    text = START.decode().replace("/usr/bin/kvm", "FOO=bar /opt/site/our-emulator")
    start = last_start(text)
    assert start is not None
    assert start.program == "/opt/site/our-emulator"
    assert start.arguments.last("m") == "1"
    assert (start.qemu, str(start.libvirt)) == (None, "9.0.0")


def test_warnings_are_cleaned_and_counted() -> None:
    lines = "\x1b[31mqemu: vhost-net requested\x07 but could not be initialized\n" * 50
    start = last_start(START.decode() + lines)
    assert start is not None
    text = "[31mqemu: vhost-net requested but could not be initialized"
    assert start.warnings == tuple((line, text) for line in range(3, 23))


def test_only_logs_are_logs() -> None:
    assert is_log((DATA / "libvirt-9.0-qemu-7.2.log").read_text())
    assert is_log("2023-01-02T03:04:05.123456Z qemu-system-x86_64: terminating on signal 15\n")
    assert not is_log("2023-01-02 03:04:05.678+0000: 77: error : somebody else's log\n")
    assert not is_log("-option \\\n-other\n")
    assert not is_log("")
