"""Runs the command in this process: for commands that end at once, and are many."""

import io
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from tests.cli.command import as_in_a_shell
from vnicaudit.cli.main import run
from vnicaudit.cli.wiring import Wiring


def run_here(arguments: Iterable[str | Path], wiring: Wiring | None = None) -> int:
    """The exit code of a command run in this process, with the variables among its words."""
    words, named = as_in_a_shell(arguments)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in named.items():
            patch.setenv(name, value)
        return run(words, wiring)


def inside(
    *arguments: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    wiring: Wiring | None = None,
) -> subprocess.CompletedProcess[str]:
    """As ``tests.cli.command.vnicaudit``; ``wiring``: what it reaches, in the place of the
    program's."""
    words, named = as_in_a_shell(arguments)
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as err,
    ):
        for name, value in {"COLUMNS": "100", **named, **(env or {})}.items():
            patch.setenv(name, value)
        if cwd is not None:
            patch.chdir(cwd)
        code = run(words, wiring)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())
