"""A stand-in for what makes pods of objects: scheduler, kubelets, Multus and namespace controller.

It does what a client can tell from the API of Kubernetes 1.36 and Multus 4.2, in few steps:

* a pod gets a node by its ``nodeSelector`` and its required ``nodeAffinity`` (``In``), or waits;
* it gets a space on the node, in which its command runs as the security context asks, an eth0 in
  the network of the pods (or the network of the node) and, by the real plugins, the networks of
  its annotation; then it is Running and Ready;
* an image with ``missing`` in its name is not found; a network that cannot be attached is told in
  an event, and the pod waits;
* a pod that is deleted is killed at once (a kubelet waits for its grace) and goes; a namespace
  that is deleted loses what is in it, then itself;
* when the command ends, or the pod is older than it may be, it has Succeeded or Failed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

from tests.kube.cni import Attachment
from tests.kube.machines import Machine
from tests.kube.pods import Pods
from tests.kube.server import Object, Refused
from tests.kube.spaces import Space
from tests.rig.errors import RigError
from tests.rig.process import log

NETWORKS = "k8s.v1.cni.cncf.io/networks"
STATUS = "k8s.v1.cni.cncf.io/network-status"
_POD, _PODS = "/api/v1/namespaces/{namespace}/pods/{name}", "/api/v1/pods"
_EMPTIED = (
    "/api/v1/namespaces/{}/configmaps",
    "/api/v1/namespaces/{}/secrets",
    "/api/v1/namespaces/{}/serviceaccounts",
    "/api/v1/namespaces/{}/events",
    "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
    "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "/apis/k8s.cni.cncf.io/v1/namespaces/{}/network-attachment-definitions",
)
_NETWORK = "/apis/k8s.cni.cncf.io/v1/namespaces/{namespace}/network-attachment-definitions/{name}"
_MERGE = "application/merge-patch+json"
_EVERY = 0.2
"""Seconds between two looks: a few per cent of a core."""
_SOMEBODY = 65534
"""Whom images name that do not run as root."""


class _Running(NamedTuple):
    """What a pod is here."""

    name: str
    machine: Machine
    space: Space
    attached: Sequence[Attachment]
    since: datetime


class Kubelet:
    """It looks at the server again and again, in a thread. ``limit``: what may go over the link
    of each pod that comes, if it is not empty."""

    def __init__(self, pods: Pods, machines: Sequence[Machine]) -> None:
        self.limit = ""
        self.failure: Exception | None = None
        self.server, self._pods = pods.server, pods
        self._machines = {one.name: one for one in machines}
        self._running: dict[str, _Running] = {}
        self._waiting: set[str] = set()
        self._ends = threading.Event()

    def links(self) -> list[tuple[Machine, Space]]:
        """Of the pods that are there."""
        own = [one for one in self._running.values() if one.space.has_network]
        return [(one.machine, one.space) for one in own]

    def run(self) -> None:
        """Until it is told to end."""
        while not self._ends.wait(_EVERY):
            try:
                self._look()
            except Exception as error:
                self.failure = error
                log(f"the kubelet has ended: {error!r}")
                return

    def end(self) -> None:
        """No pod is there any more, whatever the server knows of them."""
        self._ends.set()

    def end_pods(self) -> None:
        for uid in [*self._running]:
            self._stop(uid)

    def _look(self) -> None:
        listed = self.server.ask("GET", _PODS)["items"]
        uids = {one["metadata"]["uid"] for one in listed}
        for gone in [uid for uid in self._running if uid not in uids]:
            self._stop(gone)
        for pod in listed:
            with _changed_meanwhile():
                self._attend(pod)
        for one in self.server.ask("GET", "/api/v1/namespaces")["items"]:
            if one["status"]["phase"] == "Terminating":
                with _changed_meanwhile():
                    self._empty(one, [pod["metadata"]["namespace"] for pod in listed])

    def _attend(self, pod: Object) -> None:
        meta, phase = pod["metadata"], pod.get("status", {}).get("phase")
        node = pod["spec"].get("nodeName")
        if node is None:
            self._schedule(pod)
        elif node not in self._machines:
            return
        elif "deletionTimestamp" in meta:
            self._stop(meta["uid"])
            only = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
            self.server.ask("DELETE", _POD.format_map(meta), only)
        elif meta["uid"] in self._running:
            self._watch(pod, self._running[meta["uid"]])
        elif phase == "Pending" and meta["uid"] not in self._waiting:
            self._start(pod, self._machines[node])

    def _schedule(self, pod: Object) -> None:
        fits = [name for name in self._machines if _fits(pod["spec"], name)]
        if not fits:
            count = len(self._machines)
            words = f"0/{count} nodes are available: {count} node(s) didn't match Pod's node"
            why = {"reason": "Unschedulable", "message": f"{words} affinity/selector."}
            self._tell(
                pod, "Pending", conditions=[{"type": "PodScheduled", "status": "False", **why}]
            )
            return
        target = {"apiVersion": "v1", "kind": "Node", "name": fits[0]}
        path = f"{_POD.format_map(pod['metadata'])}/binding"
        named = {"metadata": {"name": pod["metadata"]["name"]}}
        self.server.ask("POST", path, {**named, "target": target})

    def _start(self, pod: Object, machine: Machine) -> None:
        meta, spec = pod["metadata"], pod["spec"]
        first = spec["containers"][0]
        if "missing" in first["image"]:
            why = {"reason": "ErrImagePull", "message": f"{first['image']}: not found"}
            self._tell(pod, "Pending", machine, {"waiting": why})
            return
        command = (*first.get("command", ()), *first.get("args", ()))
        space = Space(
            f"{meta['name']}.{meta['uid']}", machine.space, command or ("sleep", "infinity"),
            user=_user(spec, first), joined=bool(spec.get("hostNetwork")),
        )  # fmt: skip
        attached: list[Attachment] = []
        name = f"{meta['namespace']}/{meta['name']}"
        now = datetime.now(timezone.utc)
        self._running[meta["uid"]] = _Running(name, machine, space, attached, now)
        address = machine.address
        if space.has_network:
            link = machine.attach(space, self.limit)
            address = link.address
            own = {"interface": "eth0", "ips": [address], "mac": link.mac, "default": True}
            networks: list[Object] = [{"name": "ovn-kubernetes", **own, "dns": {}}]
            try:
                for wanted in _wanted(meta):
                    interface = wanted.get("interface", f"net{len(networks)}")
                    one = Attachment(
                        self._configuration(wanted, machine), Path(machine.space.network),
                        Path(space.network), interface=interface, container=meta["uid"],
                        wanted={key: wanted[key] for key in ("ips", "mac") if key in wanted},
                    )  # fmt: skip
                    networks.append(_status(wanted, interface, one.add()))
                    attached.append(one)
            except (RigError, Refused) as error:
                self._stop(meta["uid"])
                self._waiting.add(meta["uid"])
                self._complain(meta, f"Failed to create pod sandbox: {error}")
                return
            annotations = {STATUS: json.dumps(networks, indent=4)}
            path, change = _POD.format_map(meta), {"metadata": {"annotations": annotations}}
            self.server.ask("PATCH", path, change, kind=_MERGE)
        self._pods.know(name, space.before)
        state = {"running": {"startedAt": _time(now)}}
        ips = [{"ip": address}]
        self._tell(pod, "Running", machine, state, startTime=_time(now), podIP=address, podIPs=ips)

    def _configuration(self, wanted: Object, machine: Machine) -> dict[str, Any]:
        """Of a network, by its definition. Whereabouts gives addresses of the whole cluster, and
        host-local here those of one node: both are host-local's, in a folder of all or of one."""
        found = self.server.ask("GET", _NETWORK.format_map(wanted))["spec"]["config"]
        config: dict[str, Any] = {"name": wanted["name"]} | json.loads(found)
        for plugin in config.get("plugins", [config]):
            ipam = plugin.get("ipam", {})
            whose = machine.name
            if ipam.get("type") == "whereabouts":
                ipam["type"], ipam["subnet"], whose = "host-local", ipam.pop("range"), "all"
            if ipam.get("type") == "host-local":
                ipam["dataDir"] = str(self.server.folder / "addresses" / whose)
        return config

    def _complain(self, meta: Object, words: str) -> None:
        event = {
            "metadata": {"generateName": f"{meta['name']}."}, "type": "Warning",
            "reason": "FailedCreatePodSandBox", "message": words,
            "involvedObject": {
                "kind": "Pod", "name": meta["name"], "namespace": meta["namespace"],
                "uid": meta["uid"], "apiVersion": "v1",
            },
        }  # fmt: skip
        self.server.ask("POST", f"/api/v1/namespaces/{meta['namespace']}/events", event)

    def _watch(self, pod: Object, running: _Running) -> None:
        code = running.space.process.poll()
        seconds = pod["spec"].get("activeDeadlineSeconds")
        now = datetime.now(timezone.utc)
        late = seconds is not None and now > running.since + timedelta(seconds=seconds)
        if code is None and not late:
            return
        self._stop(pod["metadata"]["uid"])
        self._waiting.add(pod["metadata"]["uid"])
        why = {"reason": "DeadlineExceeded"} if code is None else {}
        state = {"exitCode": 137 if code is None else code, "finishedAt": _time(now)}
        phase = "Succeeded" if code == 0 else "Failed"
        self._tell(pod, phase, running.machine, {"terminated": state}, **why)

    def _stop(self, uid: str) -> None:
        if (running := self._running.pop(uid, None)) is not None:
            self._pods.know(running.name, ())
            for one in running.attached:
                one.delete()
            running.machine.detach(running.space)
            running.space.end()

    def _tell(
        self, pod: Object, phase: str, machine: Machine | None = None, state: Object | None = None,
        **more: object,
    ) -> None:  # fmt: skip
        """The status of a pod, unless that is so already. ``state``: of its containers."""
        status: dict[str, object] = {"phase": phase, **more}
        if machine is not None:
            is_ready = phase == "Running"
            ready = {"ContainersReady": is_ready, "Ready": is_ready}
            facts = {"PodScheduled": True, "Initialized": True, **ready}
            status["conditions"] = [{"type": key, "status": str(facts[key])} for key in facts]
            now = {"state": state, "ready": is_ready, "started": is_ready, "restartCount": 0}
            status["containerStatuses"] = [
                {"name": one["name"], "image": one["image"], "imageID": "", **now}
                for one in pod["spec"]["containers"]
            ]
            status |= {"hostIP": machine.address, "hostIPs": [{"ip": machine.address}]}
        if any(pod.get("status", {}).get(key) != value for key, value in status.items()):
            path = f"{_POD.format_map(pod['metadata'])}/status"
            self.server.ask("PATCH", path, {"status": status}, kind=_MERGE)

    def _empty(self, namespace: Object, of_pods: Sequence[str]) -> None:
        """One that is deleted: its pods, when they are gone the rest, and itself."""
        name = namespace["metadata"]["name"]
        if name in of_pods:
            self.server.ask("DELETE", f"/api/v1/namespaces/{name}/pods")
            return
        for path in _EMPTIED:
            self.server.ask("DELETE", path.format(name))
        left = {**namespace, "spec": {"finalizers": []}}
        self.server.ask("PUT", f"/api/v1/namespaces/{name}/finalize", left)


