"""A running API server: begun on loopback, asked as its administrator, ended by its process.

    python -m tests.kube.server [FILE...]

runs one until Ctrl-C, with the objects of these files (JSON or YAML), and prints its kubeconfig.
"""

from __future__ import annotations

import base64
import json
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from ruamel.yaml import YAML

from tests.kube import building
from tests.kube.certificates import make_authority, make_certificate
from tests.ports import free_port
from tests.rig.errors import RigError
from tests.rig.process import log, wait_for

Object = Mapping[str, Any]
_IDLE = 30.0
"""Seconds after which a connection is not trusted: the server closes those that nobody uses."""
ADMIN = "admin-token"
_HERE = Path(__file__).parent
_KINDS = _HERE / "kinds.yaml"
KUBEVIRTS = _HERE.parents[2] / "shared/testbeds/kube/crds"
"""Beside the checkout, where it is at hand."""
_POLICY = {
    # written before the request is answered, so that whoever has the answer finds it
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
    "omitStages": ["ResponseStarted", "ResponseComplete", "Panic"],
    "rules": [{"level": "None", "users": ["system:apiserver", "admin"]}, {"level": "Metadata"}],
}  # fmt: skip


class Refused(Exception):
    """The server's answer is an error. ``token``: with which an expired list goes on."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"{status}: {body[:500]}")
        told = json.loads(body) if body.startswith("{") else {}
        self.status, self.reason = status, str(told.get("reason"))
        self.body = body
        self.token = str(told.get("metadata", {}).get("continue", ""))


class Server:
    """An API server that answers. Its administrator may do anything."""

    def __init__(self, folder: Path, port: int, etcd_port: int) -> None:
        self.folder = folder
        self.url = f"https://127.0.0.1:{port}"
        self._port, self._etcd_port = port, etcd_port
        self._local = threading.local()
        self._connections: list[HTTPSConnection] = []
        self._context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        self._served: dict[str, dict[str, tuple[str, bool]]] = {}
        self._loaded: list[str] = []
        self._accounts: set[str] = set()
        self._begun: dict[str, tuple[Path, Sequence[str]]] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.admin = self.kubeconfig("admin", {"token": ADMIN})

    def ask(
        self, method: str, path: str, body: object = None, *, token: str = ADMIN,
        kind: str = "application/json", **query: str,
    ) -> Any:  # fmt: skip
        """The decoded answer to a request. Raises Refused."""
        connection = self._connection()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
        data = None if body is None else json.dumps(body)
        try:
            connection.request(method, f"{path}?{urlencode(query)}", data, headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        except (OSError, HTTPException):
            connection.close()  # the next request opens another one
            raise
        if answer.status >= 400:
            raise Refused(answer.status, text)
        return json.loads(text) if text.startswith(("{", "[")) else text

    def _connection(self) -> HTTPSConnection:
        """That of this thread; one that was idle for a while is opened anew, before the server has
        closed it."""
        now = time.monotonic()
        if not hasattr(self._local, "connection"):
            self._local.connection = HTTPSConnection(
                "127.0.0.1", self._port, context=self._context, timeout=300
            )
            self._connections.append(self._local.connection)
        elif now > self._local.asked + _IDLE:
            self._local.connection.close()
        self._local.asked = now
        return self._local.connection  # type: ignore[no-any-return]

    def begin(self, name: str, program: Path, options: Sequence[str]) -> None:
        """Start a part of it, which ends with this process, however that ends."""
        self._begun[name] = program, options
        with (self.folder / f"{name}.log").open("w") as output:
            self._processes[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", program, *options],
                stdout=output, stderr=output, stdin=subprocess.DEVNULL,
            )  # fmt: skip

    def end(self, name: str = "kube-apiserver") -> None:
        """Kill a part of it: in the midst of what it does."""
        process = self._processes.pop(name)
        process.kill()
        process.wait()

    def begin_again(self, name: str = "kube-apiserver") -> None:
        """Start what was killed, and wait until the server is ready."""
        self.begin(name, *self._begun[name])
        self.wait()

    def wait(self) -> None:
        """Until it is ready. Raises RigError if a part of it has ended."""

        def ready() -> bool:
            for name, process in self._processes.items():
                if process.poll() is not None:
                    said = (self.folder / f"{name}.log").read_text(errors="replace")[-1000:]
                    raise RigError(f"{name} has ended: {said}")
            with suppress(OSError, HTTPException, Refused):
                return bool(self.ask("GET", "/readyz"))
            return False

        wait_for(ready, "the API server is ready")

    def close(self) -> None:
        """Close the connections of all threads, and end. Nothing in it is needed afterwards: an
        orderly end takes seconds."""
        for one in self._connections:
            one.close()
        for name in [*self._processes]:
            self.end(name)

    def kubeconfig(
        self, name: str, user: Mapping[str, object], *, server: str = "", namespace: str = "",
        **cluster: str,
    ) -> Path:  # fmt: skip
        """A kubeconfig file with one context, which has this name."""
        authority = base64.b64encode((self.folder / "ca.crt").read_bytes()).decode()
        context = {"cluster": "c", "user": "u"} | ({"namespace": namespace} if namespace else {})
        place = {"server": server or self.url, "certificate-authority-data": authority} | cluster
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(
            json.dumps({
                "apiVersion": "v1", "kind": "Config", "current-context": name,
                "clusters": [{"name": "c", "cluster": place}],
                "users": [{"name": "u", "user": user}],
                "contexts": [{"name": name, "context": context}],
            })
        )  # fmt: skip
        return path

    def certificate_user(self, name: str, *groups: str) -> dict[str, str]:
        """A user of a kubeconfig who shows a certificate."""
        make_certificate(self.folder, name, *groups)
        return {
            f"client-{what}-data": base64.b64encode(
                (self.folder / f"{name}.{suffix}").read_bytes()
            ).decode()
            for what, suffix in (("certificate", "crt"), ("key", "key"))
        }

    def account(self, name: str, rules: Sequence[Object], *, namespace: str = "") -> str:
        """The token of a service account in the namespace ``accounts``, with these rights, which
        are in force: in one namespace, or everywhere. A name is given once: the rights of one that
        is gone would stay in force for a while."""
        assert name not in self._accounts, name
        self._accounts.add(name)
        self.namespace("accounts")
        where = f"/namespaces/{namespace}" if namespace else ""
        kind = "Role" if namespace else "ClusterRole"
        group, api = "rbac.authorization.k8s.io", "/apis/rbac.authorization.k8s.io/v1"
        named = {"metadata": {"name": name}}
        self._create("/api/v1/namespaces/accounts/serviceaccounts", named)
        self._create(f"{api}{where}/{kind.lower()}s", named | {"rules": list(rules)})
        who = {"kind": "ServiceAccount", "name": name, "namespace": "accounts"}
        bound = {"roleRef": {"apiGroup": group, "kind": kind, "name": name}, "subjects": [who]}
        self._create(f"{api}{where}/{kind.lower()}bindings", named | bound)
        asked = {"spec": {"expirationSeconds": 3600}}
        path = f"/api/v1/namespaces/accounts/serviceaccounts/{name}/token"
        token = str(self.ask("POST", path, asked)["status"]["token"])
        if rules:
            wait_for(lambda: self._may(token, rules[-1], namespace), f"{name} has its rights")
        return token

    def _may(self, token: str, rule: Object, namespace: str) -> bool:
        resource, _slash, part = rule["resources"][-1].partition("/")
        asked = {
            "group": rule["apiGroups"][-1], "resource": resource, "subresource": part,
            "verb": rule["verbs"][-1], "namespace": namespace,
            "name": rule.get("resourceNames", [""])[-1],
        }  # fmt: skip
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        review = {"spec": {"resourceAttributes": asked}}
        return bool(self.ask("POST", path, review, token=token)["status"]["allowed"])

    def namespace(self, name: str) -> None:
        """It exists."""
        with suppress(Refused):
            self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    def load(self, *objects: Object) -> None:
        """Create objects, also what is in lists, each after its owner. The server gives them UIDs;
        owners are named by those that the objects came with."""
        uids: dict[str, str] = {}
        for one in _flat(objects):
            path, has_status = self._path(one)
            metadata = {
                key: value for key, value in one["metadata"].items()
                if key not in ("uid", "resourceVersion", "creationTimestamp", "managedFields")
            }  # fmt: skip
            if owners := metadata.get("ownerReferences"):
                owners = [each | {"uid": uids.get(each["uid"], each["uid"])} for each in owners]
                metadata["ownerReferences"] = owners
            made = self._create(path, {**one, "metadata": metadata})
            uids[str(one["metadata"].get("uid"))] = made["metadata"]["uid"]
            if has_status and "status" in one:
                self.ask(
                    "PATCH", f"{path}/{metadata['name']}/status", {"status": one["status"]},
                    kind="application/merge-patch+json",
                )  # fmt: skip

    def unload(self) -> None:
        """Delete what was created since the last time."""
        while self._loaded:
            with suppress(Refused):
                self.ask("DELETE", self._loaded.pop(), gracePeriodSeconds="0")

    def _create(self, path: str, one: Object) -> Any:
        made = self.ask("POST", path, one)
        self._loaded.append(f"{path}/{made['metadata']['name']}")
        return made

    def _path(self, one: Object) -> tuple[str, bool]:
        """The path of an object's resource, whose namespace exists, and whether its status is one
        of its own."""
        version, kind = one["apiVersion"], one["kind"]
        start = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if kind not in self._served.get(start, {}):
            listed = self.ask("GET", start)["resources"]
            names = {each["name"] for each in listed}
            self._served[start] = {
                each["kind"]: (
                    ("namespaces/{}/" if each["namespaced"] else "") + each["name"],
                    f"{each['name']}/status" in names,
                )
                for each in listed
                if "/" not in each["name"]
            }
        place, has_status = self._served[start][kind]
        if "{}" in place:
            self.namespace(one["metadata"].setdefault("namespace", "default"))
        return f"{start}/{place}".format(one["metadata"].get("namespace")), has_status

    def define(self, definitions: Iterable[Object]) -> None:
        """Load definitions of kinds, in place of those of the same name; they are served when this
        returns."""
        definitions = list(definitions)
        for one in definitions:
            path = f"/apis/{one['apiVersion']}/customresourcedefinitions/{one['metadata']['name']}"
            self.ask(
                "PATCH", path, one, kind="application/apply-patch+yaml", fieldManager="tests",
                force="true",
            )  # fmt: skip
        self.namespace("default")
        wait_for(lambda: all(map(self._is_in_force, definitions)), "the kinds are served")

    def _is_in_force(self, definition: Object) -> bool:
        """Whether the kind is served as it is defined here: one that was defined otherwise before
        counts as established all the time."""
        spec = definition["spec"]
        names, version = spec["names"], next(one for one in spec["versions"] if one["storage"])
        api = f"/apis/{spec['group']}/{version['name']}"
        path = f"{api}/{'namespaces/default/' * (spec['scope'] == 'Namespaced')}{names['plural']}"
        schema = version["schema"]["openAPIV3Schema"]
        takes_anything = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        tried = {
            "apiVersion": api.removeprefix("/apis/"), "kind": names["kind"],
            "metadata": {"name": "tried"}, "unknown-field": 1,
        }  # fmt: skip
        try:
            if names["kind"] not in [one["kind"] for one in self.ask("GET", api)["resources"]]:
                return False
            self.ask("POST", path, tried, dryRun="All", fieldValidation="Strict")
        except Refused as error:
            return error.status in (400, 422) and not takes_anything
        return takes_anything

    def define_kubevirts(self) -> None:
        """Have KubeVirt's own definitions in the place of ours."""
        for file in KUBEVIRTS.glob("*.yaml"):
            self.define(YAML(typ="safe").load_all(file))

    def requests(self, account: str) -> list[dict[str, Any]]:
        """What a service account asked for so far, as the server's audit log has it: ``verb``,
        ``requestURI`` and, but for discovery, ``objectRef``."""
        whole, _newline, _begun = (self.folder / "audit.log").read_text().rpartition("\n")
        lines = map(json.loads, whole.splitlines())
        name = f"system:serviceaccount:accounts:{account}"
        return [one for one in lines if one["user"]["username"] == name]

    def compact(self) -> None:
        """Have etcd forget all but the present: continue tokens from before expire (410)."""
        now = self.ask("GET", "/api/v1/namespaces", limit="1")["metadata"]["resourceVersion"]
        etcd = HTTPConnection("127.0.0.1", self._etcd_port, timeout=60)
        etcd.request("POST", "/v3/kv/compaction", json.dumps({"revision": now, "physical": True}))
        answer = etcd.getresponse()
        if answer.status != 200:
            raise RigError(f"etcd: {answer.read()!r}")
        etcd.close()


