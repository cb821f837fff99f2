"""``vnicaudit rules``: the catalogue, or one rule's manual page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from vnicaudit.audit.accepting.settings_entries import INFO as ABOUT_SUPPRESSIONS
from vnicaudit.audit.judging.catalogue import Catalogue, catalogue_with, closest_id
from vnicaudit.base.wording import closest, count
from vnicaudit.cli.options.candidates import rule_page
from vnicaudit.cli.options.environment import environment
from vnicaudit.cli.options.output import FormatOption, OutputOptions, screen_options
from vnicaudit.cli.options.records import SectionedCommand, takes
from vnicaudit.cli.output.files import emit
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import UsageError
from vnicaudit.model.names import RuleInfo
from vnicaudit.reports.rules import (
    catalogue_json,
    catalogue_text,
    groups_text,
    manual_text,
)
from vnicaudit.reports.safe import safe
from vnicaudit.rule_cases.running import results_of

if TYPE_CHECKING:
    from vnicaudit.cli.wiring.platforms import PlatformRegistry
    from vnicaudit.rule_cases.running import CaseResult

_EPILOG = """\b
Examples:
  vnicaudit rules
  vnicaudit rules VNIC001
  vnicaudit rules VNIC04                       all rules with this prefix
  vnicaudit rules legacy-emulated-nic
  vnicaudit rules nova                         all rules of a group
  vnicaudit rules --format json
  VNICAUDIT_RULES_DIR=our-rules vnicaudit rules ACME001
  vnicaudit rules test our-rules               run the cases of your own rules

\b
Exit codes: 0, 1 a case failed (`rules test`), 2 usage, or no such rule."""

_TEST = "test"
_WORD = 4
"""Least letters of a word that is looked for in the manuals of rules."""
_SOME = 6
"""Rules that are named."""


class RulesOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit rules``."""

    rule: str | None
    folder: str | None
    format: FormatOption = "text"
    output: OutputOptions


@click.command("rules", cls=SectionedCommand, epilog=_EPILOG)
@click.argument(
    "rule", required=False, metavar="[ID|PREFIX|NAME|GROUP|test]", shell_complete=rule_page
)
@click.argument("folder", required=False, metavar="[DIR]", type=click.Path())
@pass_wiring
@takes(RulesOptions)
def command(options: RulesOptions, wiring: Wiring) -> int:
    """List the rules, or explain one: what is wrong, why it matters, how to fix it.

    `vnicaudit rules test DIR` runs the test cases of the rules in a directory. This executes the
    code of the rules.
    """
    style, rule = screen_options(options.output), options.rule
    if rule == _TEST and options.folder is not None:
        return _run_cases(options.folder, options, wiring.platforms())
    if options.folder is not None or rule == _TEST:
        raise UsageError("name one ID, PREFIX, NAME or GROUP, or use test DIR")
    catalogue = catalogue_with(environment().rules_dir)
    chosen = _matching_rules(rule, catalogue) if rule else _all_rules(catalogue)
    if options.format == "json":
        emit(catalogue_json(chosen) + "\n")
    elif rule and len(chosen) == 1:
        emit(manual_text(chosen[0], style) + "\n")
    else:
        emit(catalogue_text(chosen, style) + "\n")
        if not rule:
            emit("\n" + groups_text(chosen, style) + "\n")
    return 0


def _run_cases(folder: str, options: RulesOptions, platforms: PlatformRegistry) -> int:
    """Run the test cases of the rules in a directory; returns the exit code."""
    catalogue = catalogue_with((*environment().rules_dir, folder))
    results = list(results_of(folder, catalogue, platforms))
    failed = [result for result in results if result.differences]
    for result in results if options.output.verbose else failed:
        emit(f"{'FAIL' if result.differences else 'pass'}  {safe(_case_name(result))}\n")
        for difference in result.differences:
            emit(f"      {safe(difference)}\n")
    if not options.output.quiet:
        cases = sum(bool(result.case) for result in results)
        emit(f"{count(cases, 'case')}, {len(failed)} failed\n")
    return 1 if failed else 0


def _case_name(result: CaseResult) -> str:
    return f"{result.rule}: {result.case}" if result.case else result.file


def _all_rules(catalogue: Catalogue) -> tuple[RuleInfo, ...]:
    return tuple(map(catalogue.info, catalogue.ids))


def _matching_rules(text: str, catalogue: Catalogue) -> tuple[RuleInfo, ...]:
    """The rules that match an id, an id prefix, a name or a group. Raises UsageError if none
    does."""
    wanted, name = text.strip().upper(), text.strip().lower()
    found = (
        *map(catalogue.info, catalogue.rules_named(wanted)),
        *(one for one in ABOUT_SUPPRESSIONS if one.id.startswith(wanted) or one.name == name),
    )
    if wanted and found:
        return found
    every = (*_all_rules(catalogue), *ABOUT_SUPPRESSIONS)
    names = [*(one.name for one in every), *catalogue.groups()]
    near = closest(name, names) or closest_id(wanted, [one.id for one in every])
    hint = f"did you mean {near!r}? " if near else ""
    about = [one.id for one in every if len(name) >= _WORD and name in one.manual.lower()]
    if about and not near:
        some = f"{', '.join(about[:_SOME])}{', …' if len(about) > _SOME else ''}"
        hint = f"it is in {some}: "
    raise UsageError(f"no rule {text!r}; {hint}`vnicaudit rules` lists them")
