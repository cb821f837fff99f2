"""Start generator pods, wait until they run, and remove them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

import msgspec

from vnicaudit.base.deadlines import Clock, moment
from vnicaudit.base.wording import count, plain
from vnicaudit.bench.pods.cluster import (
    MANAGED_BY,
    OWNER,
    RUN,
    UNTIL,
    ApiObject,
    PodCluster,
    is_going,
    name_of,
)
from vnicaudit.bench.pods.plan import (
    GeneratorPod,
    PodPlan,
    namespace_manifest,
    own_namespaces,
    pod_manifest,
)
from vnicaudit.errors import EndpointError, TargetError, VnicauditError
from vnicaudit.model.cluster import NETWORK_STATUS
from vnicaudit.model.decoding import json_as, objects_at, text_at, texts_at
from vnicaudit.reaching.process import signals_held

OURS = "=".join(MANAGED_BY) + f",{RUN}"
"""Selects the namespaces of all runs."""
START_SECONDS = 300.0
"""Time for all pods to run: the image may have to be fetched."""
_LATE_SECONDS = 30.0
"""Time for the cluster to make what pods of a new namespace need."""
_END_SECONDS = 45.0
"""Time for pods to end; then they are deleted whatever their nodes do."""
_LAST_SECONDS = 30.0
_AWAY_SECONDS = 60.0
"""Time for an API server that does not answer to come back, before its pods are given up."""
_PAUSE = 0.5
_FINAL = frozenset({
    "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
    "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff",
})  # fmt: skip
"""Reasons for which a container waits that do not pass by themselves (images/types.go,
container/sync_result.go and kuberuntime/kuberuntime_container.go in pkg/kubelet of Kubernetes)."""
_REFUSALS = ("refused", "authentication")
"""Failures of a request that is not worth repeating."""
_LATE = re.compile("error looking up service account|openshift.io/sa.scc")
"""In the refusal of a pod, as long as a controller has not been at its namespace."""


class PodRun(NamedTuple):
    """A run of generator pods. ``owner``: who does it. ``seconds``: after which pods end.
    ``say``: is told what happens; ``warn``: what somebody has to remove; ``removed``: that
    everything was."""

    cluster: PodCluster
    plan: PodPlan
    owner: str
    seconds: int
    say: Callable[[str], object]
    warn: Callable[[str], object]
    removed: Callable[[], object]
    clock: Clock


@contextmanager
def generator_pods(run: PodRun) -> Iterator[Mapping[str, str]]:
    """Pods that run, by their names: their addresses. However this is left, they are removed; if
    that fails, ``warn`` is told. Raises TargetError and EndpointError with the cluster's words."""
    if not run.plan.pods:
        run.removed()
        yield {}
        return
    try:
        _create(run)
        yield _addresses(run, _running(run))
    except BaseException:
        with suppress(VnicauditError):  # it was told; what came first ends the run
            _remove_all(run)
        raise
    _remove_all(run)


def _remove_all(run: PodRun) -> None:
    run.say(f"removing {count(len(run.plan.pods), 'generator pod')}")
    end = run.clock.monotonic() + _AWAY_SECONDS
    try:
        while not _is_removed(run, last=run.clock.monotonic() > end):
            run.clock.sleep(_PAUSE)
        run.removed()
    except BaseException as error:
        why = plain(str(error)) or type(error).__name__
        names = " ".join(run.plan.namespaces)
        run.warn(
            f"NOT removed: namespace {names} ({why}): vnicaudit bench clean removes it, and so "
            f"does, by whoever may: kubectl delete namespace {names}"
        )
        raise


def _is_removed(run: PodRun, *, last: bool) -> bool:
    """False: the API server did not answer, and may soon. Raises TargetError, EndpointError."""
    try:
        for name in remove(run.cluster, run.plan.run, run.clock):
            run.say(f"namespace {name} is empty, and still being deleted by the cluster")
    except TargetError as error:
        if last or error.failure in _REFUSALS:
            raise
        return False
    return True


def _create(run: PodRun) -> None:
    """Create everything. A signal is obeyed between two requests only: afterwards it is known what
    there is."""
    plan, now = run.plan, datetime.now(timezone.utc)
    until = (now + timedelta(seconds=run.seconds + START_SECONDS)).isoformat(timespec="seconds")
    for name in plan.namespaces:
        with signals_held():
            run.cluster.create_namespace(namespace_manifest(plan, name, run.owner, until))
    end = run.clock.monotonic() + _LATE_SECONDS
    for pod in plan.pods:
        while not _was_taken(run, pod, last=run.clock.monotonic() > end):
            run.clock.sleep(_PAUSE)