def _flat(objects: Sequence[Object]) -> Iterator[Object]:
    for one in objects:
        if one["kind"].endswith("List") or one["kind"] == "List":
            yield from _flat(one["items"])
        else:
            yield one


def our_definitions() -> Iterator[Object]:
    """The kinds of ``kinds.yaml``, whose objects may have anything."""
    kinds = YAML(typ="safe", pure=True).load(_KINDS)
    for group, kind, row in ((g, k, row) for g, kinds in kinds.items() for k, row in kinds.items()):
        versions = [
            {
                "name": version, "served": True, "storage": version == row["versions"][-1],
                "subresources": {"status": {}} if row.get("status") else {},
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": True,
                }},
            }
            for version in row["versions"]
        ]  # fmt: skip
        names = {"kind": kind, "plural": row["plural"], "singular": kind.lower()}
        yield {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{row['plural']}.{group}"},
            "spec": {
                "group": group, "names": names, "versions": versions,
                "scope": row.get("scope", "Namespaced"),
            },
        }  # fmt: skip


@contextmanager
def running_server() -> Iterator[Server]:
    """A server that is ready, and serves our definitions."""
    programs = building.etcd(), building.apiserver()
    folder = Path(tempfile.mkdtemp(prefix="vnicaudit-kube-"))
    began = time.monotonic()
    with ExitStack() as ended:
        ended.callback(shutil.rmtree, folder, ignore_errors=True)
        make_authority(folder)
        make_certificate(folder, "server", server=True)
        make_certificate(folder, "to-kubelets")
        (folder / "tokens.csv").write_text(f"{ADMIN},admin,1,system:masters\n")
        (folder / "policy.json").write_text(json.dumps(_POLICY))
        port, etcd_port = free_port(), free_port()
        server = Server(folder, port, etcd_port)
        ended.callback(server.close)
        server.begin("etcd", programs[0], _etcd_options(folder, etcd_port))
        server.begin("kube-apiserver", programs[1], _server_options(folder, port, etcd_port))
        server.wait()
        server.define(our_definitions())
        log(f"kube-apiserver: ready in {time.monotonic() - began:.1f} s")
        yield server


