"""The table of the commands of ``vnicaudit bench``. Each is loaded only when it runs."""

from __future__ import annotations

import click

from vnicaudit.cli.options.lazy_group import CommandEntry, lazy_group

_COMMANDS = {
    "run": CommandEntry("Measure one path, or compare several paths or arms.", "bench.run"),
    "clean": CommandEntry("Remove generator pods that killed runs left.", "bench.clean"),
    "compare": CommandEntry("Compare two measurements.", "bench.compare"),
    "show": CommandEntry("List past measurements, or show one.", "bench.show"),
    "profiles": CommandEntry("List built-in profiles, or validate your own.", "bench.profiles"),
    "line-rate": CommandEntry("Show a link's theoretical maximum throughput.", "bench.line_rate"),
}

_EPILOG = """\b
Examples:
  vnicaudit bench profiles                  list the profiles
  vnicaudit bench profiles quick            what one profile measures, and how long it takes
  vnicaudit bench run agent://web01 --profile smoke
  vnicaudit bench run agent://web01,ssh://root@192.0.2.9 -o before.json
  vnicaudit bench compare before.json after.json
  vnicaudit bench line-rate --speed 25G --mtu 9000"""


@click.command("bench", cls=lazy_group(_COMMANDS), epilog=_EPILOG)
def command() -> None:
    """Measure throughput, packet rate, DNS and latency before and after a change.

    A profile defines the workloads; a path between two endpoints defines where they run. The
    verdict is better, equal or worse, with its confidence.
    """
