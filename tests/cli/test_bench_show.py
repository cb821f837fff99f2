"""``vnicaudit bench show``: the list, one, several, and those that are damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.bench.measurements import kept, result, written
from tests.cli.inside import inside
from vnicaudit.bench.judging.afterwards import compare_results
from vnicaudit.model.measurement import BenchResult

A, B = result("1", {"web01": 1e9}), result("2", {"web01": 2e9})
LIVE = result("3", {"one": 1e9, "four": 0.9e9}, "live-flip")
JUDGED = compare_results(LIVE, LIVE, ("one", "four"))
HALF = replace(A, run=replace(A.run, finished=None), samples=A.samples[:3])


def show(state: Path, *arguments: str | Path) -> tuple[int, str, str]:
    done = inside("bench", "show", *arguments, "--state", state, cwd=state)
    return done.returncode, done.stdout, done.stderr


def test_there_is_nothing(tmp_path: Path) -> None:
    assert show(tmp_path) == (0, "", "")


def test_the_newest_comes_first(tmp_path: Path) -> None:
    names = [kept(one, tmp_path) for one in (A, JUDGED, HALF)]
    (tmp_path / "bench" / "20260101-000000-0000").mkdir()
    broken = kept(A, tmp_path)
    head = tmp_path / "bench" / broken / "head.json"
    head.write_bytes(b'{"schema": "\x1b[31m"}')
    code, out, err = show(tmp_path)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(f"{broken}  {head}: not a measurement: ")
    assert lines[1:] == [
        f"{names[2]}  quick  web01: unfinished",
        f"{names[1]}  quick  one, four: regressed",
        f"{names[0]}  quick  web01: measured",
    ]


def test_one_that_was_not_ended(tmp_path: Path) -> None:
    code, out, err = show(tmp_path, kept(HALF, tmp_path))
    assert (code, err) == (0, "")
    assert "n = 3" in out
    assert "to not finished: it was ended before its time\n" in out


def test_one_that_was_ended_before_its_first_run(tmp_path: Path) -> None:
    name = kept(replace(HALF, samples=()), tmp_path)
    code, out, err = show(tmp_path, name)
    assert (code, err) == (0, "")
    assert out.startswith(name)


def test_a_damaged_one(tmp_path: Path) -> None:
    name = kept(A, tmp_path)
    samples = tmp_path / "bench" / name / "samples.jsonl"
    lines = samples.read_bytes().splitlines(keepends=True)
    samples.write_bytes(b"".join([lines[0], b"{}\n", *lines[2:]]))
    assert show(tmp_path, name) == (
        2, "", f"Error: {samples}:2: not a sample; was the file edited?\n",
    )  # fmt: skip


@pytest.mark.parametrize("place", ["x.json", "x.csv", "x.xml", "x.html", "x.txt", "x.md"])
def test_a_file_is_made_of_it(tmp_path: Path, place: str) -> None:
    if place == "x.html":
        pytest.importorskip("matplotlib")
    name = kept(A, tmp_path)
    code, out, err = show(tmp_path, name, "-o", place)
    assert (code, err) == (0, "")
    assert (tmp_path / place).stat().st_size > 100
    assert out.startswith(name)


def test_what_tools_said_is_in_the_document(tmp_path: Path) -> None:
    code, out, err = show(tmp_path, kept(A, tmp_path), "--format", "json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert [sample["raw"][0]["stdout"] for sample in found["samples"]] == ["{}"] * 7


def test_a_file_is_shown(tmp_path: Path) -> None:
    code, out, err = show(tmp_path, written(A, tmp_path / "a.json"))
    assert (code, err) == (0, "")
    assert out.startswith("1  profile quick\n")


def test_a_file_comes_before_a_name(tmp_path: Path) -> None:
    name = kept(A, tmp_path)
    written(B, tmp_path / name)
    assert show(tmp_path, name)[1].startswith("2  profile quick\n")


def several(tmp_path: Path) -> list[str]:
    """The same with one and with two vCPUs."""
    found: list[BenchResult] = [
        replace(one, run=replace(one.run, labels={"vcpus": vcpus}))
        for one, vcpus in ((A, "1"), (B, "2"))
    ]
    return [kept(one, tmp_path) for one in found]


def test_several_are_one_table(tmp_path: Path) -> None:
    code, out, err = show(tmp_path, *several(tmp_path))
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "iperf3 tcp: received payload, Gb/s, 1 generator",
        "                 as found",
        "  web01, 1 vCPU      1.00",
        "  web01, 2 vCPU      2.00",
        "",
    ]


@pytest.mark.parametrize("options", [("-o", "x.json"), ("--format", "csv"), ("--charts", "c")])
def test_several_are_text_only(tmp_path: Path, options: tuple[str, ...]) -> None:
    assert show(tmp_path, *several(tmp_path), *options) == (
        2, "", "Error: several measurements are shown as text only\n",
    )  # fmt: skip
    assert not (tmp_path / "x.json").exists()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    assert show(tmp_path, kept(A, tmp_path), "-o", "none/x.json") == (
        2, "", "Error: none/x.json: No such file or directory\n",
    )  # fmt: skip


def test_nothing_to_draw_is_no_error(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    none = replace(A, samples=tuple(replace(one, valid=False, reason="x") for one in A.samples))
    code, _out, err = show(tmp_path, kept(none, tmp_path), "--charts", "c")
    assert (code, err) == (0, "There is nothing to draw: no run counts\n")
