"""The shipped role is enough for an audit, nothing outside of it is asked for, and whoever lacks a
part of it is told which."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.cli.inside import inside
from tests.kube.objects import node, small_cluster
from tests.kube.server import Server

pytestmark = pytest.mark.kube
ROLE = Path(__file__).parents[2] / "docs/how-to/clusters/clusterrole.yaml"
RULES: list[dict[str, Any]] = YAML(typ="safe", pure=True).load(ROLE)["rules"]
RIGHTS = [
    (group, resource) for rule in RULES for group in rule["apiGroups"]
    for resource in rule["resources"]
]  # fmt: skip
FOUND = "VNIC071  NIC 0"


def target(cluster: Server, name: str, rules: list[dict[str, Any]], space: str = "") -> str:
    """The cluster, as an account with these rights sees it."""
    token = cluster.account(name, rules, namespace=space)
    file = cluster.kubeconfig(name, {"token": token})
    return f"kube:{name}{'/' * bool(space)}{space}?kubeconfig={file}"


def is_reading(asked: dict[str, Any]) -> bool:
    """A list that the role allows, or a question that every user may ask."""
    what = asked.get("objectRef", {})
    if not what:
        return asked["verb"] == "get" and asked["requestURI"] in ("/apis/", "/version/")
    if what["resource"] == "selfsubjectaccessreviews":
        return True
    return asked["verb"] == "list" and (what.get("apiGroup", ""), what["resource"]) in RIGHTS


def test_the_shipped_role_is_enough_and_nothing_else_is_asked_for(cluster: Server) -> None:
    cluster.load(*small_cluster())
    name = target(cluster, "auditor", RULES)
    for command in ("audit", "nics", "doctor"):
        result = inside(command, name)
        assert "not judged" not in result.stdout.lower()
        assert result.stderr == ""
    asked = cluster.requests("auditor")
    assert {one["objectRef"]["resource"] for one in asked if one["verb"] == "list"} == {
        resource for _group, resource in RIGHTS
    }
    assert [one for one in asked if not is_reading(one)] == []


@pytest.mark.parametrize(("group", "resource"), RIGHTS)
def test_a_missing_right_is_named_and_the_rest_is_judged(
    cluster: Server, group: str, resource: str
) -> None:
    cluster.load(*small_cluster())
    rules = [
        rule | {"resources": [one for one in rule["resources"] if one != resource]}
        for rule in RULES if rule["resources"] != [resource]
    ]  # fmt: skip
    name = target(cluster, f"no-{resource}", rules)
    result = inside("audit", name)
    told = " ".join((result.stdout + result.stderr).split())
    lacking = f"no right to list {resource}{'.' * bool(group)}{group}: "
    assert told.count("no right to list") == told.count(lacking) == 1
    assert resource == "virtualmachines" or FOUND in result.stdout
    assert result.returncode == 1 or resource in ("virtualmachines", "virtualmachineinstances")
    assert result.returncode
    doctor = " ".join(inside("doctor", name).stdout.split())
    assert lacking.removesuffix(": ") in doctor


def test_the_rights_of_one_namespace_are_enough_for_it(cluster: Server) -> None:
    """Nodes, and what else is in none, are told as not read."""
    cluster.load(*small_cluster(), node("n2"))
    result = inside("audit", target(cluster, "shopkeeper", RULES, "shop"))
    assert FOUND in result.stdout
    assert "no right to list nodes" in " ".join(result.stdout.split())
