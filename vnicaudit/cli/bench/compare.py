"""``vnicaudit bench compare``: differences between two measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click
import msgspec

from vnicaudit.bench.judging.stored_comparison import compare_results, warnings
from vnicaudit.cli.bench.options import ReportOptions
from vnicaudit.cli.bench.output import check_places, code_of, write_reports
from vnicaudit.cli.bench.show import named_measurement
from vnicaudit.cli.options.candidates import measurements
from vnicaudit.cli.options.output import OutputOptions
from vnicaudit.cli.options.records import SectionedCommand, option, state_folder, takes
from vnicaudit.cli.output.progress import tell
from vnicaudit.errors import UsageError
from vnicaudit.reports.safe import safe

_EPILOG = """\b
Examples:
  vnicaudit bench compare before.json after.json
  vnicaudit bench compare 20261121-101500-3f2a 20261121-113012-90c1
  vnicaudit bench compare paths.json paths.json --arms host,vm    two arms of one file

\b
Exit codes: 0 compared, 1 something regressed, 2 usage, or they cannot be compared,
4 too few runs were valid."""


class BenchCompareOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit bench compare``: two measurements by name or file."""

    before: str
    after: str
    arms: Annotated[
        str | None,
        option("Arm of each measurement to compare, if it has several.", metavar="A,B"),
    ] = None
    report: ReportOptions
    state: str | None
    output: OutputOptions


@click.command("compare", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("before", metavar="A", shell_complete=measurements)
@click.argument("after", metavar="B", shell_complete=measurements)
@takes(BenchCompareOptions)
def command(options: BenchCompareOptions) -> int:
    """Compare measurement B with measurement A and show the difference of each value.

    A and B are files from `bench run -o`, or names listed by `bench show`. They must have the same
    workloads, tools and path; other differences are listed. Results of k8s-netperf (`--json`,
    result-*.csv) are shown beside others and never judged. Two separate measurements cannot
    distinguish drift from a real change, so their numbers are not judged. `bench run` with several
    arms can, and two arms of one such run are judged by its own design.
    """
    check_places(options.report)
    state = Path(state_folder(options.state))
    a, b = (named_measurement(name, state) for name in (options.before, options.after))
    result = compare_results(a, b, _arms(options.arms))
    for warning in () if options.output.quiet else warnings(a, b):
        tell(f"Note: {safe(warning)}")
    write_reports(result, options.report, options.output)
    return code_of(result)


def _arms(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    first, comma, second = text.partition(",")
    if not (first and comma and second) or "," in second:
        raise UsageError(f"--arms {text!r}: expected A,B, one arm of each measurement")
    return first, second