def _etcd_options(folder: Path, port: int) -> list[str]:
    here, nowhere = f"http://127.0.0.1:{port}", "http://127.0.0.1:0"
    return [
        f"--data-dir={folder}/etcd", "--name=t", "--unsafe-no-fsync", "--log-level=error",
        f"--listen-client-urls={here}", f"--advertise-client-urls={here}",
        f"--listen-peer-urls={nowhere}", f"--initial-advertise-peer-urls={nowhere}",
        f"--initial-cluster=t={nowhere}", "--quota-backend-bytes=2147483648",
    ]  # fmt: skip


def _server_options(folder: Path, port: int, etcd_port: int) -> list[str]:
    """Without controllers nobody makes the service account that pods have by default. What comes
    after a page is read from etcd, and not from a snapshot, so that its tokens can expire."""
    return [
        f"--etcd-servers=http://127.0.0.1:{etcd_port}", f"--secure-port={port}",
        "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
        "--service-cluster-ip-range=10.255.0.0/24", "--endpoint-reconciler-type=none",
        f"--cert-dir={folder}", f"--tls-cert-file={folder}/server.crt",
        f"--tls-private-key-file={folder}/server.key", f"--client-ca-file={folder}/ca.crt",
        f"--token-auth-file={folder}/tokens.csv", "--service-account-issuer=https://localhost",
        f"--service-account-key-file={folder}/accounts.key",
        f"--service-account-signing-key-file={folder}/accounts.key",
        "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount",
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-client-certificate={folder}/to-kubelets.crt",
        f"--kubelet-client-key={folder}/to-kubelets.key",
        "--feature-gates=ListFromCacheSnapshot=false", f"--audit-policy-file={folder}/policy.json",
        f"--audit-log-path={folder}/audit.log",
    ]  # fmt: skip


def main(*files: str) -> None:
    """Run a server by hand."""
    with running_server() as server:
        for file in files:
            server.load(*YAML(typ="safe", pure=True).load_all(Path(file)))
        print(f"KUBECONFIG={server.admin}", flush=True)
        signal.pause()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main(*sys.argv[1:])
