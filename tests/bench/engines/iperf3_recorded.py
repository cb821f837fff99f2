"""What was recorded of iperf3 (record.py), as the engine gets it."""

from typing import Any

from tests.bench.engines.record import DATA, RUNS
from vnicaudit.bench.contract import Measured
from vnicaudit.bench.engines import _iperf3_command as command
from vnicaudit.bench.engines import _iperf3_result as result
from vnicaudit.bench.engines._iperf3_command import Iperf3Load
from vnicaudit.bench.engines._iperf3_report import PairRuns
from vnicaudit.model.measurement import Ran, Workload

VERSIONS = ("3.9", "3.12", "3.18", "3.22")
WHOLE = tuple(name for name in RUNS if "omit" not in name and "refused" not in name)
"""Cases that measured something, as the engine asks for it."""
FILES = sorted(DATA.glob("*/*.json"))


def text(version: str, case: str, end: str) -> str:
    """What one end printed; empty where it printed nothing."""
    path = DATA / version / f"{case}.{end}"
    return path.read_text() if path.exists() else ""


def ran(version: str, case: str, end: str, code: int | None = 0) -> Ran:
    """How one end ended."""
    argv = ("iperf3", end)
    return Ran(argv, code, text(version, case, f"{end}.json"), text(version, case, f"{end}.err"))


def said(version: str, case: str) -> PairRuns:
    """Both ends of a case."""
    return PairRuns(ran(version, case, "client"), ran(version, case, "server"))


def workload(case: str, **changes: Any) -> Workload:
    """The workload of which a case is the run."""
    options = RUNS.get(case, ("-t", "3"))
    fields: dict[str, Any] = {
        "id": case,
        "engine": "iperf3",
        "pattern": "udp" if "-u" in options else "tcp",
        "direction": "tx" if "-R" in options else "both" if "--bidir" in options else "rx",
        "connections": int(options[options.index("-P") + 1]) if "-P" in options else 1,
        "seconds": float(options[options.index("-t") + 1]) - 1,
        "warmup": 1,
    }
    return Workload(**{**fields, **changes})


def plan(version: str, case: str, **changes: Any) -> Iperf3Load:
    """How the engine would have run it."""
    found = command.version_of(f"iperf {version}")
    assert found
    place = command.Iperf3Install(found, 1 << 23)
    return command.plan(workload(case, **changes), place, place)


def measured(version: str, case: str, **changes: Any) -> Measured:
    """What the engine makes of a case."""
    return result.measurement_of(plan(version, case, **changes), [said(version, case)])
