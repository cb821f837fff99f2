"""A script with several QEMU commands was half read: what stood behind ``&&``, ``;``, ``then`` or
``do``, what a variable named the program of, and what stood behind a redirection in the middle of
a command were dropped without a word, and the file was called clean."""

import json
from pathlib import Path

from tests.cli.inside import inside

ARGUMENTS = "-nodefaults -device rtl8139,netdev=n0 -netdev user,id=n0"
BAD = f"qemu-system-x86_64 {ARGUMENTS}"


def _nics(tmp_path: Path, text: str) -> list[tuple[str, int]]:
    (tmp_path / "start.sh").write_text(text + "\n")
    result = inside("nics", "start.sh", "--format", "json", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    found = json.loads(result.stdout)["nics"]
    return [(one["model"]["effective"], one["location"]["line"]) for one in found]


def test_a_specifier_of_systemd_is_no_broken_address(tmp_path: Path) -> None:
    mac = "netdev=n0,mac=52:54:00:00:00:%i"
    text = f"[Service]\nExecStart=/usr/bin/{BAD.replace('netdev=n0', mac)}"
    assert _nics(tmp_path, text) == [("rtl8139", 2)]
