"""``vnicaudit rules``: the catalogue, or one rule's manual page."""

from __future__ import annotations

import click

from vnicaudit.audit.catalogue import info, rule_ids
from vnicaudit.cli.options import output_options, terminal_width, use_color
from vnicaudit.cli.stdout import emit, stream
from vnicaudit.reports.rules import catalogue_json, catalogue_text, manual_text
from vnicaudit.reports.writer import Options

_EPILOG = """\b
Examples:
  vnicaudit rules
  vnicaudit rules VNIC001
  vnicaudit rules --format json"""


@click.command("rules", epilog=_EPILOG)
@click.argument("rule", required=False, metavar="[ID]")
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
    chosen = tuple(info(rule_id) for rule_id in ([rule] if rule else rule_ids()))
    if format_ == "json":
        emit(catalogue_json(chosen) + "\n")
    elif rule:
        emit(manual_text(chosen[0], options) + "\n")
    else:
        emit(catalogue_text(chosen, options) + "\n")
    return 0