def _fits(spec: Object, node: str) -> bool:
    selector = spec.get("nodeSelector", {})
    required = (
        spec.get("affinity", {}).get("nodeAffinity", {})
        .get("requiredDuringSchedulingIgnoredDuringExecution", {})
    )  # fmt: skip
    terms = required.get("nodeSelectorTerms", [{}])
    return all(labels(node).get(key) == value for key, value in selector.items()) and any(
        all(
            one["operator"] == "In" and labels(node).get(one["key"], node) in one["values"]
            for one in (*term.get("matchExpressions", ()), *term.get("matchFields", ()))
        )
        for term in terms
    )


def labels(node: str) -> Mapping[str, str]:
    """Of a node."""
    worker = {"node-role.kubernetes.io/worker": "", "kubernetes.io/arch": "amd64"}
    return {"kubernetes.io/hostname": node, "kubernetes.io/os": "linux", **worker}


def _user(spec: Object, container: Object) -> int | None:
    """None: it is root, with all rights."""
    asked = {**spec.get("securityContext", {}), **container.get("securityContext", {})}
    user: int | None = asked.get("runAsUser")
    return _SOMEBODY if user is None and asked.get("runAsNonRoot") else user


def _wanted(meta: Object) -> Iterator[dict[str, Any]]:
    """The networks of the annotation, in JSON or as ``[NAMESPACE/]NAME[@INTERFACE], …``."""
    text: str = meta.get("annotations", {}).get(NETWORKS, "")
    if text.lstrip().startswith("["):
        yield from ({"namespace": meta["namespace"]} | one for one in json.loads(text))
        return
    for one in filter(None, map(str.strip, text.split(","))):
        where, at, interface = one.partition("@")
        namespace, slash, name = where.rpartition("/")
        found = {"namespace": namespace if slash else meta["namespace"], "name": name}
        yield found | ({"interface": interface} if at else {})


