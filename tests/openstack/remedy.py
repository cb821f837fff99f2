"""plan, apply, rollback and runs, as an operator gives them, on servers of the cloud."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cli.command import SCRIPT, as_in_a_shell
from tests.openstack.cloud import Cloud
from tests.openstack.consoles import Consoles
from tests.openstack.servers import Server
from tests.rig.process import log, wait_for

TARGET = "openstack:admin"
DEAF = "has sent no packet yet"
"""What the product says of a guest that did not boot: an emulated one does not, now and then. All
is taken back then."""
_HERE = ("VNICAUDIT_NOVA_MANAGE=local", "VNICAUDIT_NOVA_MANAGE_TIMEOUT=120")
_SECONDS = 1200


class Remedy:
    """The commands, with a state folder of their own."""

    def __init__(self, cloud: Cloud, folder: Path) -> None:
        self.cloud = cloud
        self.folder = folder
        self.state = folder / "state"

    def plan(self, name: str, settings: str = "") -> Path:
        """The plan for one server or image, in a file. Its guest's system is not known."""
        path, toml = self.folder / "plan.json", self.folder / "vnicaudit.toml"
        toml.write_text(settings)
        which = ("--domain", name, "--include-unsafe", "--config", toml, "-o", path)
        result = self.cloud.vnicaudit("plan", TARGET, *which)
        assert result.returncode == 0, result.stderr + result.stdout
        return path

    def apply(self, plan: Path, *options: str, code: int = 0) -> str:
        """What ``apply PLAN --mode restart --yes`` says; it must end with that code."""
        return self._do(*self._apply(plan), *options, code=code)

    def killed_at(self, plan: Path, event: str) -> None:
        """Apply it, and kill the program when that line is in its journal."""
        words, named = as_in_a_shell(self._apply(plan))
        command: list[str | Path] = [sys.executable, SCRIPT, *words]
        inside = self.cloud.machine.namespaces.command(*command)
        runs = len(self._journals())
        with subprocess.Popen(
            inside, env={**self.cloud.environment(), **named}, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as entering:  # fmt: skip
            wait_for(lambda: self._has(event, runs), f"{event} is noted", seconds=_SECONDS)
            os.kill(child_of(entering.pid), signal.SIGKILL)

    def rollback(self, *options: str, run: str = "", code: int = 0) -> str:
        """What ``rollback`` of a run says: of that one, or of the newest."""
        which = run or self.last_run()
        return self._do("rollback", which, "--yes", *_HERE, *options, *self._kept(), code=code)

    def last_run(self) -> str:
        """The id of the newest run."""
        return str(self.runs()[0]["id"])

    def runs(self) -> list[dict[str, Any]]:
        """The runs there were, newest first."""
        result = self.cloud.vnicaudit("runs", "--format", "json", *self._kept())
        assert result.returncode == 0, result.stderr
        found: list[dict[str, Any]] = json.loads(result.stdout)["runs"]
        return found

    def last(self) -> dict[str, Any]:
        """The newest run's only unit."""
        (unit,) = self.runs()[0]["steps"]
        found: dict[str, Any] = unit
        return found

    def _apply(self, plan: Path) -> list[str | Path]:
        words = ("apply", plan, "--yes", "--include-unsafe", "--mode", "restart")
        return [*words, *_HERE, *self._kept()]

    def _kept(self) -> tuple[str | Path, ...]:
        return "--state", self.state

    def _do(self, *words: str | Path, code: int) -> str:
        """What that command says. Where a guest hung when it was started, which emulated ones of
        two CPUs now and then do on a busy machine, it is given once more: by then all is as it was
        before."""
        with Consoles(self.cloud.machine) as consoles:
            result = self._result(*words)
        deaf = result.returncode != code and DEAF in result.stderr
        if deaf and consoles.one_hung(self.last()["uuid"]):
            log(f"a guest did not come up, once more: {result.stderr}\n{consoles}")
            with Consoles(self.cloud.machine) as consoles:
                result = self._result(*words)
        said = result.stderr + result.stdout
        assert result.returncode == code, f"{said}\n{consoles}"
        return said

    def _result(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return self.cloud.vnicaudit(*words, timeout=_SECONDS)

    def _journals(self) -> list[Path]:
        return sorted(self.state.glob("runs/*/journal.jsonl"))

    def _has(self, event: str, behind: int) -> bool:
        newest = self._journals()[behind:]
        return any(f'"event":"{event}"' in path.read_text() for path in newest)


def rules(plan: Path) -> list[str]:
    """What found the only step of a plan."""
    (step,) = json.loads(plan.read_text())["steps"]
    found: list[str] = step["rules"]
    return found


def kept(server: Server, name: str = "hw_vif_model") -> str:
    """What Nova keeps of a property for a server; its database is asked, for nova-manage takes
    seconds to start."""
    rows = server.cloud.sql(
        f"select value from nova.instance_system_metadata where `key`='image_{name}'"
        f" and instance_uuid='{server.id}' and deleted=0"
    )
    return rows[0][0] if rows else ""


def checks(unit: dict[str, Any]) -> dict[str, str]:
    """Name of a check -> its verdict."""
    return {check["name"]: check["verdict"] for check in unit["checks"]}


def child_of(entering: int) -> int:
    """The program that ``nsenter`` runs, and waits for."""
    (child,) = Path(f"/proc/{entering}/task/{entering}/children").read_text().split()
    return int(child)
