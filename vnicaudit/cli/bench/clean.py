"""``vnicaudit bench clean``: remove generator pods that killed runs left in clusters."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, NamedTuple

import click
import msgspec

from vnicaudit.base.wording import count
from vnicaudit.bench.pods.cluster import PodCluster
from vnicaudit.bench.pods.records import KnownRuns, forget, known_runs
from vnicaudit.bench.pods.running import Leftover, leftovers, remove
from vnicaudit.cli.options.environment import environment
from vnicaudit.cli.options.output import OutputOptions
from vnicaudit.cli.options.records import SectionedCommand, option, state_folder, takes
from vnicaudit.cli.output.files import emit
from vnicaudit.cli.output.progress import confirm, tell
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import EndpointError, TargetError, VnicauditError
from vnicaudit.reports.safe import safe

_EPILOG = """\b
Examples:
  vnicaudit bench clean                 in all clusters in which runs of this machine were killed
  vnicaudit bench clean kube:prod       in this cluster, whoever ran it

\b
Exit codes: 0 nothing is left, 2 usage, 4 a cluster could not be reached or cleaned, 130 the answer
was no."""


class BenchCleanOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit bench clean``."""

    clusters: tuple[str, ...]
    yes: Annotated[bool, option("Do not ask before anything is removed.", "--yes", "-y")]
    state: str | None
    output: OutputOptions


class _Visited(NamedTuple):
    cluster: PodCluster
    leftovers: list[Leftover]


@click.command("clean", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("clusters", metavar="[kube:CONTEXT]...", nargs=-1)
@pass_wiring
@takes(BenchCleanOptions)
def command(options: BenchCleanOptions, wiring: Wiring) -> int:
    """Remove the generator pods, and their namespaces, that killed runs left in clusters.

    Only namespaces with the name and both labels of a run are removed, and none of a run that is
    still at work: one of this machine, or one of another whose pods have not ended yet.
    """
    state = Path(state_folder(options.state))
    known = known_runs(state)
    targets = options.clusters or tuple(dict.fromkeys(each.target for each in known.dead))
    code, visited = 0, []
    for target in targets:
        try:
            visited.append(_visited(target, known, wiring))
        except (EndpointError, TargetError) as error:
            tell(safe(f"Error: {error}"))
            code = error.exit_code
    lost = [each for one in visited for each in one.leftovers if not each.at_work]
    if lost:
        spaces, pods = count(len(lost), "namespace"), sum(each.pods for each in lost)
        confirm(f"Remove {spaces} with {count(pods, 'pod')}?", yes=options.yes)
    for one in visited:
        code = max(code, _removed(one))
    if not code:
        code = _forget(state, known, visited)
    if not code and not any(one.leftovers for one in visited):
        emit("No generator pods are left\n")
    return code


def _visited(target: str, known: KnownRuns, wiring: Wiring) -> _Visited:
    """A cluster, and what is in it, which is printed."""
    cluster = wiring.pods(target, environment().deadline)
    ended = [each.run for each in known.dead if each.server == cluster.server]
    left = leftovers(cluster, known.alive, ended, datetime.now(timezone.utc))
    for each in left:
        state = f"kept: {each.at_work}" if each.at_work else "left"
        emit(safe(f"{cluster.target}: {each.name}: {count(each.pods, 'pod')}, {state} "
                  f"({each.owner})") + "\n")  # fmt: skip
    return _Visited(cluster, left)


def _removed(visited: _Visited) -> int:
    """Remove what was left in a cluster; returns the exit code."""
    code = 0
    for run in dict.fromkeys(each.run for each in visited.leftovers if not each.at_work):
        try:
            for name in remove(visited.cluster, run, time):
                tell(safe(f"namespace {name} is empty, and still being deleted by the cluster"))
        except VnicauditError as error:
            tell(safe(f"Error: {error}"))
            code = error.exit_code
        else:
            emit(safe(f"Removed run {run} from {visited.cluster.target}") + "\n")
    return code


def _forget(state: Path, known: KnownRuns, visited: list[_Visited]) -> int:
    """Remove the records of runs that have nothing in the clusters that were visited. A record
    whose context leads to another cluster by now stays, and is told. Returns the exit code."""
    servers = {one.cluster.server for one in visited}
    targets = {one.cluster.target for one in visited}
    code = 0
    for each in known.dead:
        if each.server in servers:
            forget(state, each.run)
        elif each.target in targets:
            tell(safe(
                f"Warning: run {each.run} was in {each.server}, to which {each.target} does not "
                "lead any more: name its cluster, kube:CONTEXT"
            ))  # fmt: skip
            code = TargetError.exit_code
    return code
