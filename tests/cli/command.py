"""Runs the installed command, as a user would."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

SCRIPT = Path(sysconfig.get_path("scripts"), "vnicaudit")


def as_in_a_shell(arguments: Iterable[str | Path]) -> tuple[list[str], dict[str, str]]:
    """The words of a command, and the variables (``VNICAUDIT_RETRIES=0``) among them, wherever they
    stand."""
    words = list(map(str, arguments))
    variables = [word for word in words if word.startswith("VNICAUDIT_")]
    named = dict(word.split("=", 1) for word in variables)
    return [word for word in words if word not in variables], named


def vnicaudit(
    *arguments: str | Path,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: dict[str, str] | None = None,
    timeout: float = 500,
) -> subprocess.CompletedProcess[str]:
    """Run ``vnicaudit`` with these arguments, and variables as in a shell; output is decoded as
    UTF-8. It may have to wait for its turn at this machine, which another test holds."""
    words, named = as_in_a_shell(arguments)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("VNICAUDIT_")}
    result = subprocess.run(
        [sys.executable, str(SCRIPT), *words],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env=environment | {"COLUMNS": "100"} | named | (env or {}),
        timeout=timeout,
        check=False,
    )
    return subprocess.CompletedProcess(
        result.args, result.returncode, result.stdout.decode(), result.stderr.decode()
    )