def _was_taken(run: PodRun, pod: GeneratorPod, *, last: bool) -> bool:
    body = pod_manifest(run.plan, pod, run.seconds)
    try:
        with signals_held():
            run.cluster.create_pod(run.plan.namespace_of(pod), body)
    except TargetError as error:
        if last or _LATE.search(error.message) is None:
            raise
        return False
    return True


def _running(run: PodRun) -> dict[str, ApiObject]:
    """The pods by their names, once all run. Raises EndpointError as soon as one cannot, or if one
    is on another node than its path says."""
    end = run.clock.monotonic() + START_SECONDS
    run.say(f"waiting for {count(len(run.plan.pods), 'generator pod')}")
    while True:
        found = {
            name_of(pod): pod for space in run.plan.namespaces for pod in run.cluster.pods(space)
        }
        waiting = [pod for pod in run.plan.pods if not _runs(found.get(pod.name))]
        if not waiting:
            break
        for pod in waiting:
            if why := _why_never(found.get(pod.name)):
                raise _not_running(pod, why)
        if run.clock.monotonic() > end:
            first = waiting[0]
            said = _warning(run, first) or "the cluster does not say why"
            raise _not_running(first, f"not within {START_SECONDS:g} s: {said}")
        run.clock.sleep(_PAUSE)
    for pod in run.plan.pods:
        node = text_at(found[pod.name], "/spec/nodeName")
        if node != pod.node:
            raise _not_running(pod, f"the cluster runs it on {node or 'no node that it tells'}")
    return found


def _runs(pod: ApiObject | None) -> bool:
    return text_at(pod, "/status/phase") == "Running" and bool(text_at(pod, "/status/podIP"))


def _why_never(pod: ApiObject | None) -> str:
    """Why a pod will not run; empty: it may, or it is not known."""
    if pod is None or is_going(pod):
        return "somebody deleted it"
    phase, containers = text_at(pod, "/status/phase"), objects_at(pod, "/status/containerStatuses")
    if phase in ("Failed", "Succeeded"):
        words = [text_at(pod, "/status/reason"), text_at(pod, "/status/message")]
        words += [text_at(each, "/state/terminated/message") for each in containers]
        return f"it ended: {' '.join(filter(None, words)) or phase}"
    for each in objects_at(pod, "/status/conditions"):
        told = tuple(text_at(each, f"/{key}") for key in ("type", "status", "reason"))
        if told == ("PodScheduled", "False", "Unschedulable"):
            return f"Unschedulable: {text_at(each, '/message')}"
    for each in containers:
        if (reason := text_at(each, "/state/waiting/reason")) in _FINAL:
            return f"{reason}: {text_at(each, '/state/waiting/message')}"
    return ""


def _not_running(pod: GeneratorPod, why: str) -> EndpointError:
    return EndpointError(f"generator pod {pod.name} on {plain(pod.node)}: {plain(why)}")


def _warning(run: PodRun, pod: GeneratorPod) -> str:
    """The last warning about a pod; empty: there is none."""
    with suppress(VnicauditError):
        events = run.cluster.warnings(run.plan.namespace_of(pod))
        about = [each for each in events if text_at(each, "/involvedObject/name") == pod.name]
        if about:
            return f"{text_at(about[-1], '/reason')}: {text_at(about[-1], '/message')}"
    return ""


def _addresses(run: PodRun, found: Mapping[str, ApiObject]) -> dict[str, str]:
    addresses: dict[str, str] = {}
    pods_at: dict[tuple[str, str], GeneratorPod] = {}
    for pod in run.plan.pods:
        if not pod.network:
            addresses[pod.name] = text_at(found[pod.name], "/status/podIP")
            continue
        address = addresses[pod.name] = _of_network(pod, found[pod.name])
        if pods_at.setdefault((pod.network, address), pod) is not pod:
            raise EndpointError(
                f"both pods got {address} in {pod.network}: its IPAM is per node, as host-local is;"
                " use whereabouts, or a range for each node"
            )
    return addresses


