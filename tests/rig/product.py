"""The product's own command, run on this machine and inside L1."""

import json
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.cli.command import as_in_a_shell, vnicaudit
from tests.rig.agent import Ran
from tests.rig.images import guest_image
from tests.rig.l1 import L1
from tests.rig.process import run

ROOT = Path(__file__).parents[2]
IN_L1 = "/srv/vnicaudit"
_DEADLINE = ("VNICAUDIT_DEADLINE=300",)
"""For one answer of a libvirt whose machine is emulated, by one that is busy."""


def report_here(*arguments: str) -> dict[str, Any]:
    """What `vnicaudit ARGUMENTS --format json` says on this machine."""
    result = vnicaudit(*arguments, "--format", "json", timeout=300)
    assert result.returncode in (0, 1), result.stderr + result.stdout[-2000:]
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def found_at(
    place: str, *arguments: str, env: dict[str, str] | None = None
) -> list[tuple[str, str]]:
    """The rules that find something at a host or another place that is visited, each with the part
    of it that the finding names (``link/tap0``; empty: none), in order."""
    ran = vnicaudit("audit", place, *arguments, "--format", "json", env=env, timeout=300)
    assert ran.returncode in (0, 1), ran.stderr + ran.stdout[-2000:]
    places = [(one["rule"], one["location"]["xpath"]) for one in json.loads(ran.stdout)["findings"]]
    return sorted((rule, where or "") for rule, where in places)


def put_product(l1: L1) -> None:
    """Put the product's source into L1, compiled here: an emulated Python takes minutes for it. The
    small guest has the Python that L1 has."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        initrd = guest_image("x86_64", python=True).initrd
        run("sh", "-c", 'cpio -idm --quiet <"$1"', "sh", initrd, cwd=root)
        source = root / IN_L1.lstrip("/") / "vnicaudit"
        shutil.copytree(ROOT / "vnicaudit", source, ignore=shutil.ignore_patterns("__pycache__"))
        words = ("python3", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash")
        run("chroot", root, *words, IN_L1, env={"PATH": os.environ["PATH"]})
        l1.put(source, f"{IN_L1}/vnicaudit")


def run_in_l1(l1: L1, *arguments: str, timeout: float = 900) -> Ran:
    """Run `vnicaudit ARGUMENTS` inside L1, where the product was put before. What looks whether a
    guest is up gets a quarter of the one emulated CPU where the guest wants all of it."""
    words, named = as_in_a_shell(arguments)
    variables = [f"{name}={value}" for name, value in named.items()]
    program = ["nice", "-n", "4", "env", "-C", IN_L1, *variables, "python3", "-m", "vnicaudit"]
    return l1.run([*program, *words], timeout=timeout)


def report_in_l1(l1: L1, *arguments: str) -> dict[str, Any]:
    """What `vnicaudit ARGUMENTS --format json` says inside L1."""
    ran = run_in_l1(l1, *arguments, "--format", "json", *_DEADLINE)
    assert ran.exit_code in (0, 1), ran.stderr + ran.stdout[-2000:]
    report: dict[str, Any] = json.loads(ran.stdout)
    return report


def nic_of(report: dict[str, Any], domain: str) -> dict[str, Any]:
    """The one NIC of a domain in a `nics` report."""
    (nic,) = (nic for nic in report["nics"] if nic["domain"] == domain)
    found: dict[str, Any] = nic
    return found


def effective(nic: dict[str, Any], fact: str) -> tuple[Any, str]:
    """Effective value and reason of one of the five facts."""
    return nic[fact]["effective"], nic[fact]["reason"]


def rules_of(report: dict[str, Any], domain: str) -> set[str]:
    """The rules that found something about a domain."""
    return {f["rule"] for f in report["findings"] if f["about"]["name"] == domain}
