"""``vnicaudit bench show``: the list, one, several, and those that are damaged."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.bench.measurements import kept, result, written
from tests.cli.inside import inside
from vnicaudit.bench.judging.stored_comparison import compare_results
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


def test_one_that_was_stopped_is_judged_by_its_runs(tmp_path: Path) -> None:
    """Its head was written before them, and said of all: not measured."""
    begun = replace(
        JUDGED,
        run=replace(JUDGED.run, finished=None),
        decision=None,
        results=tuple(
            replace(one, before=None, after=None, effect=None, verdict="invalid")
            for one in JUDGED.results
        ),
    )
    code, out, _err = show(tmp_path, kept(begun, tmp_path))
    assert code == 0
    assert out.startswith("WORSE  ")
    assert "not measured" not in out.lower()
    few = replace(begun, samples=tuple(one for one in begun.samples if one.block < 3))
    _code, out, _err = show(tmp_path, kept(few, tmp_path))
    assert out.startswith("TOO FEW RUNS  ")
    assert "not measured" not in out.lower()


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
        f"{names[1]}  quick  one, four: worse",
        f"{names[0]}  quick  web01: measured",
    ]


def test_one_that_was_not_ended(tmp_path: Path) -> None:
    code, out, err = show(tmp_path, kept(HALF, tmp_path))
    assert (code, err) == (0, "")
    assert "n = 3" in out
    assert "to not finished: it ended early\n" in out


def test_one_that_was_ended_before_its_first_run(tmp_path: Path) -> None:
    name = kept(replace(HALF, samples=()), tmp_path)
    code, out, err = show(tmp_path, name)
    assert (code, err) == (0, "")
    assert out.startswith("NOT MEASURED  web01, profile quick  ")


def test_a_damaged_one(tmp_path: Path) -> None:
    name = kept(A, tmp_path)
    samples = tmp_path / "bench" / name / "samples.jsonl"
    lines = samples.read_bytes().splitlines(keepends=True)
    samples.write_bytes(b"".join([lines[0], b"{}\n", *lines[2:]]))
    assert show(tmp_path, name) == (
        2, "", f"Error: {samples}:2: not a sample; was the file edited?\n",
    )  # fmt: skip


@pytest.mark.parametrize("place", ["x.json", "x.csv", "x.prom", "x.html", "x.txt", "x.md"])
def test_a_file_is_made_of_it(tmp_path: Path, place: str) -> None:
    name = kept(A, tmp_path)
    code, out, err = show(tmp_path, name, "-o", place)
    assert (code, err) == (0, "")
    assert (tmp_path / place).stat().st_size > 100
    assert out.startswith("MEASURED  web01, profile quick  ")


def test_what_tools_said_is_in_the_document(tmp_path: Path) -> None:
    code, out, err = show(tmp_path, kept(A, tmp_path), "--format", "json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert [sample["raw"][0]["stdout"] for sample in found["samples"]] == ["{}"] * 7


def test_a_file_is_shown(tmp_path: Path) -> None:
    code, out, err = show(tmp_path, written(A, tmp_path / "a.json"))
    assert (code, err) == (0, "")
    assert "measured  1  profile quick\n" in out


def test_a_file_comes_before_a_name(tmp_path: Path) -> None:
    name = kept(A, tmp_path)
    written(B, tmp_path / name)
    assert "measured  2  profile quick\n" in show(tmp_path, name)[1]


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
        "  iperf3 tcp, the target sends: received payload, Mb/s",
        "                 median",
        "  web01, 1 vCPU   1,000",
        "  web01, 2 vCPU   2,000",
        "",
    ]


def test_without_names_a_table_is_of_all_that_ended(tmp_path: Path) -> None:
    table = show(tmp_path, *several(tmp_path))
    kept(HALF, tmp_path)
    broken = kept(A, tmp_path)
    (tmp_path / "bench" / broken / "head.json").write_text("{}")
    code, out, err = show(tmp_path, "--table")
    assert (code, out) == table[:2]
    assert err.startswith(f"Left out: {tmp_path / 'bench' / broken / 'head.json'}: not a meas")


def test_a_table_of_nothing(tmp_path: Path) -> None:
    code, out, err = show(tmp_path, "--table")
    assert (code, out) == (2, "")
    assert err == f"Error: there is no finished measurement in {tmp_path / 'bench'}\n"


def test_a_table_of_one_as_markdown(tmp_path: Path) -> None:
    name = several(tmp_path)[1]
    code, out, err = show(tmp_path, name, "--table", "-o", "x.md")
    assert (code, err) == (0, "")
    assert out.endswith("  web01, 2 vCPU   2,000\n\n")
    assert (tmp_path / "x.md").read_text() == (
        "iperf3 tcp, the target sends: received payload, Mb/s\n\n"
        "|  | median |\n| --- | --- |\n| web01, 2 vCPU | 2,000 |\n\n"
    )


@pytest.mark.parametrize("options", [("-o", "x.json"), ("--format", "csv")])
def test_several_are_text_or_markdown(tmp_path: Path, options: tuple[str, ...]) -> None:
    assert show(tmp_path, *several(tmp_path), *options) == (
        2, "", "Error: tables of measurements can only be text or Markdown (--format markdown)\n",
    )  # fmt: skip
    assert not (tmp_path / "x.json").exists()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    assert show(tmp_path, kept(A, tmp_path), "-o", "none/x.json") == (
        2, "", "Error: none/x.json: No such file or directory\n",
    )  # fmt: skip
