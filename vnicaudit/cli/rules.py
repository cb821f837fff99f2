"""``vnicaudit rules``: the catalogue, or one rule's manual page."""

from __future__ import annotations

from difflib import get_close_matches

import click

from vnicaudit.audit.catalogue import info, rule_ids
from vnicaudit.audit.stale import INFO as ABOUT_SUPPRESSIONS
from vnicaudit.cli.options import output_options, terminal_width, use_color
from vnicaudit.cli.stdout import emit, stream
from vnicaudit.errors import UsageError
from vnicaudit.model.report import RuleInfo
from vnicaudit.reports.rules import catalogue_json, catalogue_text, manual_text
from vnicaudit.reports.writer import Options

_EPILOG = """\b
Examples:
  vnicaudit rules
  vnicaudit rules VNIC001
  vnicaudit rules VNIC04                       all that begin so
  vnicaudit rules legacy-emulated-nic
  vnicaudit rules --format json"""


@click.command("rules", epilog=_EPILOG)
@click.argument("rule", required=False, metavar="[ID|PREFIX|NAME]")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print the catalogue.",
)
@output_options
def command(rule: str | None, format_: str, color: str, quiet: bool, verbose: bool) -> int:
    """List the rules, or explain one: what is wrong, why it matters, how to fix it."""
    options = Options(
        width=terminal_width(),
        color=use_color(color, to_terminal=stream().isatty()),
        verbose=verbose,
        quiet=quiet,
    )
    chosen = _named(rule) if rule else tuple(map(info, rule_ids()))
    if format_ == "json":
        emit(catalogue_json(chosen) + "\n")
    elif rule and len(chosen) == 1:
        emit(manual_text(chosen[0], options) + "\n")
    else:
        emit(catalogue_text(chosen, options) + "\n")
    return 0


def _named(text: str) -> tuple[RuleInfo, ...]:
    """The rules that an id, a name or the beginning of ids means. Raises UsageError where none
    is."""
    wanted = text.strip().upper()
    ids = tuple(rule_id for rule_id in rule_ids() if rule_id.startswith(wanted))
    about = tuple(one for one in ABOUT_SUPPRESSIONS if one.id.startswith(wanted))
    if wanted and (ids or about):
        return (*map(info, ids), *about)
    every = (*map(info, rule_ids()), *ABOUT_SUPPRESSIONS)
    name = text.strip().lower()
    if found := tuple(one for one in every if one.name == name):
        return found
    near = get_close_matches(name, [one.name for one in every], 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise UsageError(f"no rule {text!r}; {hint}`vnicaudit rules` lists them")
