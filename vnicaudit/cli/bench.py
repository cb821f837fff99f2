"""``vnicaudit bench``: measure, compare, search; the group of its commands."""

from __future__ import annotations

import click

from vnicaudit.cli.lazy import LazyGroup

_SUMMARIES = {
    "run": "Measure one path, or compare arms or several paths.",
    "compare": "What has changed between two measurements.",
    "search": "The highest rate at which hardly anything is lost.",
    "show": "What was measured, and when.",
    "profiles": "What can be measured: shipped profiles, or one's own checked.",
    "line-rate": "What a link carries at best.",
}

_EPILOG = """\b
Examples:
  vnicaudit bench profiles                  what can be measured
  vnicaudit bench profiles quick            … by one profile, and how long it takes
  vnicaudit bench run agent://web01 --profile smoke
  vnicaudit bench run agent://web01,ssh://root@192.0.2.9 -o before.json
  vnicaudit bench compare before.json after.json
  vnicaudit bench line-rate --speed 25G --mtu 9000"""


@click.command(
    "bench",
    cls=LazyGroup,
    prefix="vnicaudit.cli.bench_",
    summaries=_SUMMARIES,
    epilog=_EPILOG,
)
def command() -> None:
    """Prove it: measure throughput, packet rate, DNS and latency before and after a change.

    What is measured is a profile; where, a path between two endpoints. The verdict says whether it
    is better, the same or worse, and how sure that is.
    """
