"""Every way into a cluster that a kubeconfig file has, and what of it is told: nothing."""

import json
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.command import vnicaudit
from tests.cli.inside import inside
from tests.kube.objects import SECRET, small_cluster
from tests.kube.server import Server
from tests.kube.test_rights import FOUND, RULES
from tests.not_run import not_run

pytestmark = pytest.mark.kube
OLDEST = "kubernetes==29.0.0"


def finds(cluster: Server, name: str, user: Mapping[str, object], **place: str) -> None:
    """An audit as this user finds the one problem, and tells no secret."""
    file = cluster.kubeconfig(name, user, **place)
    for words in (["audit"], ["audit", "--format", "json"], ["explain"], ["doctor"]):
        result = inside(*words, f"kube:{name}?kubeconfig={file}")
        told = result.stdout + result.stderr
        assert SECRET not in told
        assert str(user.get("token", SECRET)) not in told
        assert "VNIC071" in told or words == ["doctor"], told


def plugin(folder: Path, **status: object) -> dict[str, object]:
    """A user whose credentials a program prints, which counts its runs."""
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status,
    }  # fmt: skip
    (folder / "answer").write_text(json.dumps(answer))
    program = folder / "login"
    program.write_text(
        f"#!/bin/sh\n[ -n \"$KUBERNETES_EXEC_INFO\" ] || exit 1\necho run >> {folder}/runs\n"
        f"echo {SECRET} >&2\ncat {folder}/answer\n"
    )  # fmt: skip
    program.chmod(0o755)
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": version, "command": str(program), "interactiveMode": "Never"}}


def test_a_client_certificate(cluster: Server) -> None:
    cluster.load(*small_cluster())
    finds(cluster, "certified", cluster.certificate_user("certified", "system:masters"))


def test_a_token(cluster: Server) -> None:
    cluster.load(*small_cluster())
    finds(cluster, "teller", {"token": cluster.account("teller", RULES)})


def test_a_plugin_that_prints_a_token(cluster: Server, tmp_path: Path) -> None:
    cluster.load(*small_cluster())
    token = cluster.account("plugged", RULES)
    user = plugin(tmp_path, token=token, expirationTimestamp="2020-01-01T00:00:00Z")
    finds(cluster, "plugged", user)
    assert (tmp_path / "runs").read_text().count("run") >= 4


def test_a_plugin_that_prints_a_certificate(cluster: Server, tmp_path: Path) -> None:
    cluster.load(*small_cluster())
    shown = cluster.certificate_user("plugged-in", "system:masters")
    assert set(shown) == {"client-certificate-data", "client-key-data"}
    certificate, key = (cluster.folder / f"plugged-in.{end}" for end in ("crt", "key"))
    user = plugin(
        tmp_path, clientCertificateData=certificate.read_text(), clientKeyData=key.read_text()
    )
    finds(cluster, "plugged-in", user)


class _Tunnel(BaseHTTPRequestHandler):
    """CONNECT, and bytes both ways."""

    def do_CONNECT(self) -> None:
        host, _colon, port = self.path.partition(":")
        with socket.create_connection((host, int(port))) as there:
            self.send_response(200)
            self.end_headers()
            ends = {self.connection: there, there: self.connection}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    data = end.recv(65536)
                    if not data:
                        return
                    ends[end].sendall(data)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is said."""


@contextmanager
def tunnel() -> Iterator[tuple[str, list[str]]]:
    """The address of a proxy, and the addresses that it was asked for."""
    asked: list[str] = []

    class Handler(_Tunnel):
        def do_CONNECT(self) -> None:
            asked.append(self.path)
            super().do_CONNECT()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as proxy:
        proxy.daemon_threads = True
        thread = threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{proxy.server_port}", asked
        proxy.shutdown()
        thread.join()


def test_a_proxy(cluster: Server) -> None:
    cluster.load(*small_cluster())
    token = cluster.account("behind", RULES)
    with tunnel() as (address, asked):
        finds(cluster, "behind", {"token": token}, **{"proxy-url": address})
    assert set(asked) == {cluster.url.removeprefix("https://")}


def test_a_server_of_another_authority_is_not_told_the_token(cluster: Server) -> None:
    file = cluster.kubeconfig("strange", {"token": SECRET})
    tree = json.loads(file.read_text())
    del tree["clusters"][0]["cluster"]["certificate-authority-data"]
    file.write_text(json.dumps(tree))
    result = inside("audit", f"kube:strange?kubeconfig={file}")
    assert result.returncode == 4
    assert "its certificate is not trusted" in " ".join(result.stdout.split())
    assert SECRET not in result.stdout + result.stderr


def test_a_token_that_is_not_valid_any_more(cluster: Server) -> None:
    file = cluster.kubeconfig("late", {"token": SECRET})
    result = inside("audit", f"kube:late?kubeconfig={file}")
    assert result.returncode == 4
    assert "401" in result.stdout
    assert SECRET not in result.stdout + result.stderr


def test_the_oldest_client(cluster: Server, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target"]
    fetched = subprocess.run([*pip, str(tmp_path), OLDEST], capture_output=True, check=False)
    if fetched.returncode:
        not_run("kube", f"pip cannot fetch {OLDEST} here")
    cluster.load(*small_cluster())
    file = cluster.kubeconfig("old", {"token": cluster.account("old", RULES)})
    result = vnicaudit("audit", f"kube:old?kubeconfig={file}", env={"PYTHONPATH": str(tmp_path)})
    assert FOUND in result.stdout, result.stderr
    used = f"import kubernetes; assert kubernetes.__version__ == '{OLDEST[12:]}'"
    subprocess.run([sys.executable, "-c", used], env={"PYTHONPATH": str(tmp_path)}, check=True)
