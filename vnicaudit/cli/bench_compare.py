"""``vnicaudit bench compare``: what has changed between two measurements."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import click

from vnicaudit.cli.bench_options import fail_on_option, report_options
from vnicaudit.cli.bench_show import measurement_ids
from vnicaudit.cli.options import output_options
from vnicaudit.cli.remedy_options import state_folder, state_option
from vnicaudit.cli.telling import tell
from vnicaudit.errors import UsageError

_EPILOG = """\b
Examples:
  vnicaudit bench compare before.json after.json
  vnicaudit bench compare 20261121-101500-3f2a 20261121-113012-90c1
  vnicaudit bench compare paths.json paths.json --arms host,vm    two arms of one file

\b
Exit codes: 0 compared, 1 something regressed (--fail-on never: 0), 2 usage, or they
cannot be compared, 4 too few runs count."""


@click.command("compare", epilog=_EPILOG)
@click.argument("before", metavar="A", shell_complete=measurement_ids)
@click.argument("after", metavar="B", shell_complete=measurement_ids)
@click.option(
    "--arms",
    metavar="A,B",
    help="Which arm of each, where they have several.",
)
@fail_on_option
@report_options
@state_option
@output_options
def command(before: str, after: str, **given: Any) -> int:
    """Say what is better and what is worse in measurement B than in A.

    A and B are files of `bench run -o`, or names that `bench show` lists. They have to be of the
    same work, tools and path; what else differs is told. Two measurements that were made one after
    the other cannot tell drift from change: `bench run` with several arms can, and two arms of one
    such run are judged by its own design.
    """
    from vnicaudit.bench.judging.afterwards import chosen, compare_results, renamed
    from vnicaudit.bench.judging.comparable import warnings
    from vnicaudit.cli.bench_output import check_places, code_of, write_reports
    from vnicaudit.cli.bench_stored import stored
    from vnicaudit.reports.safe import safe

    check_places(given)
    state = Path(state_folder(given))
    first, second = stored(before, state), stored(after, state)
    a, b = first.result(), second.result()
    arms = _arms(given["arms"])
    result = compare_results(a, b, arms)
    for warning in () if given["quiet"] else warnings(a, b):
        tell(f"Note: {safe(warning)}")
    sides = zip((first, second), chosen(a, b, arms), result.arms, strict=True)
    each = [(one.samples, arm, name) for one, arm, name in sides]
    write_reports(
        result,
        lambda: chain.from_iterable(renamed(samples(), arm, name) for samples, arm, name in each),
        given,
    )
    return code_of(result, given["fail_on"])


def _arms(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    first, comma, second = text.partition(",")
    if not (first and comma and second) or "," in second:
        raise UsageError(f"--arms {text!r}: it is A,B, one arm of each")
    return first, second
