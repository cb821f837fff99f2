"""What of KubeVirt answers and acts here: stand-ins for its virt-api and its virt-controller.

The API server passes ``subresources.kubevirt.io`` on to the first, by its own aggregation. It
answers a restart as ``RestartVMRequestHandler`` does (kubevirt/kubevirt v1.9.0, 79d34c17:
pkg/virt-api/rest/lifecycle.go); rights are the API server's, virt-api's own review of them is not
repeated. The second does what pkg/virt-controller/watch/vm/vm.go there does with a virtual machine
and its instance, one step at a time: when is said by ``step``, how far by a ``Course``.
"""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from tests.kube.objects import Object, instance_of, interface, virtual_machine
from tests.kube.server import Refused, Server
from tests.rig.process import wait_for

GROUP = "subresources.kubevirt.io"
VMS = "/apis/kubevirt.io/v1/namespaces/{}/virtualmachines/{}"
VMIS = "/apis/kubevirt.io/v1/namespaces/{}/virtualmachineinstances"
_ADMISSION = Path(__file__).with_name("admission.yaml")
_JSON_PATCH, _MERGE_PATCH = "application/json-patch+json", "application/merge-patch+json"
_FINALIZER = "foregroundDeleteVirtualMachine"
_REASONS = {400: "BadRequest", 404: "NotFound", 409: "Conflict", 500: "InternalError"}
_RECOVERY = (
    "VM recovery required: Volume migration failed, leaving some volumes pointing to non-consistent"
    " targets; manual intervention is needed to reassign them to their original volumes."
)


class Course(NamedTuple):
    """What becomes of virtual machines. ``ends_before``: the step that is never taken, one of
    ``deleting``, ``gone``, ``created``, ``running``, ``agent``. ``keeps_nics``: a new instance has
    the devices of the first one. ``condition``: what RestartRequired does, which else ``never
    comes`` or ``never goes``."""

    ends_before: str = ""
    keeps_nics: bool = False
    condition: str = "comes and goes"
    version: tuple[int, int] = (1, 9)


