"""A cluster of this process: objects in dictionaries, and a clock that nobody waits for."""

from collections.abc import Callable, Mapping
from typing import Any

from vnicaudit.errors import TargetError

Object = dict[str, Any]


def node(name: str, *, taint: str = "", cordoned: bool = False, **labels: str) -> Object:
    """One that is ready. Of labels, ``arch`` and ``os`` stand for their whole names."""
    own = {"kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64"}
    own |= {f"kubernetes.io/{key}": text for key, text in labels.items()}
    taints = [{"key": taint, "effect": "NoSchedule"}] if taint else []
    number = sum(map(ord, name)) % 250
    return {
        "metadata": {"name": name, "labels": own},
        "spec": {"unschedulable": cordoned, "taints": taints},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [
                {"type": "Hostname", "address": name},
                {"type": "InternalIP", "address": f"192.0.2.{number}"},
            ],
        },
    }  # fmt: skip


class CannedCluster:
    """``lives``: what becomes of a pod that is created: its status. ``goes``: whether it does when
    it is asked to; ``finishes``: whether an empty namespace does. ``at_call`` is called before each
    request, and may raise."""

    target, server, context = "kube:prod", "https://192.0.2.1:6443", "prod"

    def __init__(self, *nodes: Object) -> None:
        self.of_nodes = list(nodes) or [node("n1"), node("n2")]
        self.groups: set[str] = set()
        self.networks: set[str] = set()
        self.instances: dict[str, Object] = {}
        self.spaces: dict[str, Object] = {}
        self.of_pods: dict[tuple[str, str], Object] = {}
        self.events: list[Object] = []
        self.calls: list[str] = []
        self.goes = self.finishes = self.may = True
        self.elsewhere: dict[str, str] = {}
        """Pods that get another node than they ask for."""
        self.at_call: Callable[[str], None] = lambda _call: None
        self.lives: Callable[[str], Object] = lambda _name: {
            "phase": "Running",
            "podIP": "10.0.0.1",
        }

    def _called(self, *words: str) -> None:
        self.calls.append(" ".join(words))
        self.at_call(self.calls[-1])

    def serves(self, group: str) -> bool:
        return group in self.groups

    def may_remove(self) -> bool:
        return self.may

    def nodes(self) -> list[Object]:
        return self.of_nodes

    def namespaces(self, selector: str) -> list[Object]:
        wanted = dict(each.partition("=")[::2] for each in selector.split(","))
        return [
            one for name, one in self.spaces.items()
            if not (self._is_empty(name) and self.finishes)
            and all(
                key in one["metadata"]["labels"]
                and text in ("", one["metadata"]["labels"][key])
                for key, text in wanted.items()
            )
        ]  # fmt: skip

    def _is_empty(self, name: str) -> bool:
        """And about to go."""
        return "deletionTimestamp" in self.spaces[name]["metadata"] and not self.pods(name)

    def pods(self, namespace: str) -> list[Object]:
        return [one for (space, _name), one in self.of_pods.items() if space == namespace]

    def warnings(self, namespace: str) -> list[Object]:
        assert namespace in self.spaces
        return self.events

    def network(self, namespace: str, name: str) -> Object | None:
        return {} if f"{namespace}/{name}" in self.networks else None

    def instance(self, namespace: str, name: str) -> Object | None:
        return self.instances.get(f"{namespace}/{name}")

    def create_namespace(self, body: Mapping[str, Any]) -> None:
        self._called("create", body["metadata"]["name"])
        self.spaces[body["metadata"]["name"]] = dict(body)

    def create_pod(self, namespace: str, body: Mapping[str, Any]) -> None:
        name = body["metadata"]["name"]
        self._called("create", f"{namespace}/{name}")
        if self.spaces[namespace]["metadata"].get("deletionTimestamp"):
            raise TargetError(f"{namespace} is being terminated")
        metadata = {"namespace": namespace, **body["metadata"]}
        status = self.lives(name)
        metadata["annotations"] = {
            **metadata.get("annotations", {}), **status.pop("annotations", {}),
        }  # fmt: skip
        placed = {"nodeName": self.elsewhere.get(name, asked_node(body))}
        self.of_pods[namespace, name] = {
            **body, "metadata": metadata, "spec": placed, "status": status,
        }  # fmt: skip

    def delete_namespace(self, name: str) -> None:
        self._called("delete", name)
        self.spaces[name]["metadata"]["deletionTimestamp"] = "now"

    def delete_pod(self, namespace: str, name: str, grace: int | None = None) -> None:
        self._called("delete", f"{namespace}/{name}", *([] if grace is None else [str(grace)]))
        self.of_pods[namespace, name]["metadata"]["deletionTimestamp"] = "now"
        if self.goes or grace == 0:
            del self.of_pods[namespace, name]


def asked_node(body: Mapping[str, Any]) -> str:
    """The only node that a pod may run on; empty: any."""
    try:
        affinity = body["spec"]["affinity"]["nodeAffinity"]
    except KeyError:
        return ""
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    ((only,),) = term.values()
    assert (only["key"], only["operator"]) == ("metadata.name", "In")
    (name,) = only["values"]
    return str(name)


class Hurried:
    """Time passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.now += seconds
