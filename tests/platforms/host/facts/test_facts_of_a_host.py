"""What each fact makes of readings: the cases of facts/*.yaml, whole, cut off and damaged."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from ruamel.yaml import YAML

from tests.platforms.host.given import readings_of
from vnicaudit.platforms.host.facts import EVERY_FACT, owners
from vnicaudit.platforms.host.facts.containers import container_of
from vnicaudit.platforms.host.readings import HostFact, SectionReadings, matching

CASES = [
    case
    for path in sorted(Path(__file__).parent.glob("*.yaml"))
    for case in YAML(typ="safe").load(path)
]


def _given(case: Mapping[str, Any], change: Callable[[str], str] = str) -> SectionReadings:
    later = case.get("later")
    second = _texts(later, change) if later else None
    return readings_of(*_texts(case, change), case.get("window"), second)


def _texts(
    case: Mapping[str, Any], change: Callable[[str], str]
) -> tuple[dict[str, str], dict[str, str]]:
    files, outputs = case.get("files", {}), case.get("outputs", {})
    return (
        {path: change(text) for path, text in files.items()},
        {name: change(text) for name, text in outputs.items()},
    )


def _facts(name: str) -> list[HostFact]:
    """Those of a case: what CPUs do is another fact than which there are."""
    return [fact for fact in EVERY_FACT if fact.name in (name, f"use of {name}")]


def _fields(name: str, given: SectionReadings) -> dict[str, object]:
    facts = [one for one in _facts(name) if one.in_container or not container_of(given)]
    found = [msgspec.json.decode(msgspec.json.encode(fact.read(given))) for fact in facts]
    return {
        field: value for fields in found for field, value in fields.items() if value is not None
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_readings_give_these_fields(case: dict[str, Any]) -> None:
    found = _fields(case["fact"], _given(case))
    wanted = msgspec.json.decode(msgspec.json.encode(case["is"]))
    assert {name: found.get(name) for name in wanted} == wanted
    assert not found.keys() & set(case.get("unknown", ())), "nothing tells these"


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["fact"] == "owners"], ids=lambda case: case["name"]
)
def test_excerpts_tell_as_much_as_whole_files(case: dict[str, Any], tmp_path: Path) -> None:
    """A sosreport has the files of which a live host shows excerpts."""
    fact = owners.FACT
    files: dict[str, str] = {}
    for path, text in case["files"].items():
        lines = [text] if _is_of(path, fact.files) else [""] * _is_of(path, fact.present)
        (tmp_path / "file").write_text(text)
        for each in fact.excerpts if lines != [text] else ():
            if _is_of(path, each.files):
                words = ["grep", "-aosE", each.expression, str(tmp_path / "file")]
                ran = subprocess.run(words, capture_output=True, text=True, check=False)
                assert not ran.stderr
                lines += ran.stdout.splitlines()
        if lines:
            files[path] = "\n".join(lines)
    outputs = case.get("outputs", {})
    assert fact.read(readings_of(files, outputs)) == fact.read(readings_of(case["files"], outputs))


def _is_of(path: str, patterns: Iterable[str]) -> bool:
    return any(matching({path: ""}, pattern) for pattern in patterns)


def _damages() -> Iterator[Callable[[str], str]]:
    for part in range(20):
        yield lambda text, part=part: text[: len(text) * part // 20]  # type: ignore[misc]
    for seed in range(40):
        yield lambda text, seed=seed: _damaged(text, seed)  # type: ignore[misc]


def _damaged(text: str, seed: int) -> str:
    chance = random.Random(seed)
    letters = list(text)
    for _ in range(1 + len(letters) // 20):
        at = chance.randrange(len(letters) + 1)
        letters[at : at + chance.randrange(3)] = chance.choice("0 9\n:=-,\0[%x\xa0\u0663")
    return "".join(letters)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_no_text_stops_a_fact(case: dict[str, Any]) -> None:
    for change in _damages():
        for fact in _facts(case["fact"]):
            fact.read(_given(case, change))
