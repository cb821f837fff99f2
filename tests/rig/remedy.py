"""plan, apply, rollback and runs, as an operator gives them, on the rig's guests."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import vnicaudit
from tests.rig.guests import Guest

SYSTEM = "qemu:///system"
_LONGEST = 1500
"""Seconds for what measures as well, on a busy machine."""
_PATIENCE = ("VNICAUDIT_GUEST_DEADLINE=600",)
"""For a guest that comes back or goes, unless a test waits for it in vain: one was seen to take 306
seconds beside others."""


class Remedy:
    """The commands, with a state folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"

    def plan(self, guest: Guest, *options: str) -> Path:
        """The plan for one guest, in a file."""
        path = self.folder / f"{guest.name}.json"
        which = ("--domain", guest.name, "-o", path)
        result = vnicaudit("plan", SYSTEM, *which, *options, timeout=300)
        assert result.returncode == 0, result.stderr + result.stdout
        return path

    def apply(self, plan: Path, *options: str, code: int = 0) -> str:
        """What ``apply PLAN --yes`` says; it must end with that code."""
        return self._do("apply", plan, "--yes", *_PATIENCE, *options, code=code)

    def rollback(self, run: str, *options: str, code: int = 0) -> str:
        """What ``rollback RUN --yes`` says."""
        return self._do("rollback", run, "--yes", *_PATIENCE, *options, code=code)

    def runs(self) -> list[dict[str, Any]]:
        """The runs there were, newest first."""
        result = vnicaudit("runs", "--format", "json", "--state", self.state)
        assert result.returncode == 0, result.stderr
        found: list[dict[str, Any]] = json.loads(result.stdout)["runs"]
        return found

    def last(self) -> dict[str, Any]:
        """The newest run's only domain, and the run's id in it as ``run``."""
        run = self.runs()[0]
        (unit,) = run["steps"]
        return {**unit, "run": run["id"]}

    def _do(self, *words: str | Path, code: int) -> str:
        result = vnicaudit(*words, "--state", self.state, timeout=_LONGEST)
        assert result.returncode == code, result.stderr + result.stdout
        return result.stderr + result.stdout


@pytest.fixture
def remedy(tmp_path: Path) -> Remedy:
    """A fresh state folder."""
    return Remedy(tmp_path)


def definition(guest: Guest) -> str:
    """The persistent definition, passwords included."""
    words = ["virsh", "-c", SYSTEM, "dumpxml", "--inactive", "--security-info", guest.name]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout


def checks(unit: dict[str, Any]) -> dict[str, str]:
    """Name of a check -> its verdict."""
    return {check["name"]: check["verdict"] for check in unit["checks"]}
