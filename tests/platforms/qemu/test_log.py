"""A log from its end, in bounded memory."""

import os
from pathlib import Path

from vnicaudit.platforms.qemu.read import is_log, last_start, lines_before, read_tail

DATA = Path(__file__).parent / "data"
START = b"2023-01-02 03:04:05.678+0000: starting up libvirt version: 9.0.0\n/usr/bin/kvm -m 1\n"


def _tail(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return read_tail(descriptor, path.stat().st_size)
    finally:
        os.close(descriptor)


def test_a_small_log_from_its_last_start(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(START + b"old\n" + START + b"new\n")
    assert _tail(path) == START + b"new\n"


def test_the_window_grows_until_it_holds_a_start(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    noise = b"2023-01-02T03:04:05Z qemu-system-x86_64: a line of noise\n" * 60_000
    path.write_bytes(START + noise)
    assert _tail(path) == START + noise


def test_a_log_without_a_start_is_given_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"-msg timestamp=on\n")
    assert _tail(path) == b"-msg timestamp=on\n"


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


def test_lines_before(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    text = b"a\nbc\n" * 400_000  # more than one window
    path.write_bytes(text)
    with path.open("rb") as file:
        for offset in (0, 1, 2, 5, 1 << 20, len(text)):
            assert lines_before(file.fileno(), offset) == text[:offset].count(b"\n")
        assert lines_before(file.fileno(), (1 << 30) + 1) is None
