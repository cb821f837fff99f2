"""An option means the same in every command that has it, and stands under one heading of help."""

import re
from collections import defaultdict

import click
import pytest

from tests.cli.inside import inside
from tests.cli.test_options import COMMANDS
from vnicaudit.cli.options.records import COMMON, RARE, SECTIONS, SectionedCommand

DIFFERENT = {
    "--by": "ranks places, or counts by a column",
    "--diff": "of --fix, or of each step of a plan",
    "--domain": "explain is about one domain: it narrows --nic",
    "--format": "each command has formats of its own",
    "--group-by": "findings, or steps",
    "--image": "of servers, or of generator pods",
    "--include-unsafe": "fixes, changes to be planned, or steps of a plan",
    "--nic": "explain is about one NIC, which may be named in more ways",
    "--output": "a report, a plan or a measurement",
    "--since": "the period of a trend, or the audit after which an export begins",
    "--sort": "findings, or domains",
    "--trust-uri": "of a plan or run, or of an inventory",
    "--window": "seconds between two readings, or when a run may act",
    "-y": "runs and bench clean ask before they remove, bench run before it starts pods",
}
"""Options whose words differ, and why."""


def options() -> dict[str, dict[str, list[click.Option]]]:
    """The options of each name, by command."""
    found: dict[str, dict[str, list[click.Option]]] = defaultdict(lambda: defaultdict(list))
    for command, one in COMMANDS.items():
        for parameter in (*one.params, *COMMON):
            if isinstance(parameter, click.Option) and not parameter.hidden:
                found[parameter.opts[-1]][command].append(parameter)
    return found


OPTIONS = options()


def meaning(option: click.Option) -> str:
    """The first clause of its help."""
    return re.split(r"[.;:](?:\s|$)| \(", option.help or "")[0]


@pytest.mark.parametrize("name", OPTIONS)
def test_one_meaning(name: str) -> None:
    every = [option for found in OPTIONS[name].values() for option in found]
    meanings = sorted({meaning(option) for option in every})
    assert all(meanings), "no help"
    assert (len(meanings) > 1) == (name in DIFFERENT), meanings


@pytest.mark.parametrize("name", OPTIONS)
def test_one_short_name_and_one_variable(name: str) -> None:
    every = [option for found in OPTIONS[name].values() for option in found]
    assert len({tuple(option.opts) for option in every}) == 1
    assert len({option.envvar for option in every if option.envvar}) <= 1


def test_headings_are_of_options_that_there_are() -> None:
    listed = [name for names in SECTIONS.values() for name in names]
    assert len(listed) == len(set(listed))
    assert set(listed) - {"--help", "--help-all"} <= set(OPTIONS)
    assert set(OPTIONS) >= RARE


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_at_most_twenty_options_and_says_how_many_are_left(name: str) -> None:
    shown = inside(*name.split(), "--help").stdout
    every = inside(*name.split(), "--help-all").stdout
    numbers = [len(re.findall(r"^  -", text, re.MULTILINE)) for text in (shown, every)]
    assert numbers[0] <= 20
    assert f"{numbers[1] - numbers[0]} more options: vnicaudit {name} --help-all" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_sectioned_and_names_variables(name: str) -> None:
    command = COMMANDS[name]
    assert isinstance(command, SectionedCommand)
    text = " ".join(inside(*name.split(), "--help-all").stdout.split())
    for option in (*command.params, *COMMON):
        if isinstance(option, click.Option) and not option.hidden and option.envvar:
            assert f"[env:{option.envvar}]" in text


def test_all_options_of_audit_have_a_heading() -> None:
    text = inside("audit", "--help-all").stdout
    headings = [line[:-1] for line in text.splitlines() if re.fullmatch(r"[A-Z][\w ]+:", line)]
    assert headings == [*SECTIONS, "Examples"] or headings == list(SECTIONS)