class _Answer(Exception):
    """An error of virt-api: its code, and the words of its status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.status = {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": _REASONS[code], "code": code,
        }  # fmt: skip


class Virt:
    """The stand-ins, for the virtual machines of a server. ``is_prompt``: all steps are taken
    before a restart is answered; ``asked``: the restarts that were begun, as ``NAMESPACE/NAME``."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.clear()

    def clear(self) -> None:
        """The usual course, and nothing was asked."""
        self.course, self.is_prompt = Course(), False
        self.asked: list[str] = []
        self._first: dict[str, Object] = {}
        for one in self._all("virtualmachineinstances"):
            path = f"{VMIS.format(one['metadata']['namespace'])}/{one['metadata']['name']}"
            self._change(path, {"metadata": {"finalizers": None}})
            with suppress(Refused):
                self.server.ask("DELETE", path)

    def run(self, vm: Object) -> None:
        """The virtual machine is there, and runs."""
        self.server.load(vm)
        self.settle()

    def wait(self) -> None:
        """Until the API server passes on what is asked of it."""
        wait_for(lambda: _is_listed(self.server) and _is_served(self.server), f"{GROUP} is served")

    def settle(self) -> None:
        """Take steps until nothing more happens."""
        while self.step():
            pass

    # virt-api

    def restart(self, namespace: str, name: str, body: bytes) -> None:
        """Have an instance replaced. Raises _Answer."""
        options = _options(body)
        path = VMS.format(namespace, name)
        vm = self._found(path)
        if vm is None:
            raise _Answer(404, f'virtualmachine.kubevirt.io "{name}" not found')
        _check(vm)
        instance = self._instance(vm)
        if instance is None:
            raise _conflict(vm, "VM is not running: Halted")
        dry = {"dryRun": "All"} if options.get("dryRun") == ["All"] else {}
        if options.get("gracePeriodSeconds") == 0:
            soon = {"spec": {"terminationGracePeriodSeconds": 1}}
            self._change(self._path(instance), soon, **dry)
        patch = _change_request(vm, instance)
        try:
            self.server.ask("PATCH", f"{path}/status", patch, kind=_JSON_PATCH, **dry)
        except Refused as error:
            raise _failure(str(error)) from error
        if not dry:
            self.asked.append(f"{namespace}/{name}")
            if self.is_prompt:
                self.settle()

    # virt-controller

    def step(self) -> bool:
        """Take the next step with each virtual machine; whether there was one to take."""
        taken = [self._step(vm) for vm in self._all("virtualmachines")]
        return any(taken)

    def _step(self, vm: Object) -> bool:
        instance = self._instance(vm)
        requests = vm.get("status", {}).get("stateChangeRequests") or []
        if requests and _is_done(requests[0], instance):
            return self._told(vm, stateChangeRequests=requests[1:])
        asked = requests[0]["action"] if requests else ""
        step = self._next(vm, instance, asked)
        if step and step != self.course.ends_before:
            getattr(self, f"_{step}")(vm, instance)
            return True
        return self._condition(vm, instance)

    def _next(self, vm: Object, instance: Object | None, asked: str) -> str:
        if instance is None:
            return (
                "created" if asked == "Start" or _strategy(vm) not in ("Halted", "Manual") else ""
            )
        if "deletionTimestamp" in instance["metadata"]:
            return "gone"
        if asked == "Stop":
            return "deleting"
        if instance["status"]["phase"] != "Running":
            return "running"
        return "" if _has(instance, "AgentConnected") else "agent"

    def _deleting(self, vm: Object, instance: Object) -> None:
        """It is there until its pod has ended."""
        self._told(vm, printableStatus="Stopping", ready=False)
        self.server.ask("DELETE", self._path(instance))

    def _gone(self, vm: Object, instance: Object) -> None:
        self._change(self._path(instance), {"metadata": {"finalizers": None}})
        self._told(vm, printableStatus="Stopped", created=False)

    def _created(self, vm: Object, _instance: None) -> None:
        made = instance_of(vm)
        nics = self._first.setdefault(vm["metadata"]["uid"], made["spec"]["domain"]["devices"])
        if self.course.keeps_nics:
            made["spec"]["domain"]["devices"] = nics
        made["metadata"]["finalizers"] = [_FINALIZER]
        made["status"] = {"phase": "Scheduling", "conditions": []}
        self.server.ask("POST", VMIS.format(vm["metadata"]["namespace"]), made)
        kept = [
            one for one in vm.get("status", {}).get("conditions", [])
            if one["type"] != "RestartRequired" or self.course.condition == "never goes"
        ]  # fmt: skip
        self._told(vm, printableStatus="Starting", created=True, conditions=kept)

    def _running(self, vm: Object, instance: Object) -> None:
        status = instance_of({**vm, "spec": {"template": {"spec": instance["spec"]}}})["status"]
        for each in status["interfaces"]:
            each["infoSource"] = "domain"
        self._change(self._path(instance), {"status": status})
        self._told(vm, printableStatus="Running", ready=True)

    def _agent(self, _vm: Object, instance: Object) -> None:
        source = {"infoSource": "domain, guest-agent"}
        interfaces = [each | source for each in instance["status"]["interfaces"]]
        conditions = [{"type": "AgentConnected", "status": "True"}]
        guest = {"id": "fedora", "versionId": "40", "kernelRelease": "6.8.5-301.fc40.x86_64"}
        status = {"interfaces": interfaces, "conditions": conditions, "guestOSInfo": guest}
        self._change(self._path(instance), {"status": status})

    def _condition(self, vm: Object, instance: Object | None) -> bool:
        """RestartRequired comes from 1.2 on, and goes with the change from 1.8 on."""
        if instance is None or self.course.condition == "never comes":
            return False
        template = vm["spec"]["template"]["spec"]
        wanted = any(template[key] != instance["spec"][key] for key in ("domain", "networks"))
        if _has(vm, "RestartRequired") == wanted or self.course.version < (1, 2):
            return False
        if not wanted and (self.course.version < (1, 8) or self.course.condition == "never goes"):
            return False
        others = [
            one for one in vm.get("status", {}).get("conditions", [])
            if one["type"] != "RestartRequired"
        ]  # fmt: skip
        told = {
            "type": "RestartRequired", "status": "True",
            "message": "a non-live-updatable field was changed in the template spec",
        }  # fmt: skip
        return self._told(vm, conditions=[*others, *([told] if wanted else [])])

    # Objects

    def _all(self, plural: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.server.ask("GET", f"/apis/kubevirt.io/v1/{plural}")[
            "items"
        ]
        return found

    def _found(self, path: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self.server.ask("GET", path)
        except Refused as error:
            if error.status != 404:
                raise
            return None
        return found

    def _instance(self, vm: Object) -> dict[str, Any] | None:
        meta = vm["metadata"]
        return self._found(f"{VMIS.format(meta['namespace'])}/{meta['name']}")

    def _path(self, instance: Object) -> str:
        meta = instance["metadata"]
        return f"{VMIS.format(meta['namespace'])}/{meta['name']}"

    def _told(self, vm: Object, **status: object) -> bool:
        """In the status of a virtual machine."""
        path = VMS.format(vm["metadata"]["namespace"], vm["metadata"]["name"])
        self._change(f"{path}/status", {"status": status})
        return True

    def _change(self, path: str, what: Mapping[str, object], **query: str) -> None:
        self.server.ask("PATCH", path, what, kind=_MERGE_PATCH, **query)


def _is_done(request: Object, instance: Object | None) -> bool:
    """``isTrimFirstChangeRequestNeeded``."""
    if request["action"] == "Stop":
        return instance is None or request["uid"] != instance["metadata"]["uid"]
    return instance is not None and "deletionTimestamp" not in instance["metadata"]


def _options(body: bytes) -> dict[str, Any]:
    try:
        options: dict[str, Any] = json.loads(body or b"{}")
    except ValueError as error:
        words = f"Can not unmarshal Request body to struct, error: {error}"
        raise _Answer(400, words) from None
    grace = options.get("gracePeriodSeconds") or 0
    if grace > 0:
        raise _Answer(400, "For force restart, only gracePeriod=0 is supported for now")
    if grace < 0:
        raise _Answer(400, "gracePeriod has to be greater or equal to 0")
    return options


def _check(vm: Object) -> None:
    """Raises _Answer for one that is not restarted."""
    if _has(vm, "VolumesChange"):
        raise _conflict(vm, _RECOVERY)
    if "running" in vm["spec"] and "runStrategy" in vm["spec"]:
        raise _failure("running and runstrategy are mutually exclusive")
    strategy = _strategy(vm)
    if strategy in ("Halted", "Once"):
        raise _conflict(vm, f"RunStategy {strategy} does not support manual restart requests")


def _change_request(vm: Object, instance: Object) -> list[Object]:
    """The patch by which virt-controller is told (``getChangeRequestJson``)."""
    status, place = vm.get("status") or {}, "/status/stateChangeRequests"
    present = status.get("stateChangeRequests")
    if present:
        raise _failure("unable to complete request: stop/start already underway")
    wanted = [{"action": "Stop", "uid": instance["metadata"]["uid"]}, {"action": "Start"}]
    if not status:
        return [{"op": "add", "path": "/status", "value": {"stateChangeRequests": wanted}}]
    fails = [{"op": "remove", "path": "/status/startFailure"}] if "startFailure" in status else []
    return [
        {"op": "test", "path": place, "value": present},
        {"op": "add", "path": place, "value": wanted},
        *fails,
    ]


def _conflict(vm: Object, words: str) -> _Answer:
    which = f'virtualmachine.kubevirt.io "{vm["metadata"]["name"]}"'
    return _Answer(409, f"Operation cannot be fulfilled on {which}: {words}")


def _failure(words: str) -> _Answer:
    return _Answer(500, f"Internal error occurred: {words}")


def _has(found: Object, condition: str) -> bool:
    every = found.get("status", {}).get("conditions") or []
    return any((one["type"], one["status"]) == (condition, "True") for one in every)


def _strategy(vm: Object) -> str:
    if "running" in vm["spec"]:
        return "Always" if vm["spec"]["running"] else "Halted"
    return str(vm["spec"].get("runStrategy", "Halted"))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    virt: Virt

    def do_GET(self) -> None:
        """What is served, as virt-api tells it (pkg/virt-api/api.go)."""
        one = {"name": "virtualmachines/restart", "namespaced": True}
        words = {"singularName": "", "kind": "", "verbs": []}
        self._say(200, {
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/v1",
            "resources": [one | words],
        })  # fmt: skip

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        *_start, namespace, _vms, name, _restart = self.path.partition("?")[0].split("/")
        try:
            self.virt.restart(namespace, name, body)
        except _Answer as error:
            self._say(error.code, error.status)
        else:
            self._say(202)

    def _say(self, code: int, what: object = None) -> None:
        data = b"" if what is None else json.dumps(what).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is said."""


@contextmanager
def running_virt(server: Server) -> Iterator[Virt]:
    """The stand-ins, behind the API server."""
    virt = Virt(server)
    handler = type("Handler", (_Handler,), {"virt": virt})
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    shown.load_cert_chain(server.folder / "server.crt", server.folder / "server.key")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as web:
        web.daemon_threads = True
        web.socket = shown.wrap_socket(web.socket, server_side=True)
        thread = threading.Thread(target=web.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        with _aggregated(virt, web.server_port):
            yield virt
        web.shutdown()
        thread.join()


def guard(server: Server) -> None:
    """Have rules of admission in force in the namespace ``guarded`` (admission.yaml)."""
    api = "/apis/admissionregistration.k8s.io/v1"
    server.namespace("guarded")
    for one in YAML(typ="safe", pure=True).load_all(_ADMISSION):
        bound = "bindings" if one["kind"].endswith("Binding") else "policies"
        what = "validatingadmissionpolicy" if bound == "bindings" else "validatingadmission"
        server.ask("POST", f"{api}/{what}{bound}", one)

    def refused() -> bool:
        strange = virtual_machine("tried", interface(model="strange"), namespace="guarded")
        try:
            server.ask("POST", VMS.format("guarded", ""), strange, dryRun="All")
        except Refused as error:
            return "is not supported" in error.body
        return False

    wait_for(refused, "rules of admission are in force")


@contextmanager
def _aggregated(virt: Virt, port: int) -> Iterator[None]:
    """The API server passes on what is asked of the group, and serves it no more at the end."""
    server = virt.server
    server.namespace("kubevirt")
    spec = {
        "type": "ExternalName", "externalName": "localhost",
        "ports": [{"port": port, "protocol": "TCP"}],
    }  # fmt: skip
    authority = base64.b64encode((server.folder / "ca.crt").read_bytes()).decode()
    api = {
        "group": GROUP, "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15,
        "service": {"name": "virt-api", "namespace": "kubevirt", "port": port},
        "caBundle": authority,
    }  # fmt: skip
    made = {
        "/api/v1/namespaces/kubevirt/services": ("virt-api", spec),
        "/apis/apiregistration.k8s.io/v1/apiservices": (f"v1.{GROUP}", api),
    }
    for path, (name, wanted) in made.items():
        server.ask("POST", path, {"metadata": {"name": name}, "spec": wanted})

    virt.wait()
    yield
    for path, (name, _spec) in made.items():
        server.ask("DELETE", f"{path}/{name}")
    wait_for(lambda: not _is_listed(server), f"{GROUP} is served no more")


def _is_listed(server: Server) -> bool:
    return GROUP in [one["name"] for one in server.ask("GET", "/apis")["groups"]]


def _is_served(server: Server) -> bool:
    with suppress(Refused):
        server.ask("GET", f"/apis/{GROUP}/v1")
        return True
    return False
