"""What ``vnicaudit audit`` is to do: its options and the settings, merged and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from vnicaudit.audit.catalogue import select
from vnicaudit.audit.cloud import each_region
from vnicaudit.audit.targets import Target
from vnicaudit.cli.cloud_filters import check_filters
from vnicaudit.cli.fixing import Fixing, asked, beside_diff
from vnicaudit.cli.options import pairs
from vnicaudit.cli.outputs import different, formats_of
from vnicaudit.cli.reading import Reading, reading
from vnicaudit.errors import UsageError
from vnicaudit.model.finding import Confidence
from vnicaudit.reports.registry import formats

if TYPE_CHECKING:
    from vnicaudit.audit.baseline import Baseline
    from vnicaudit.audit.settings_keys import Settings


class Orders(msgspec.Struct, frozen=True):
    """Command line and settings, merged: the command line wins."""

    targets: list[Target]
    reading: Reading
    rules: tuple[str, ...]
    fail_on: str
    fail_confidence: Confidence
    baseline: Baseline
    outputs: list[tuple[str, str]]
    write_baseline: str | None
    fixing: Fixing
    color: str
    group_by: str
    quiet: bool
    verbose: bool


def orders_of(given: dict[str, Any], targets: list[Target]) -> Orders:
    """What to do. Raises UsageError for what makes no sense together, or in the settings."""
    read = reading(given)
    settings = read.settings.settings
    baseline = given["baseline"] or read.settings.baseline
    fixing = asked(given, targets)
    chosen = formats_of(given["formats_"], given["outputs"], formats())
    outputs = beside_diff(fixing, pairs(chosen, given["outputs"]), given["formats_"])
    different([place for _, place in outputs] + [given["write_baseline"] or "/dev/null"])
    orders = Orders(
        targets=targets,
        reading=read,
        rules=rules_of(given, settings),
        fail_on="never" if given["exit_zero"] else given["fail_on"] or settings.fail_on,
        fail_confidence=given["fail_confidence"] or settings.fail_confidence,
        baseline=_known(baseline),
        outputs=outputs,
        write_baseline=given["write_baseline"],
        fixing=fixing,
        color=given["color"],
        group_by=_grouping(given["group_by"], outputs),
        quiet=given["quiet"],
        verbose=given["verbose"],
    )
    _check_changed(orders)
    _check_chosen(orders)
    return msgspec.structs.replace(orders, targets=each_region(targets, read.options.live))


def _known(baseline: str | None) -> Baseline:
    if not baseline:
        return {}
    from vnicaudit.audit.baseline import load_baseline

    return load_baseline(baseline)


def _check_changed(orders: Orders) -> None:
    """Raises UsageError where ``--changed-since`` would leave out what it knows nothing of."""
    changed = orders.reading.options.selection.changed
    if changed is None:
        return
    if orders.write_baseline:
        raise UsageError("--write-baseline with --changed-since would forget all unchanged files")
    for target in orders.targets:
        if target.kind != "path" or not changed.covers(target.name):
            raise UsageError(
                f"--changed-since: {target.name} is not in the Git repository {changed.top}"
            )


def _grouping(group_by: str | None, outputs: list[tuple[str, str]]) -> str:
    """Raises UsageError where no output can be grouped."""
    if group_by and not any(name in ("text", "markdown") for name, _place in outputs):
        raise UsageError("--group-by is for --format text and markdown: others list each finding")
    return group_by or ""


def _check_chosen(orders: Orders) -> None:
    """Raises UsageError where only some servers are asked for, of no cloud or for a baseline."""
    wanted = orders.reading.options.live.servers
    check_filters(wanted, (target.name for target in orders.targets))
    if wanted.given and orders.write_baseline:
        raise UsageError(f"--write-baseline with {wanted} would forget all other servers")


def rules_of(given: dict[str, Any], settings: Settings) -> tuple[str, ...]:
    """The rules that ``--select`` and ``--ignore``, or else the settings, leave. Raises UsageError
    where that is none."""
    rules = select(
        _split(given["selected"]) or settings.select, _split(given["ignored"]) or settings.ignore
    )
    if not rules:
        raise UsageError("--select and --ignore leave no rule: nothing would be judged")
    return rules


def _split(given: tuple[str, ...]) -> tuple[str, ...]:
    """``VNIC001,VNIC03`` is two: people are used to commas."""
    return tuple(part.strip() for text in given for part in text.split(",") if part.strip())
