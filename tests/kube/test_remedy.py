"""Plan, apply and rollback as commands, on a real API server: with the shipped roles alone, and
without a secret in anything that they say or keep."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.cli.inside import inside
from tests.kube.objects import SECRET, interface, kubevirt, node, virtual_machine
from tests.kube.server import Server
from tests.kube.test_logins import plugin
from tests.kube.test_rights import ROLE, RULES, is_reading
from tests.kube.virt import VMIS, VMS, Virt
from vnicaudit.platforms.kubevirt.live.changes import ClusterPlace

pytestmark = pytest.mark.kube
REMEDY: list[dict[str, Any]] = YAML(typ="safe", pure=True).load(ROLE.with_name("remedy-role.yaml"))[
    "rules"
]
ALLOWED = {
    (verb, group, resource)
    for rule in REMEDY for verb in rule["verbs"] for group in rule["apiGroups"]
    for resource in rule["resources"]
}  # fmt: skip
Command = Callable[..., str]


def is_remedy(asked: dict[str, Any]) -> bool:
    """What the second role allows, or a question that every user may ask."""
    what = asked.get("objectRef", {})
    part = what.get("subresource")
    resource = f"{what.get('resource')}/{part}" if part else what.get("resource")
    return (asked["verb"], what.get("apiGroup"), resource) in ALLOWED


def runner(cluster: Server, virt: Virt, folder: Path, name: str, user: dict[str, Any]) -> Command:
    """Runs a command as this user; all that it says, with its exit code."""
    vm = virtual_machine("web", interface(model="e1000"))
    virt.is_prompt = True
    cluster.load(kubevirt(), node())
    virt.run(vm)
    config = cluster.kubeconfig(name, user)

    def run(*words: str) -> str:
        env = {"KUBECONFIG": str(config), "VNICAUDIT_STATE": str(folder / "state")}
        done = inside(*words, cwd=folder, env=env | {"VNICAUDIT_DEBUG": "1"})
        return f"{done.stdout}{done.stderr}exit code {done.returncode}"

    return run


def model(cluster: Server) -> tuple[str, str]:
    """That of the NIC in the template, and in the instance."""
    vm = cluster.ask("GET", VMS.format("shop", "web"))["spec"]["template"]["spec"]
    instance = cluster.ask("GET", f"{VMIS.format('shop')}/web")["spec"]
    first, second = (
        one["domain"]["devices"]["interfaces"][0].get("model") for one in (vm, instance)
    )
    return first, second


def test_the_shipped_roles_are_enough_and_nothing_else_is_asked_for(
    cluster: Server, virt: Virt, tmp_path: Path
) -> None:
    token = cluster.account("mender", [*RULES, *REMEDY])
    run = runner(cluster, virt, tmp_path, "mender", {"token": token})
    assert "exit code 0" in (told := run("plan", "kube:mender", "-o", "plan.json")), told
    assert "exit code 0" in (told := run("apply", "plan.json", "--mode", "restart", "-y")), told
    assert model(cluster) == ("virtio", "virtio")
    last = next((tmp_path / "state/runs").iterdir()).name
    assert "exit code 0" in (told := run("rollback", last, "-y")), told
    assert model(cluster) == ("e1000", "e1000")
    asked = [
        one for one in cluster.requests("mender")
        if one.get("objectRef", {}).get("resource") != "selfsubjectaccessreviews"
    ]  # fmt: skip
    assert [one for one in asked if not is_reading(one) and not is_remedy(one)] == []
    assert {one["verb"] for one in asked} >= {"list", "get", "patch", "update"}


def test_a_secret_is_in_nothing_that_is_said_or_kept(
    cluster: Server, virt: Virt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted in the VM's start-up data, in the token, and in what the plug-in prints."""
    token = cluster.account("silent", [*RULES, *REMEDY])
    user = plugin(tmp_path, token=token)
    run = runner(cluster, virt, tmp_path, "silent", user)
    said = [
        run("plan", "kube:silent", "-o", "plan.json", "--diff", "--verbose"),
        run("plan", "kube:silent", "--format", "json"),
        run("apply", "plan.json", "--mode", "restart", "--dry-run", "--verbose"),
        run("apply", "plan.json", "--mode", "restart", "-y", "--verbose", "--format", "json"),
        run("history"),
    ]
    last = next((tmp_path / "state/runs").iterdir()).name
    real = ClusterPlace.patch

    def crashes(self: ClusterPlace, *words: Any, dry_run: bool = False) -> Any:
        found = real(self, *words, dry_run=dry_run)
        raise RuntimeError(f"planted, at {found}")

    with monkeypatch.context() as patch:
        patch.setattr(ClusterPlace, "patch", crashes)
        said.append(run("rollback", last, "-y", "--verbose"))
    assert "planted, at" in said[-1]
    said += [run("rollback", last, "-y", "--verbose"), run("history", "--format", "json")]
    assert model(cluster) == ("e1000", "e1000")
    kept = [
        one.read_text() for one in tmp_path.rglob("*")
        if one.is_file() and one.name not in ("answer", "login")
    ]  # fmt: skip
    assert any("e1000" in text for text in kept)
    assert [text for text in [*said, *kept] if SECRET in text or token in text] == []
