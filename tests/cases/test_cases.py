"""Inputs, each with what has to be said of it and what must not: as people posted them, in this
folder, and what was once judged wrongly, in tests/regressions."""

import shlex
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from ruamel.yaml import YAML

from tests.cli.inside import inside
from tests.docs.pages import ROOT


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is None is not compared. ``each``: texts, each of which is tried as the file of that
    name. ``findings``, ``errors`` and ``unjudged`` are those of the JSON report, in its order, as
    ``[severity RULE] file:line``, and ``: words of its message`` where these matter. ``accepted``:
    its suppressed findings, as ``RULE file:line: reason``. ``nics``: what each has in effect.
    ``has`` and ``lacks``: words of what the command prints, without its line breaks. ``before``:
    what is run before, whatever it prints. ``after``: what files contain in the end; ``absent``:
    files that are not there then."""

    name: str
    files: dict[str, str]
    run: list[str] | str
    exit: int
    env: dict[str, str] = {}
    before: list[str] = []
    after: dict[str, str] = {}
    absent: list[str] = []
    each: dict[str, list[str]] = {}
    findings: list[str] | None = None
    accepted: list[str] | None = None
    errors: list[str] | None = None
    unjudged: list[str] | None = None
    nics: list[dict[str, Any]] | None = None
    domains: int | None = None
    has: list[str] = []
    lacks: list[str] = []

    def texts(self) -> list[dict[str, str]]:
        """The files of each try."""
        if not self.each:
            return [self.files]
        ((name, texts),) = self.each.items()
        return [{**self.files, name: text} for text in texts]


FILES = sorted(
    path
    for path in (*ROOT.glob("tests/cases/*.yaml"), *ROOT.glob("tests/regressions/*/*.yaml"))
    if not path.name.startswith("test_")  # the table of a test
)
CASES = [
    pytest.param(case, files, id=f"{path.stem}: {case.name}{f' {number}' if number else ''}")
    for path in FILES
    for case in msgspec.convert(YAML(typ="safe").load(path), list[Case])
    for number, files in enumerate(case.texts())
]


@pytest.mark.parametrize(("case", "files"), CASES)
def test_case(tmp_path: Path, case: Case, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    in_folder = partial(inside, cwd=tmp_path, env=case.env)
    for command in case.before:
        in_folder(*shlex.split(command))
    for command in [case.run] if isinstance(case.run, str) else case.run:
        words = shlex.split(command)
        if words[0] != "audit" or case.has or case.lacks or case.findings is None:
            done = in_folder(*words)
            assert done.returncode == case.exit, done.stdout + done.stderr
            said = " ".join((done.stdout + done.stderr).split())
            assert [one for one in case.has if one not in said] == [], said
            assert [one for one in case.lacks if one in said] == [], said
        if case.findings is not None:
            done = in_folder(*words, "--format", "json")
            assert done.returncode == case.exit, done.stderr
            _compare(case, msgspec.json.decode(done.stdout))
        if case.nics is not None:
            done = in_folder("nics", *words[1:], "--format", "json")
            found = msgspec.json.decode(done.stdout)["nics"]
            assert [
                {name: _in_effect(nic[name]) for name in wanted}
                for nic, wanted in zip(found, case.nics, strict=True)
            ] == case.nics
    for name, text in case.after.items():
        assert (tmp_path / name).read_bytes() == text.encode()
    assert [name for name in case.absent if (tmp_path / name).exists()] == []


def _compare(case: Case, report: dict[str, Any]) -> None:
    findings = [
        (f"{one['severity']} {one['rule']} {_place(one['location'])}", one["message"])
        for one in report["findings"]
    ]
    _assert_told(findings, case.findings)
    moved = [(one["finding"], one["reason"]) for one in report.get("suppressed", ())]
    _assert_told([(f"{f['rule']} {_place(f['location'])}", r) for f, r in moved], case.accepted)
    targets = report["targets"]
    for name, wanted in (("errors", case.errors), ("not_judged", case.unjudged)):
        _assert_told([(_place(o), o["message"]) for t in targets for o in t[name]], wanted)
    if case.domains is not None:
        assert report["summary"]["domains"] == case.domains


def _place(where: dict[str, Any]) -> str:
    return f"{where['file']}:{where['line']}"


def _in_effect(value: Any) -> Any:
    return value["effective"] if isinstance(value, dict) else value


def _assert_told(found: list[tuple[str, str]], wanted: list[str] | None) -> None:
    if wanted is None:
        return
    pairs = [(*one.partition(": ")[::2],) for one in wanted]
    assert [place for place, _ in found] == [place for place, _ in pairs], found
    for (_, message), (_, words) in zip(found, pairs, strict=True):
        assert words in message
