"""How results are printed: formats, redaction, rules, and what fails the run."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click
import msgspec

from vnicaudit.base.files import check_own, make_private, why_not_own, writing
from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.cli.options.candidates import rules
from vnicaudit.cli.options.records import group, option, option_of
from vnicaudit.cli.output.files import stream
from vnicaudit.errors import UsageError
from vnicaudit.reports.formats import formats
from vnicaudit.reports.writers import GroupBy, Options, SortBy, View
from vnicaudit.text.targets import default_state

if TYPE_CHECKING:
    from vnicaudit.reports.redaction import Redactor

# ``--quiet``, ``--verbose``, ``--color`` and ``--format``: how results are printed.


Color = Literal["auto", "always", "never"]
Format = Literal["text", "json"]

_WITHOUT_LINKS = ("", "dumb", "linux")
"""Values of ``TERM`` without links: the Linux console prints part of their escape sequences."""


class OutputOptions(msgspec.Struct, frozen=True):
    """How much is printed, and whether in colour."""

    quiet: bool
    verbose: bool
    color: Color


output_options = group("output", OutputOptions)
"""How much a command prints; the options are those of every command."""


FormatOption = Annotated[Format, option("Output format.")]
"""``--format``, for commands that print one document for people or for programs."""

format_option = option_of("format", Format, option("Output format."), "text")

OutputFileOption = Annotated[
    str | None,
    option(
        "Write to FILE; - is standard output. Without --format, the suffix decides the format.",
        "-o",
        "--output",
        metavar="FILE",
        type=click.Path(dir_okay=False),
    ),
]


def screen_options(
    output: OutputOptions, *, group_by: str | None = None, view: View = "full"
) -> Options:
    """Options for writing reports to standard output."""
    return Options(
        width=terminal_width(),
        color=use_color(output.color, to_terminal=stream().isatty()),
        verbose=output.verbose,
        quiet=output.quiet,
        group_by=group_by or "",
        view=view,
    )


def use_color(choice: Color, *, to_terminal: bool) -> bool:
    """True if output is coloured: on request, or on a terminal unless the environment forbids
    it."""
    if choice != "auto":
        return choice == "always"
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return to_terminal and not plain


def shows_links(choice: Color, *, to_terminal: bool) -> bool:
    """True if hyperlinks may be written: on a coloured terminal, unless it is known to print them
    as text."""
    return (
        to_terminal
        and use_color(choice, to_terminal=True)
        and os.environ.get("TERM", "") not in _WITHOUT_LINKS
    )


def terminal_width() -> int:
    """Columns of the terminal; 100 if standard output is not a terminal."""
    if stream().isatty() or "COLUMNS" in os.environ:
        return max(20, shutil.get_terminal_size().columns)
    return 100


def pairs(formats: tuple[str, ...], outputs: tuple[str, ...]) -> list[tuple[str, str]]:
    """Pair up ``--format`` and ``--output``; a format without an output goes to standard output.

    Raises UsageError if there are more outputs than formats, or if two formats would share standard
    output or a file.
    """
    formats = formats or ("text",)
    if len(outputs) > len(formats):
        raise UsageError(
            "more --output than --format options: each --output needs its own --format"
        )
    places = [*outputs, *["-"] * (len(formats) - len(outputs))]
    if len(set(places)) < len(places):
        twice = next(place for place in places if places.count(place) > 1)
        name = "standard output" if twice == "-" else twice
        raise UsageError(f"two formats would be written to {name}: give each its own --output")
    return list(zip(formats, places, strict=True))


# ``--redact``: replace names and addresses by pseudonyms, with a key that stays on this machine.


KEY_FILE = "redaction.key"
_SHORTEST = 16
_LONGEST = 4096


class RedactionOptions(msgspec.Struct, frozen=True):
    """``--redact``."""

    redact: Annotated[
        bool,
        option(
            "Replace names, UUIDs, MAC and IP addresses, projects, hosts and paths by pseudonyms. "
            "They are the same in each report and cannot be reversed without the key, "
            f"{KEY_FILE} in the state directory, which is made at first use.",
            env=True,
        ),
    ] = False


def redactor_of(options: RedactionOptions) -> Redactor | None:
    """The redactor selected by the options; None: no redaction. Raises UsageError for an invalid
    key, or one that others can read."""
    if not options.redact:
        return None

    from vnicaudit.reports.redaction import Redactor

    return Redactor(_own_key(Path(os.environ.get("VNICAUDIT_STATE") or default_state())))


def _own_key(folder: Path) -> bytes:
    """The key in this user's state directory, created if missing."""
    check_own(folder, link=True)
    path = folder / KEY_FILE
    if not path.exists():
        with writing(path):
            make_private(folder)
            _make(path)
    return _read(path)