def _status(wanted: Object, interface: str, result: Object) -> Object:
    """As ``CreateNetworkStatus`` of network-attachment-definition-client makes it of a result; the
    name is the one that Multus gives its delegate (pkg/types/conf.go)."""
    inside = [one for one in result.get("interfaces", ()) if one.get("sandbox")]
    ips = [one["address"].partition("/")[0] for one in result.get("ips", ())]
    status = {"name": f"{wanted['namespace']}/{wanted['name']}", "interface": interface}
    mac = {"mac": inside[-1]["mac"]} if inside else {}
    return {**status, **({"ips": ips} if ips else {}), **mac, "dns": {}}


@contextmanager
def _changed_meanwhile() -> Iterator[None]:
    """What was changed, or deleted, since it was listed is seen to the next time; in a namespace
    that is deleted nothing can be told."""
    try:
        yield
    except Refused as error:
        if error.status not in (404, 409) and "NamespaceTerminating" not in error.body:
            raise


def _time(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


@contextmanager
def running_kubelet(pods: Pods, machines: Sequence[Machine]) -> Iterator[Kubelet]:
    """One at work."""
    kubelet = Kubelet(pods, machines)
    thread = threading.Thread(target=kubelet.run, daemon=True)
    thread.start()
    try:
        yield kubelet
    finally:
        kubelet.end()
        thread.join()
        kubelet.end_pods()
    if kubelet.failure is not None:
        raise kubelet.failure
