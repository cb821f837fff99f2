"""Every example in ``--help`` is a command line that the command takes, and those that need neither
a host nor a cloud are run."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest

from tests.cli.inside import inside
from tests.docs.test_language import ALL
from tests.pipelines.project import guests
from vnicaudit.cli.commands import cli

OFFLINE: Final = (
    "audit",
    "nics",
    "explain",
    "rules",
    "plan",
    "diff",
    "completion",
    "doctor",
    "host",
)
OFFLINE_BENCH: Final = ("profiles", "line-rate")
ELSEWHERE: Final = re.compile(
    r"^-$|://|openstack:|/proc|/etc/|^install$|^our-rules$|^latest$|^2026-|\.(toml|ini)$|^vnet|^mail"
)
"""Words of examples that reach for something that is not here, or that would be written to."""
RAN: Final = (0, 1, 4)
"""Nothing found, something found, or not all could be read: the command line was right."""


def examples(text: str) -> Iterator[list[str]]:
    """Words of each command line of an epilog, without what explains it."""
    for line in re.sub(r"\\\n\s+", "", text).splitlines():
        found = re.match(r"  (?:.*\| |sudo )?vnicaudit ((?:(?!\s{2,}| [|>] ).)*)", line)
        if found is not None:
            yield shlex.split(found[1])


EPILOGS: Final = {"vnicaudit": cli, **ALL}
EXAMPLES: Final = [
    words for command in EPILOGS.values() for words in examples(command.epilog or "")
]


@pytest.mark.parametrize("words", EXAMPLES, ids=" ".join)
def test_an_example_is_a_command_line_that_its_command_takes(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command: click.Command = cli
    context = click.Context(cli, info_name="vnicaudit", **cli.context_settings)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name, *words = words
        inner = command.get_command(context, name)
        assert inner is not None, name
        command, context = inner, click.Context(inner, parent=context, info_name=name)
    if not isinstance(command, click.Group):
        assert context.parent is not None
        command.make_context(str(context.info_name), list(words), parent=context.parent)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of the names that examples use."""
    found = tmp_path_factory.mktemp("examples")
    guests(found, web="rtl8139", mail="virtio")
    (found / "guests").rename(found / "definitions")
    (found / "guest.xml").write_bytes((found / "definitions/web.xml").read_bytes())
    for name in ("yesterday", "today"):
        done = inside("audit", "guest.xml", "--format", "json", "-o", f"{name}.json", cwd=found)
        assert (done.returncode, done.stderr) == (1, "")
        assert json.loads((found / f"{name}.json").read_text())
    done = inside("audit", "definitions", "--write-baseline", "known.json", cwd=found)
    assert done.returncode == 0
    return found


def _is_offline(words: list[str]) -> bool:
    here = words[0] in OFFLINE or (words[0] == "bench" and words[1] in OFFLINE_BENCH)
    return here and not any(ELSEWHERE.search(word) for word in words)


RUN: Final = [words for words in EXAMPLES if _is_offline(words)]


def test_many_are_run() -> None:
    assert len(RUN) > 35
    assert len(EXAMPLES) > 130


@pytest.mark.parametrize("words", RUN, ids=" ".join)
def test_an_example_that_needs_no_host_is_run(words: list[str], folder: Path) -> None:
    done = inside(*words, cwd=folder)
    assert done.returncode in RAN, done.stderr
    assert "Usage" not in done.stderr