class _NetworkStatus(msgspec.Struct, frozen=True):
    """A network of a pod, in its annotation (types.go of network-attachment-definition-client
    2245129a)."""

    name: str
    ips: tuple[str, ...] = ()
    default: bool = False


def _of_network(pod: GeneratorPod, found: ApiObject) -> str:
    """The address of a pod in the network that it is attached to. Raises EndpointError."""
    text = texts_at(found, "/metadata/annotations").get(NETWORK_STATUS, "")
    try:
        told = json_as(text.encode(), tuple[_NetworkStatus, ...])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise _not_running(
            pod, f"its annotation {NETWORK_STATUS} does not tell its networks: is Multus at work?"
        ) from None
    others = [each for each in told if not each.default]
    own = [each for each in others if each.name == pod.network] or others
    if len(own) != 1:
        raise _not_running(pod, f"{len(own)} of its networks may be {pod.network}, instead of one")
    if not own[0].ips:
        raise EndpointError(f"{pod.network} gives no address: its CNI configuration has no IPAM")
    return own[0].ips[0]


def remove(cluster: PodCluster, run: str, clock: Clock) -> list[str]:
    """Remove all namespaces of a run, with everything in them. Namespaces come first, so that
    nothing more is created there; when this returns, no pod is left. Returns the namespaces that
    the cluster has not finished with. Raises TargetError, EndpointError."""
    spaces = _namespaces(cluster, run)
    for name in spaces:
        cluster.delete_namespace(name)
    forced_from = clock.monotonic() + _END_SECONDS
    while left := [(name, pod) for name in spaces for pod in cluster.pods(name)]:
        is_forced = clock.monotonic() > forced_from
        if clock.monotonic() > forced_from + _LAST_SECONDS:
            names = ", ".join(f"{name}/{name_of(pod)}" for name, pod in left)
            raise EndpointError(f"{cluster.target}: not removed: {plain(names)}")
        for name, pod in left:
            if is_forced or not is_going(pod):
                cluster.delete_pod(name, name_of(pod), 0 if is_forced else None)
        clock.sleep(_PAUSE)
    end = clock.monotonic() + _LAST_SECONDS
    while (remaining := _namespaces(cluster, run)) and clock.monotonic() < end:
        clock.sleep(_PAUSE)
    return remaining


def _namespaces(cluster: PodCluster, run: str) -> list[str]:
    """Those with the labels and the names of a run: others may have put our labels on theirs."""
    labels = f"{'='.join(MANAGED_BY)},{RUN}={run}"
    found = map(name_of, cluster.namespaces(labels))
    return [name for name in found if name in own_namespaces(run)]


# What killed runs left.


class Leftover(NamedTuple):
    """A namespace of a run. ``at_work``: why it is not removed; empty: it was left."""

    name: str
    run: str
    owner: str
    pods: int
    at_work: str


def leftovers(
    cluster: PodCluster, alive: Sequence[str], ended: Sequence[str], now: datetime
) -> list[Leftover]:
    """The namespaces of all runs. ``alive``, ``ended``: runs of this machine; others are at work
    until their pods end. Raises TargetError, EndpointError."""
    found = []
    for space in cluster.namespaces(OURS):
        name, run = name_of(space), texts_at(space, "/metadata/labels").get(RUN, "")
        told = texts_at(space, "/metadata/annotations")
        until = told.get(UNTIL, "")
        if name not in own_namespaces(run):
            continue  # somebody's own, with our labels
        pods = len(cluster.pods(name))
        if is_going(space) and not pods:
            continue  # the cluster is about to finish
        at_work = ""
        if run in alive:
            at_work = "is at work"
        elif run not in ended and not _is_over(until, now):
            at_work = (
                f"not a run of this state folder; it may be at work until {plain(until)}; if it is "
                f"dead: kubectl delete namespace {name}"
            )
        found.append(Leftover(name, run, plain(told.get(OWNER, "?")), pods, at_work))
    return found


def others_at_work(cluster: PodCluster, run: str, now: datetime) -> list[Leftover]:
    """The namespaces of other runs that may be measuring now. Raises TargetError, EndpointError."""
    found = leftovers(cluster, (), (), now)
    return [each for each in found if each.run != run and each.at_work]


def _is_over(until: str, now: datetime) -> bool:
    """True if that time has passed; one that cannot be read is not known to have."""
    try:
        return moment(until) < now
    except (ValueError, TypeError):
        return False
