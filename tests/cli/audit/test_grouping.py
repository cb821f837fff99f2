"""``--group-by`` where a target does not tell by what."""

from __future__ import annotations

from pathlib import Path

from tests.cli.inside import inside


def test_files_name_no_host(tmp_path: Path) -> None:
    done = inside("audit", tmp_path, "--group-by", "host")
    assert done.returncode == 2
    assert "--group-by domain" in done.stderr