def _make(path: Path) -> None:
    """Create a key. If another process has created one meanwhile, that one stays."""
    import secrets  # loads OpenSSL, which only a new key needs

    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "w") as file:
            file.write(f"{secrets.token_hex(32)}\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(part, path)
    finally:
        os.unlink(part)


def _read(path: Path) -> bytes:
    with as_usage_error(path), open_regular(path, null=False) as file:
        status = os.fstat(file.fileno())
        key = file.read(_LONGEST + 1).strip()
    reason = why_not_own(status) or _readable_by_others(status)
    if reason is not None:
        raise UsageError(
            f"{path} {reason}: anyone who has the key can reverse a redacted report; run chmod "
            "600 on it"
        )
    if not _SHORTEST <= len(key) <= _LONGEST:
        raise UsageError(
            f"{path}: a key must have {_SHORTEST} to {_LONGEST} bytes; make one with: (umask 077; "
            "openssl rand -hex 32 > FILE)"
        )
    return key


def _readable_by_others(status: os.stat_result) -> str | None:
    return "can be read by others" if status.st_mode & (stat.S_IRGRP | stat.S_IROTH) else None


# Options of every auditing command: which rules run, and where reports go.


class ReportingOptions(msgspec.Struct, frozen=True):
    """Reports and their places, rules, and the baseline."""

    formats: Annotated[
        tuple[str, ...],
        option(
            f"One of {', '.join(formats())}; repeatable, one for each --output.  [default: text]",
            "--format",
            env=True,
            metavar="FORMAT",
            type=click.Choice(formats()),
        ),
    ] = ()
    outputs: Annotated[
        tuple[str, ...],
        option(
            "Write the report to FILE; - is standard output. Without --format, the suffix decides "
            "the format. Repeatable.",
            "-o",
            "--output",
            env=True,
            metavar="FILE",
            type=click.Path(dir_okay=False),
        ),
    ] = ()
    group_by: Annotated[
        GroupBy | None,
        option(
            "Merge equal findings into one entry with a count, some names and the fix, grouped by "
            "rule or by subject. For text and markdown; other formats list each finding."
        ),
    ] = None
    view: Annotated[
        View,
        option(
            "Length of the text report. full: each finding. short: a summary, then equal findings "
            "merged, worst first. auto: full up to 10 findings, short for more.",
            env=True,
        ),
    ] = "auto"
    sort: Annotated[
        SortBy,
        option("Order of grouped findings: worst first, most frequent first, or by name."),
    ] = "severity"
    most: Annotated[
        int | None,
        option(
            "Show at most N groups, or the N worst findings in a full listing; count the rest. "
            "For text and concise.",
            "--max",
            type=click.IntRange(min=1),
            metavar="N",
        ),
    ] = None
    selected: Annotated[
        tuple[str, ...],
        option(
            "Rules to run: ids, prefixes of ids, names or groups. Repeatable, or separated by "
            "commas.",
            "--select",
            env=True,
            shell_complete=rules,
            metavar="RULE",
        ),
    ] = ()
    ignored: Annotated[
        tuple[str, ...],
        option(
            "Rules to skip: named as for --select.",
            "--ignore",
            env=True,
            shell_complete=rules,
            metavar="RULE",
        ),
    ] = ()
    baseline: Annotated[
        str | None,
        option(
            "Report only findings that are not in this report or baseline file.",
            env=True,
            metavar="FILE",
            type=click.Path(),
        ),
    ] = None
    write_baseline: Annotated[
        str | None,
        option(
            "Write every finding to a baseline file and exit 0. With the same file as --baseline: "
            "report what is new since the last time.",
            metavar="FILE",
            type=click.Path(dir_okay=False),
        ),
    ] = None
    strict: Annotated[
        bool,
        option(
            "Exit 1 also if a part of a file, or a rule that needs no live host, was not judged.",
            env=True,
        ),
    ] = False
