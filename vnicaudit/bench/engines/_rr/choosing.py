"""Choose the program that makes the requests of a workload: once, before the first run, for both
ends of every arm. The choice is recorded in the workload's options.

With one connection a request takes tens of microseconds, a good part of which would be the Python
program's own. So the C program is chosen there if it can be compiled at both ends; else the Python
program, and the user is told. Fixed rates and many connections are run by the Python program,
unless an option says otherwise. New connections (``crr``) are made by the C program only, with any
number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from vnicaudit.bench.contract import Endpoint, Ends, Needs, RequiredTool, SettledWorkload
from vnicaudit.bench.engines._rr.building import COMPILER, built_program
from vnicaudit.bench.engines._rr.patterns import Pattern, pattern_of
from vnicaudit.bench.engines._rr.places import PYTHON
from vnicaudit.errors import EndpointError, MeasureError
from vnicaudit.model.measurement import Workload

OPTION = "generator"
GENERATORS = ("c", "python")


def generator_of(workload: Workload) -> str:
    """The program that runs a workload, once that is settled."""
    return workload.options.get(OPTION, "python")


def problems(workload: Workload, pattern: Pattern) -> Iterator[str]:
    """Why the program that a workload requests cannot run it."""
    asked = generator_of(workload)
    if asked not in GENERATORS:
        yield f"{OPTION}: {asked!r} is unknown; use {', '.join(GENERATORS)}"
    elif pattern.mode == "crr" and workload.options.get(OPTION) == "python":
        yield f"{OPTION}: python cannot measure new connections; c can"
    elif asked == "c":
        yield from _problems_of_c(workload, pattern)


def _problems_of_c(workload: Workload, pattern: Pattern) -> Iterator[str]:
    if not pattern.has_requests or workload.rate is not None:
        yield (
            f"{OPTION}: c sends requests only, as fast as it can; for streams and rates use python"
        )
    if "workers" in workload.options or workload.generators != 1:
        yield f"{OPTION}: c has one thread for each connection, and no workers or generators"


def needs_of(workload: Workload) -> Needs:
    """The tools that a workload's program needs at both ends."""
    tools: dict[str, RequiredTool] = {"c": COMPILER, "python": PYTHON}
    if OPTION not in workload.options and is_of_connections(workload):
        return Needs()  # ``settled`` finds out if there is a compiler
    tool = tools[generator_of(workload)]
    return Needs(target=(tool,), peer=(tool,))


def settled(workload: Workload, pattern: Pattern, ends: Sequence[Ends]) -> SettledWorkload:
    """The workload with the program that runs it on all these ends. The Python program is not
    recorded, as in results from before there was a choice. Raises EndpointError if no available
    program can make new connections."""
    if OPTION in workload.options or not _has_choice(workload, pattern):
        return SettledWorkload(workload)
    places = tuple({id(end): end for each in ends for end in (each.target, each.peer)}.values())
    not_c = _why_not_c(places)
    if not not_c:
        options = {**workload.options, OPTION: "c"}
        return SettledWorkload(replace(workload, options=options))
    if pattern.mode == "crr":
        raise EndpointError(
            f"{workload.id}: new connections need a generator compiled at both ends, but {not_c}"
        )
    return SettledWorkload(
        workload,
        f"{workload.id}: using the generator in Python for requests, whose own time is part of "
        f"every latency, because {not_c}",
    )


def is_of_connections(workload: Workload) -> bool:
    """True if each request has a connection of its own."""
    pattern = pattern_of(workload.pattern)
    return pattern is not None and pattern.mode == "crr"


def _has_choice(workload: Workload, pattern: Pattern) -> bool:
    if pattern.mode == "crr":
        return True
    return pattern.mode == "rr" and workload.connections == 1 and workload.rate is None


def _why_not_c(places: Sequence[Endpoint]) -> str:
    """Why the C program cannot be used; empty: it is compiled, and runs, at all places. Raises
    EndpointError if one is lost."""
    try:
        for place in places:
            built_program(place)
    except MeasureError as error:
        return str(error)
    return ""
