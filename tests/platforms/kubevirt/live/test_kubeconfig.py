"""Contexts, credentials, and what is told of them."""

import json
import logging
from pathlib import Path

import pytest

from tests.platforms.kubevirt.live.api_server import TOKEN, FakeServer, kubeconfig
from vnicaudit.cli.wiring.platforms import cluster_of
from vnicaudit.errors import TargetError
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.platforms.kubevirt.live.client import Cluster, contexts, probe

LIVE = LiveOptions(deadline=20.0)
SECRET = "planted-and-never-shown"


def failure(target: str = "kube:prod") -> TargetError:
    with pytest.raises(TargetError) as raised:
        Cluster(target, LIVE)
    assert SECRET not in str(raised.value)
    assert TOKEN not in str(raised.value)
    return raised.value


@pytest.mark.usefixtures("cluster")
def test_the_current_context_is_named() -> None:
    assert contexts("kube:", LIVE) == ["kube:prod"]
    assert contexts("kube:/web", LIVE) == ["kube:prod/web"]
    assert contexts("kube:team/eu", LIVE) == ["kube:team/eu"]
    assert probe("kube:", LIVE) == "Kubernetes v1.36.3"


def test_several_files(
    cluster: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first file that has a current context decides, as with kubectl."""
    empty = tmp_path / "empty"
    empty.write_text(json.dumps({"clusters": [], "users": [], "contexts": []}))
    second = kubeconfig(tmp_path / "second", cluster.url, "other")
    files = (empty, tmp_path / "config", second, tmp_path / "absent")
    monkeypatch.setenv("KUBECONFIG", ":".join(map(str, files)))
    assert contexts("kube:", LIVE) == ["kube:prod"]
    assert probe("kube:other", LIVE) == "Kubernetes v1.36.3"


def test_another_file(cluster: FakeServer, tmp_path: Path) -> None:
    other = kubeconfig(tmp_path / "second", cluster.url, "mine")
    assert contexts(f"kube:?kubeconfig={other}", LIVE) == [f"kube:mine?kubeconfig={other}"]
    found = Cluster(f"kube:mine/web?kubeconfig={other}", LIVE)
    assert found.namespace == "web"
    assert found.kubectl == f"kubectl --kubeconfig {other} --context mine"


@pytest.mark.usefixtures("cluster")
def test_a_context_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "config"
    assert str(failure("kube:lab")) == (
        f"kube:lab: no context 'lab' in {file} (there: prod, team/eu)"
    )


def test_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    assert contexts("kube:", LIVE) == ["kube:"]
    assert str(failure("kube:")) == f"kube:: no kubeconfig file: {tmp_path}/none does not exist"


@pytest.mark.parametrize(
    "text", [f"a: [{SECRET}", "", f"contexts: {SECRET}", f'{{"users": [{{"x": "{SECRET}"}}]}}']
)
def test_a_file_that_is_no_kubeconfig_is_not_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    monkeypatch.setenv("KUBECONFIG", str(file))
    failure()


def test_a_misspelt_user_is_not_quoted(cluster: FakeServer, tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "config", cluster.url)
    tree = json.loads(file.read_text())
    tree["users"] = [{"name": "u", "usr": {"token": SECRET}}]
    file.write_text(json.dumps(tree))
    assert "Exception" in str(failure()) or "Error" in str(failure())


def plugin(path: Path, script: str) -> dict[str, object]:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(path)}}


def test_a_plugin_gives_the_token(cluster: FakeServer, tmp_path: Path) -> None:
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": TOKEN},
    }
    user = plugin(tmp_path / "login", f"echo '{json.dumps(answer)}'")
    kubeconfig(tmp_path / "config", cluster.url, user=user)
    assert Cluster("kube:prod", LIVE).groups()


@pytest.mark.parametrize("script", [f"echo {SECRET} >&2; exit 1", f"echo {SECRET}", "exit 0"])
def test_the_output_of_a_plugin_that_fails_is_not_shown(
    cluster: FakeServer, tmp_path: Path, script: str,
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    kubeconfig(tmp_path / "config", cluster.url, user=plugin(tmp_path / "login", script))
    handlers = list(logging.getLogger().handlers)
    assert str(failure()) == (
        f"kube:prod: {tmp_path}/config cannot be used (its exec plug-in login failed or gave no "
        "credentials; run kubectl --context prod version)"
    )
    assert SECRET not in "".join(capfd.readouterr()) + caplog.text
    assert logging.getLogger().handlers == handlers


def test_a_plugin_that_hangs(cluster: FakeServer, tmp_path: Path) -> None:
    user = plugin(tmp_path / "login", "exec sleep 30")
    kubeconfig(tmp_path / "config", cluster.url, user=user)
    with pytest.raises(TargetError, match=r"no credentials within 0\.2 s"):
        Cluster("kube:prod", LiveOptions(deadline=0.2))


def test_outside_of_a_pod_it_has_no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert failure("kube:@in-cluster").failure == "authentication"


@pytest.mark.parametrize("name", ["a.yaml", "qemu:///system", "kubectl://pod"])
def test_other_targets_are_none(name: str) -> None:
    assert cluster_of(name) is None


def test_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = kubeconfig(tmp_path / "config", "http://127.0.0.1:1")
    monkeypatch.setenv("KUBECONFIG", str(file))
    with pytest.raises(TargetError, match="the API server cannot be reached: nothing is listening"):
        Cluster("kube:prod", LIVE).groups()
