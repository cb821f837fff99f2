"""``vnicaudit bench compare``: files and names, what may be compared, and how it ends."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
from msgspec.structs import replace

from tests.bench.judging.made import TCP
from tests.bench.measurements import kept, path, result, written
from tests.cli.inside import inside
from vnicaudit.model.measurement import BenchResult

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "vnicaudit.bench-1.json"
A, B = result("1", {"web01": 1e9}), result("2", {"web01": 2e9})
LIVE = result("3", {"one": 1e9, "four": 0.9e9}, "live-flip")

NOTES = (
    "Note: measured at different times: any drift in between is part of every "
    "difference\nNote: different labels, of: 1 and 2\nNote: agent://web01 had a different "
    "kernel: 1 and 2\n"
)


def files(folder: Path, a: BenchResult = A, b: BenchResult = B) -> tuple[Path, Path]:
    return written(a, folder / "a.json"), written(b, folder / "b.json")


def test_two_files(tmp_path: Path) -> None:
    done = inside("bench", "compare", *files(tmp_path))
    assert done.returncode == 0
    assert done.stderr == NOTES
    assert done.stdout.startswith("NOT JUDGED  web01: after against before  ")
    assert "\nHow it was measured  1..2  profile quick\n  design    single flip" in done.stdout
    assert re.search(r"1\.00 Gb/s +2\.00 Gb/s +\+100 % +not judged", done.stdout)


def test_quietly(tmp_path: Path) -> None:
    done = inside("bench", "compare", *files(tmp_path), "-q")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_fall_below_half_needs_no_statistics(tmp_path: Path) -> None:
    a, b = files(tmp_path, b=result("2", {"web01": 0.3e9}))
    done = inside("bench", "compare", a, b)
    assert done.returncode == 1
    assert done.stdout.startswith("WORSE  web01: after against before  ")


def test_two_that_are_kept(tmp_path: Path) -> None:
    names = kept(A, tmp_path), kept(B, tmp_path)
    done = inside("bench", "compare", *names, "--state", tmp_path, "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(found)
    assert found["run"]["id"] == "..".join(names)
    assert [sample["arm"] for sample in found["samples"]] == ["before"] * 7 + ["after"] * 7
    assert all(sample["raw"] for sample in found["samples"])


def test_a_file_and_one_that_is_kept(tmp_path: Path) -> None:
    a, _b = files(tmp_path)
    done = inside("bench", "compare", a, kept(B, tmp_path), "--state", tmp_path, "-o", "x.csv",
                     cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "not judged" in done.stdout
    assert (tmp_path / "x.csv").read_text().count("\n") >= 14


def test_two_arms_of_one_file_are_judged_as_that_was(tmp_path: Path) -> None:
    live = written(LIVE, tmp_path / "live.json")
    done = inside("bench", "compare", live, live, "--arms", "one,four")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("WORSE  web01: four against one  ")
    assert "\nHow it was measured  3  profile quick\n  design    live flip" in done.stdout
    assert "single flip" not in done.stdout


def test_two_arms_of_two_files(tmp_path: Path) -> None:
    other = replace(LIVE, run=replace(LIVE.run, id="4"))
    done = inside(
        "bench", "compare", *files(tmp_path, LIVE, other), "--arms", "one,one", "--format", "json"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["run"]["design"], found["arms"]) == ("single-flip", ["before", "after"])
    assert "different times" in done.stderr


@pytest.mark.parametrize(
    ("a", "b", "options", "reasons"),
    [
        (LIVE, A, (), ["the first has 2 arms (one, four): choose one with --arms"]),
        (LIVE, LIVE, ("--arms", "one,five"), ["the second has no arm five; it has one, four"]),
        (
            A, replace(B, paths=(path("web01", "agent://web02"),)), (),
            ["different target: agent://web01 and agent://web02"],
        ),
        (
            A, replace(B, workloads=(replace(TCP, size=100, seconds=5.0),)), (),
            [
                "tcp was run with a different size: none and 100",
                "tcp was run with a different seconds: 10.0 and 5.0",
            ],
        ),
        (
            A, replace(B, samples=tuple(replace(one, valid=False) for one in B.samples)), (),
            ["the second has no valid run in web01"],
        ),
    ],
)  # fmt: skip
def test_what_must_not_be_compared(
    tmp_path: Path, a: BenchResult, b: BenchResult, options: tuple[str, ...], reasons: list[str]
) -> None:
    done = inside("bench", "compare", *files(tmp_path, a, b), *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"Error: these cannot be compared: {'; '.join(reasons)}\n"


@pytest.mark.parametrize("arms", ["one", "one,", ",one", "a,b,c", ""])
def test_arms_are_two(tmp_path: Path, arms: str) -> None:
    done = inside("bench", "compare", *files(tmp_path), "--arms", arms)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"Error: --arms '{arms}': expected A,B, one arm of each measurement\n"


def test_a_file_that_is_none(tmp_path: Path) -> None:
    a, b = files(tmp_path)
    b.write_text('{"schema": "vnicaudit.plan/1"}')
    done = inside("bench", "compare", a, b)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {b}: ")
