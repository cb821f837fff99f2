"""Generator pods on a real API server, and on nodes whose pods run: each request may be the last
one; what is refused is told; the shipped role is enough."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.cli.command import SCRIPT, vnicaudit
from tests.cli.inside import inside
from tests.kube.between import Between, between
from tests.kube.nodes import Nodes
from tests.kube.objects import ONE_STREAM, attachment
from tests.kube.server import Refused, Server
from tests.kube.test_rights import ROLE
from tests.platforms.kubevirt.live.api_server import Asked, Reply, kubeconfig
from tests.rig.process import wait_for
from tests.rows import rows, rows_of_tuples

pytestmark = [pytest.mark.kube, pytest.mark.usefixtures("nodes")]
RULES: list[dict[str, Any]] = YAML(typ="safe", pure=True).load(ROLE.with_name("bench-role.yaml"))[
    "rules"
]
RUN = ("bench", "run", "--image", "tools", "-y", "-p", "smoke")


def left(server: Server) -> list[str]:
    """The pods of ours, and their namespaces unless they are about to go."""
    labels = "app.kubernetes.io/managed-by=vnicaudit"
    pods = server.ask("GET", "/api/v1/pods", labelSelector=labels)["items"]
    spaces = server.ask("GET", "/api/v1/namespaces", labelSelector=labels)["items"]
    spaces = [one for one in spaces if "deletionTimestamp" not in one["metadata"]]
    return [one["metadata"]["name"] for one in (*pods, *spaces)]


@pytest.fixture
def ways(cluster: Server, tmp_path: Path) -> Iterator[tuple[Between, str]]:
    """A server between, and the target that leads there."""
    with between(cluster) as server:
        file = kubeconfig(tmp_path / "config", server.url, user={"token": "admin-token"})
        yield server, f"kube:prod?kubeconfig={file}"


def is_write(asked: Asked) -> bool:
    """Not exec and questions about rights, which are asked by POST as well."""
    reads = asked.path.endswith(("/exec", "accessreviews"))
    return asked.method in ("POST", "DELETE") and not reads


def ended_at(
    place: int, ways: tuple[Between, str], state: Path, number: signal.Signals, *, arrives: bool
) -> tuple[int, str]:
    """Exit code and messages of a run that gets a signal while it waits for the answer to its
    ``place``-th write. ``arrives``: the request is carried out all the same. Pods cannot be reached
    by exec through the server between, so that a run removes them at once."""
    server, target = ways
    writes: list[Asked] = []

    def intercept(asked: Asked) -> Reply | None:
        if not is_write(asked):
            return None
        writes.append(asked)
        if len(writes) != place:
            return None
        os.kill(process.pid, number)
        if number == signal.SIGKILL:
            process.wait()
        return None if arrives else Reply(503, b"")

    words = (*RUN, "--cluster", target, "--paths", "pod-same", "--state", state)
    process = subprocess.Popen(
        [sys.executable, SCRIPT, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    server.intercept = intercept
    _nothing, told = process.communicate(timeout=300)
    server.intercept = lambda _asked: None
    assert len(writes) >= place
    return process.returncode, told


@pytest.mark.parametrize(("place", "arrives"), [(1, True), (2, False), (3, True), (4, False)])
def test_killed_at_each_request(
    cluster: Server, ways: tuple[Between, str], tmp_path: Path, place: int, arrives: bool
) -> None:
    """The namespace, both pods, the namespace's end. What comes then depends on who is faster: the
    pods end with their namespace."""
    code, _told = ended_at(place, ways, tmp_path, signal.SIGKILL, arrives=arrives)
    assert code == -signal.SIGKILL
    wait_for(lambda: left(cluster), "the last request arrives")
    result = inside("bench", "clean", "-y", "--state", tmp_path)
    assert result.returncode == 0, result.stderr
    assert "Removed run " in result.stdout
    assert left(cluster) == []
    again = inside("bench", "clean", "--state", tmp_path)
    assert (again.returncode, again.stdout) == (0, "No generator pods are left\n")


@pytest.mark.parametrize("place", [1, 2, 3])
def test_interrupted_while_it_creates(
    cluster: Server, ways: tuple[Between, str], tmp_path: Path, place: int
) -> None:
    code, told = ended_at(place, ways, tmp_path, signal.SIGINT, arrives=True)
    assert code == 130, told
    assert "removing 2 generator pods" in told
    assert left(cluster) == []
    assert list(tmp_path.glob("bench/pods/*.json")) == []


def test_interrupted_while_it_removes(
    cluster: Server, ways: tuple[Between, str], tmp_path: Path
) -> None:
    """Whoever does not want to wait is told the way on."""
    code, told = ended_at(4, ways, tmp_path, signal.SIGINT, arrives=False)
    assert code == 130, told
    assert "NOT removed: namespace vnicaudit-bench-" in told
    assert inside("bench", "clean", "-y", "--state", tmp_path).returncode == 0
    assert left(cluster) == []


def plain_run(target: str, *paths: str, state: Path, **env: str) -> Any:
    words = (*RUN, "--cluster", target, "--paths", ",".join(paths), "--state", state)
    return vnicaudit(*words, env=env)


def test_pods_pass_pod_security_that_is_enforced(
    cluster: Server, ways: tuple[Between, str], tmp_path: Path
) -> None:
    """Admission of the real server: others are refused in that namespace."""
    server, target = ways
    seen: list[Any] = []

    def intercept(asked: Asked) -> Reply | None:
        space = re.fullmatch(r"/api/v1/namespaces/(vnicaudit-bench-[^/]*)", asked.path)
        if asked.method == "DELETE" and space and not seen:
            seen.extend(cluster.ask("GET", f"{asked.path}/pods")["items"])
            plain = {
                "metadata": {"name": "x"},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            }
            with pytest.raises(Refused, match='violates PodSecurity \\\\"restricted'):
                cluster.ask("POST", f"{asked.path}/pods", plain)
        return None

    server.intercept = intercept
    result = plain_run(target, "pod-same", state=tmp_path)
    assert "kubectl://a1" in result.stderr  # not by way of the server between
    assert [one["status"]["phase"] for one in seen] == ["Running", "Running"]
    assert left(cluster) == []


@rows_of_tuples
def test_what_is_missing_is_named(
    cluster: Server, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    target = f"kube:admin?kubeconfig={cluster.admin}"
    paths = () if "--paths" in words else ("--paths", "pod-cross")
    result = inside(*RUN, "--cluster", target, *paths, *words, "--state", tmp_path)
    assert result.returncode in (2, 4)
    assert message in " ".join(result.stderr.split())
    assert left(cluster) == []


def test_a_network_that_cannot_be_attached_is_told_in_the_clusters_words(
    cluster: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vnicaudit.bench.pods.running.START_SECONDS", 3.0)
    cluster.load(attachment(config='{"cniVersion": "0.3.1", "type": "none-such"}'))
    target = f"kube:admin?kubeconfig={cluster.admin}"
    words = ("--cluster", target, "--paths", "nad:shop/lan", "--state", tmp_path)
    result = inside(*RUN, *words)
    told = " ".join(result.stderr.split())
    assert result.returncode == 4
    assert re.search(r"net1-[ab] on node-[ab]: not within 3 s: FailedCreatePodSandBox: ", told)
    assert "none-such" in told
    assert left(cluster) == []


def account(server: Server, name: str, rules: list[dict[str, Any]]) -> str:
    file = server.kubeconfig(name, {"token": server.account(name, rules)})
    return f"kube:{name}?kubeconfig={file}"


def rights(rules: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in rules for group in rule["apiGroups"]
        for resource in rule["resources"] for verb in rule["verbs"]
    }  # fmt: skip


def asked_for(one: Mapping[str, Any]) -> tuple[str, str, str]:
    what = one["objectRef"]
    resource = "/".join(filter(None, (what["resource"], what.get("subresource"))))
    return what.get("apiGroup", ""), resource, one["verb"]


def test_the_shipped_role_is_enough_and_nothing_else_is_asked_for(
    cluster: Server, nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = account(cluster, "bencher", RULES)
    profile = tmp_path / "patient.toml"
    profile.write_text(ONE_STREAM)
    words = (*RUN[:-1], profile)
    config = (
        '{"cniVersion": "0.3.1", "type": "macvlan", "master": "eno2", "mode": "bridge", "ipam":'
        ' {"type": "whereabouts", "range": "192.0.2.0/24"}}'
    )
    cluster.load(attachment(config=config))
    with nodes.virtual_machine():
        result = vnicaudit(
            *words, "--cluster", target, "--paths", "nad:shop/lan,vm-same", "--vm", "root@shop/db",
            "--state", tmp_path, env={**nodes.environment},
        )  # fmt: skip
    assert result.returncode == 0, result.stderr
    for name, value in (
        ("path.nad-shop.lan", "node-a from node-b"), ("path.vm-same", "node-a from node-a"),
        ("image", "tools"), ("networks", "shop/lan"),
    ):  # fmt: skip
        assert re.search(rf"{re.escape(name)} +{value}", result.stdout), result.stdout
    monkeypatch.setattr("vnicaudit.bench.pods.running.START_SECONDS", 0.0)
    inside(*RUN, "--cluster", target, "--paths", "pod-same", "--state", tmp_path)
    assert inside("bench", "clean", target, "--state", tmp_path).returncode == 0
    assert left(cluster) == []
    asked = {asked_for(one) for one in cluster.requests("bencher") if "objectRef" in one}
    asked.discard(("authorization.k8s.io", "selfsubjectaccessreviews", "create"))  # the fixture's
    exec_verbs = {("", "pods/exec", "get"), ("", "pods/exec", "create")}
    assert asked - rights(RULES) == set()
    assert rights(RULES) - asked <= exec_verbs
    assert asked & exec_verbs  # which one depends on the version of kubectl


@rows
def test_whoever_lacks_a_right_is_told_which(
    cluster: Server, tmp_path: Path, resource: str, verb: str
) -> None:
    rules: list[dict[str, Any]] = [
        {"apiGroups": [group], "resources": [one], "verbs": [each]}
        for group, one, each in sorted(rights(RULES)) if (one, each) != (resource, verb)
    ]  # fmt: skip
    target = account(cluster, f"without-{verb}-{resource}", rules)
    words = ("--cluster", target, "--paths", "pod-same", "--state", tmp_path)
    result = inside(*RUN, *words)
    told = " ".join(result.stderr.split())
    assert result.returncode == 4
    if (resource, verb) == ("namespaces", "delete"):
        assert "you may not delete namespaces" in told
        assert "namespace vnicaudit-bench-" not in told.partition("Error: ")[0]
    else:
        assert f'cannot {verb} resource "{resource}"' in told
    assert "docs/how-to/clusters/bench-role.yaml has the rights that are needed" in told
    if (resource, verb) == ("pods", "list"):  # what was created cannot be seen any more
        assert "NOT removed: namespace vnicaudit-bench-" in told
        admin = f"kube:admin?kubeconfig={cluster.admin}"
        assert inside("bench", "clean", admin, "-y", "--state", tmp_path).returncode == 0
    wait_for(lambda: not left(cluster), "nothing is left")


def test_nothing_is_created_without_a_yes(cluster: Server, tmp_path: Path) -> None:
    target = f"kube:admin?kubeconfig={cluster.admin}"
    words = [word for word in RUN if word != "-y"]
    result = inside(*words, "--cluster", target, "--paths", "pod-same", "--state", tmp_path)
    assert result.returncode == 2
    assert "pod a1 on node-a" in " ".join(result.stderr.split())
    assert "not a terminal: pass --yes to go ahead without asking" in result.stderr
    assert left(cluster) == []
    assert not list(tmp_path.iterdir())
