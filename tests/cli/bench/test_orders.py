"""What ``vnicaudit bench`` refuses before it measures anything, with which words."""

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.cli.inside import inside
from vnicaudit.cli.bench.options import ReportOptions, report_places
from vnicaudit.cli.commands import cli

RUN = ("bench", "run", "local")
NONE_SUCH = "netns://none-such"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bench", "run"), "Missing argument 'PATH...'"),
        ((*RUN, "-p", "smok"), "no profile 'smok'; did you mean 'smoke'? (the path of your own"),
        ((*RUN, "-p", "/none/such.toml"), "/none/such.toml: No such file or directory"),
        (("bench", "run", "web01"), "invalid endpoint 'web01'; supported forms: agent://"),
        (("bench", "run", "local", "local"), "two paths have the name 'local': name them"),
        ((*RUN, "--arm", "one=true"), "a single --arm has nothing to compare with"),
        (
            (*RUN, "a=netns://x", "--arm", "one=true", "--arm", "two=true"),
            "--arm needs exactly one path: several paths are arms themselves",
        ),
        ((*RUN, "--arm", "one"), "--arm 'one': expected NAME=COMMAND; a name has letters, digits"),
        ((*RUN, "--arm", "one="), "--arm 'one=': each name needs a command"),
        ((*RUN, "--arm", "a=x", "--arm", "a=y"), "--arm 'a=y': this name is used twice"),
        ((*RUN, "--arm", "one='x"), '--arm "one=\'x": No closing quotation'),
        ((*RUN, "--arm", "one=\udcff"), "--arm 'one=\\udcff': not UTF-8"),
        ((*RUN, "--server", "x=true"), "profile quick has no state 'x'; its states: none"),
        ((*RUN, "--label", "x"), "--label 'x': expected KEY=VALUE; a name has letters, digits"),
        ((*RUN, "--label", "x=1", "--label", "x=2"), "--label 'x=2': this name is used twice"),
        ((*RUN, "--label", "x=\udcff"), "--label 'x=\\udcff': not UTF-8"),
        ((*RUN, "--set", "x"), "'x': expected ENGINE.OPTION=VALUE"),
        ((*RUN, "--set", "dnsperf.x=1"), "profile quick does not use engine 'dnsperf'"),
        ((*RUN, "--only", "x*"), "--only matches no workload of profile quick: `vnicaudit"),
        ((*RUN, "--line-rate", "fast"), "'fast' is not a speed"),
        ((*RUN, "--repeats", "0"), "0 is not in the range 1<=x<=100"),
        ((*RUN, "--seconds", "0.5"), "0.5 is not in the range 1<=x<=86400"),
        ((*RUN, "--seconds", "nan"), "'nan' is not a number"),
        ((*RUN, "-o", "/none/such/x.json"), "/none/such/x.json: No such file or directory"),
        ((*RUN, "-o", "/proc/x.json"), "/proc/x.json: "),
        ((*RUN, "-o", "x.dat"), "x.dat: the file name does not tell the format: add --format ("),
        ((*RUN, "--format", "csv", "--format", "json"), "two formats would be written to stand"),
        ((*RUN, "-o", "a.json", "-o", "b.dat"), "b.dat: the file name does not tell the format"),
        ((*RUN, "-o", "a.sarif"), "a.sarif: the file name does not tell the format"),
        ((*RUN, "--format", "csv", "-o", "x", "--format", "json", "-o", "./x"), "two reports "),
        (("bench", "run", NONE_SUCH, "-p", "smoke"), "netns://none-such: "),
        (("bench", "compare", "a.json"), "Missing argument 'B'"),
        (("bench", "compare", "a.json", "b.json"), "a.json: No such file or directory"),
        (("bench", "compare", "x", "y"), "there is no measurement 'x' in "),
        (("bench", "compare", "x", "y", "-o", "/none/x.json"), "/none/x.json: No such"),
        (("bench", "show", "x"), "there is no measurement 'x' in "),
    ],
)
def test_what_makes_no_sense(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    state = tmp_path / "state"
    result = inside(*arguments, cwd=tmp_path, env={"VNICAUDIT_STATE": str(state)})
    wanted = 4 if NONE_SUCH in arguments else 2
    assert (result.returncode, result.stdout) == (wanted, ""), result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not state.exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("formats", "outputs", "chosen"),
    [
        ((), (), [("text", "-")]),
        ((), ("a.json",), [("json", "a.json"), ("text", "-")]),
        ((), ("a.json", "b.md"), [("json", "a.json"), ("markdown", "b.md"), ("text", "-")]),
        ((), ("a.json", "-"), [("json", "a.json"), ("text", "-")]),
        (("csv",), ("a", "b.md"), [("csv", "a"), ("markdown", "b.md")]),
        (("csv",), (), [("csv", "-")]),
    ],
)
def test_formats_follow_the_suffix(
    formats: tuple[str, ...], outputs: tuple[str, ...], chosen: list[tuple[str, str]]
) -> None:
    assert report_places(ReportOptions(formats, outputs)) == chosen


def commands() -> list[str]:
    context = click.Context(cli)
    group = cli.get_command(context, "bench")
    assert isinstance(group, click.Group)
    return group.list_commands(click.Context(group))


def test_all_commands_are_there() -> None:
    assert commands() == ["run", "clean", "compare", "show", "profiles", "line-rate"]


@pytest.mark.parametrize("name", commands())
def test_examples_have_options_that_exist(name: str) -> None:
    result = CliRunner().invoke(cli, ["bench", name, "--help"])
    assert result.exit_code == 0
    begin, _, examples = result.output.partition("Examples:")
    known = set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", begin))
    lines = [line for line in examples.partition("Exit codes")[0].splitlines() if line.strip()]
    for line in lines:
        own = re.sub(r"'[^']*'", "", line)
        for option in re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", own):
            assert option in known, line
