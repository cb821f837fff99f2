"""``--fix`` and ``--diff`` of ``vnicaudit audit``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

from vnicaudit.audit.reading.targets import Target
from vnicaudit.cli.options.reading import NovaOptions
from vnicaudit.cli.options.records import option
from vnicaudit.cli.output.files import STDOUT
from vnicaudit.errors import UsageError


class FixOptions(msgspec.Struct, frozen=True):
    """The options ``--fix`` and ``--diff`` of ``vnicaudit audit``."""

    fix: Annotated[
        bool,
        option(
            "Apply safe fixes in place to nova.conf, KubeVirt manifests and offline domain XML, "
            "then report the remaining findings."
        ),
    ] = False
    diff: Annotated[
        bool,
        option(
            "Print the changes that --fix would make (with --fix: those it makes) instead of the "
            "report."
        ),
    ] = False
    include_unsafe: Annotated[
        bool, option("With --fix or --diff: include fixes that may harm a guest.")
    ] = False
    backup: Annotated[
        bool,
        option("With --fix: keep a copy of each changed file beside it, FILE.vnicaudit.bak."),
    ] = False

    @property
    def is_on(self) -> bool:
        """True if files are changed, or their changes shown."""
        return self.fix or self.diff


def check_fixing(fixing: FixOptions, nova: NovaOptions, targets: Iterable[Target]) -> None:
    """Raises UsageError if these targets cannot be fixed, or options conflict."""
    if fixing.include_unsafe and not fixing.is_on:
        raise UsageError("--include-unsafe needs --fix or --diff")
    if fixing.backup and not fixing.fix:
        raise UsageError("--backup needs --fix: it copies the files that --fix changes")
    if fixing.is_on and nova.nova_config:
        raise UsageError(
            "--fix and --diff do not change files named with --nova-config: name them as TARGETs"
        )
    for target in targets if fixing.is_on else ():
        if target.kind == "stdin" and fixing.fix:
            raise UsageError(
                "standard input cannot be fixed in place: name a file, or use --diff without --fix"
            )
        if target.kind not in ("stdin", "path"):
            raise UsageError(
                f"{target.name}: --fix and --diff work on files only; an audit never changes a "
                "live host or cloud"
            )


def beside_diff(
    fixing: FixOptions, outputs: list[tuple[str, str]], formats: tuple[str, ...]
) -> list[tuple[str, str]]:
    """Reports to write. With ``--diff``, standard output is used for the diff, so the default text
    report is dropped. Raises UsageError if another report was requested there."""
    if not fixing.diff:
        return outputs
    if formats and any(place == STDOUT for _format, place in outputs):
        raise UsageError(
            "--diff writes to standard output: send the report elsewhere with --output"
        )
    return [output for output in outputs if output[1] != STDOUT]
