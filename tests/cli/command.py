"""Runs the installed command, as a user would."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

SCRIPT = Path(sysconfig.get_path("scripts"), "vnicaudit")


def vnicaudit(
    *arguments: str | Path,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: dict[str, str] | None = None,
    timeout: float = 500,
) -> subprocess.CompletedProcess[str]:
    """Run ``vnicaudit`` with these arguments; output is decoded as UTF-8. It may have to wait for
    its turn at this machine, which another test holds."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("VNICAUDIT_")}
    result = subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env=environment | {"COLUMNS": "100"} | (env or {}),
        timeout=timeout,
        check=False,
    )
    return subprocess.CompletedProcess(
        result.args, result.returncode, result.stdout.decode(), result.stderr.decode()
    )
