"""A cluster is audited again: what was known or remembered of it is recognised, and only what is
new or has gone is told."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.inside import inside
from tests.kube.objects import Object, interface, virtual_machine
from tests.kube.server import Server
from tests.kube.test_rights import RULES, target
from tests.kube.virt import VMS

pytestmark = pytest.mark.kube


def _linux(name: str, model: str) -> Object:
    vm = virtual_machine(name, interface(model=model))
    vm["metadata"]["labels"] = {"kubevirt.io/os": "fedora40"}
    return vm


def test_a_baseline_of_a_cluster_leaves_only_new_problems(cluster: Server, tmp_path: Path) -> None:
    def audited(*options: str) -> subprocess.CompletedProcess[str]:
        return inside("audit", name, *options)

    cluster.load(_linux("web", "e1000"))
    name, known = target(cluster, "known", RULES), str(tmp_path / "known.json")
    assert audited("--write-baseline", known).returncode == 0
    assert audited("--baseline", known).returncode == 0
    cluster.load(_linux("db", "rtl8139"))
    again = audited("--baseline", known, "--format", "json")
    found = [(one["rule"], one["about"]["name"]) for one in json.loads(again.stdout)["findings"]]
    assert again.returncode == 1
    assert ("VNIC071", "shop/db") in found
    assert {name for _rule, name in found} == {"shop/db"}


def test_the_history_of_a_cluster_tells_what_came_and_went(cluster: Server, tmp_path: Path) -> None:
    cluster.load(_linux("web", "e1000"))
    name, fleet = target(cluster, "kept", RULES), tmp_path / "fleet.toml"
    fleet.write_text(f'[[hosts]]\nname = "lab"\nuri = "{name}"\n')
    history = ("--history", str(tmp_path / "history.db"))
    audit = ("audit", "-i", str(fleet), "--trust-uri", name, "--level", "high", *history)
    assert inside(*audit).returncode == 1
    cluster.ask("DELETE", VMS.format("shop", "web"))
    cluster.load(_linux("db", "rtl8139"))
    assert inside(*audit).returncode == 1
    compared = inside("diff", "previous", "latest", *history, "--format", "json")
    assert compared.returncode == 1, compared.stderr
    told = json.loads(compared.stdout)
    assert {(one["state"], one["host"], one["domain"], one["model"]) for one in told["nics"]} == {
        ("gone", "lab", "shop/web", "e1000"), ("new", "lab", "shop/db", "rtl8139"),
    }  # fmt: skip
    assert {(one["state"], one["rule"], one["subject"]) for one in told["findings"]} == {
        ("gone", "VNIC071", "shop/web"), ("new", "VNIC071", "shop/db"),
    }  # fmt: skip
