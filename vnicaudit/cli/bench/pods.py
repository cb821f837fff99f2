"""``vnicaudit bench run --cluster``: the plan of generator pods, the question, and the run."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from vnicaudit.base.wording import count, time_id
from vnicaudit.bench.judging.stopping import Slot
from vnicaudit.bench.pods.cluster import PodCluster
from vnicaudit.bench.pods.plan import (
    CPU,
    MEMORY,
    ClusterRequest,
    GeneratorPod,
    KnownEnd,
    PodPlan,
    plan_of,
)
from vnicaudit.bench.pods.records import PodsRecord, forget, recorded, this_process
from vnicaudit.bench.pods.running import Leftover, PodRun, generator_pods, others_at_work
from vnicaudit.bench.running.forecast import Forecast
from vnicaudit.bench.running.run import MeasurementRequest, measurement_terms_of
from vnicaudit.cli.bench.options import GeneratorOptions, MeasuringOptions
from vnicaudit.cli.bench.output import about, measure, runs_words
from vnicaudit.cli.options.environment import environment
from vnicaudit.cli.options.records import state_folder
from vnicaudit.cli.output.progress import confirm, tell
from vnicaudit.cli.wiring import Wiring
from vnicaudit.errors import EndpointError, UsageError
from vnicaudit.reports.safe import safe

_HOUR = 3600


def measure_over_cluster(
    options: MeasuringOptions,
    over: GeneratorOptions,
    wiring: Wiring,
    request_of: Callable[[tuple[str, ...]], MeasurementRequest],
) -> int:
    """Start pods, measure, and remove them. ``request_of``: the measurement, from the paths that a
    cluster adds. Returns the exit code."""

    if not over.cluster:
        raise UsageError("--cluster is empty: write kube:CONTEXT")
    if not over.cluster_paths:
        raise UsageError("--cluster needs --paths, such as --paths pod-same,pod-cross")
    wanted = ClusterRequest(
        _parts(over.cluster_paths), (over.pod_image or "").strip(),
        _parts(over.nodes) if over.nodes else (), over.machine or "",
    )  # fmt: skip
    run = time_id(datetime.now(timezone.utc))
    cluster = wiring.pods(over.cluster, environment().deadline)
    plan = plan_of(cluster, wanted, run)
    if plan.pods and shutil.which("kubectl") is None:
        raise EndpointError("kubectl, which reaches pods, is not installed on this machine")
    longest, seconds = _length(request_of(plan.texts({})))
    if not (options.output.quiet and over.yes):
        for line in _told(cluster, plan, longest, seconds):
            tell(safe(line))
    confirm(_question(plan), yes=over.yes)
    state = Path(state_folder(options.state))
    running = PodRun(
        cluster, plan, this_process(), seconds,
        say=(lambda _text: None) if options.output.quiet else _warn, warn=_warn,
        removed=lambda: forget(state, run), clock=time,
    )  # fmt: skip
    with (
        recorded(state, PodsRecord(run, plan.target, cluster.server)),
        generator_pods(running) as addresses,
    ):
        others = others_at_work(cluster, run, datetime.now(timezone.utc))
        for each in others:
            _warn(f"Warning: {_other_words(each)}")
        request = request_of(plan.texts(addresses))
        beside = {"other-runs": ", ".join(each.name for each in others)} if others else {}
        return measure(
            request._replace(labels={**plan.labels, **beside, **request.labels}), options
        )


def _warn(text: str) -> None:
    tell(safe(text))


def _other_words(other: Leftover) -> str:
    return (
        f"{other.name} ({other.owner}) may be measuring as well: two runs at once take speed from "
        f"each other. If it is dead: kubectl delete namespace {other.name}"
    )


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


def _length(request: MeasurementRequest) -> tuple[str, int]:
    """How long the measurement takes, in words, and seconds after which pods may end: far more."""

    terms = measurement_terms_of(request)
    profile = terms.profile
    ahead = Forecast(profile, terms.terms, len(terms.arms)).ahead(
        (), Slot(0, 0, terms.arms[0], profile.workloads[0].id)
    )
    hours = 1 + math.ceil(2 * ahead.remaining / _HOUR)
    words = f"at most {count(ahead.most, 'run')}, {about(ahead.remaining)}, not counting repeats"
    return "; ".join(filter(None, (words, *runs_words(terms)))), hours * _HOUR


def _told(cluster: PodCluster, plan: PodPlan, longest: str, seconds: int) -> list[str]:
    """The lines of the plan."""

    def end(one: GeneratorPod | KnownEnd) -> str:
        what = one.words if isinstance(one, KnownEnd) else f"pod {one.name}"
        return f"{what} ({one.node})"

    rows = [("cluster", f"{plan.target} ({cluster.server})")]
    rows += [("nodes", f"{', '.join(each.name for each in plan.choice.nodes)}: "
              f"{plan.choice.reason}")]  # fmt: skip
    for space, level in plan.namespaces.items():
        why = "; the network of their nodes" if level == "privileged" else ""
        rows.append(("namespace", f"{space}, new, pod security {level}{why}"))
    for pod in plan.pods:
        rows.append(("pod", _pod_words(pod)))
    if plan.pods:
        rows += [
            ("each", f"image {plan.image}, asks for {CPU} CPU and {MEMORY}, no limits; ends by "
             f"itself after {seconds // _HOUR} h"),
            ("removed", "all of these namespaces, at the end, on Ctrl-C and on errors; after a "
             "kill: vnicaudit bench clean"),
        ]  # fmt: skip
    rows += [("path", f"{path.name}: {end(path.peer)} -> {end(path.target)}")
             for path in plan.paths]  # fmt: skip
    now = datetime.now(timezone.utc)
    rows += [("beware", _other_words(each)) for each in others_at_work(cluster, plan.run, now)]
    rows.append(("load", f"as much as each path carries, one at a time: {longest}"))
    return [f"{name:10}{text}" for name, text in rows]


def _pod_words(pod: GeneratorPod) -> str:
    network = f", attached to {pod.network}" if pod.network else ""
    host = ", hostNetwork" if pod.is_host else ""
    return f"{pod.name} on {pod.node}{network}{host}"


def _question(plan: PodPlan) -> str:
    if not plan.pods:
        return "Measure these paths?"
    pods, spaces = count(len(plan.pods), "pod"), count(len(plan.namespaces), "namespace")
    return f"Create {pods} in {spaces} of {plan.target}, and measure?"
