"""Measurements on disk: whole, ended in the middle, edited, unreadable."""

import errno
import os
from pathlib import Path

import pytest

from tests.bench.judging.made import TCP, sample
from vnicaudit.bench import history
from vnicaudit.errors import JournalError, UsageError
from vnicaudit.model.measurement import BenchResult, BenchRun, Ran


def result(run_id: str = "x") -> BenchResult:
    run = BenchRun(
        id=run_id, started="", tool="vnicaudit", version="1", profile="smoke", design="single",
        seed=1, looks=(1,), alphas=(0.05,),
    )  # fmt: skip
    return BenchResult(run=run, arms=("a",), paths=(), workloads=(TCP,))


def begun(state: Path) -> history.StoredMeasurement:
    kept = history.new_measurement(state)
    kept.write_head(result(kept.id))
    return kept


def test_what_is_kept_is_read_back(tmp_path: Path) -> None:
    kept = begun(tmp_path)
    said = Ran(("iperf3", "-c"), 0, "{…}")
    kept.add(sample(1.0, raw=(said,)))
    kept.add(sample(2.0))
    again = history.stored_measurement(tmp_path, kept.id)
    assert [one.values["goodput"] for one in again.samples()] == [1.0, 2.0]
    assert next(again.samples()).raw == (said,)
    assert again.head() == result(kept.id)
    assert again.result().samples == (sample(1.0, raw=(said,)), sample(2.0))


def test_nobody_else_may_look(tmp_path: Path) -> None:
    state = tmp_path / "state"
    kept = begun(state)
    kept.add(sample(1.0))
    kept.write_note("guards", {"ping": "{}"})
    folders = [state, state / "bench", kept.folder]
    assert {oct(one.stat().st_mode & 0o777) for one in folders} == {"0o700"}
    assert sorted(one.name for one in kept.folder.iterdir()) == [
        "guards.json", "head.json", "samples.jsonl",
    ]  # fmt: skip
    assert {oct(one.stat().st_mode & 0o777) for one in kept.folder.iterdir()} == {"0o600"}


def test_ids_are_in_the_order_of_the_runs(tmp_path: Path) -> None:
    made = [begun(tmp_path).id for _ in range(5)]
    assert history.measurement_ids(tmp_path) == made
    assert len(set(made)) == 5


def test_there_are_none(tmp_path: Path) -> None:
    assert history.measurement_ids(tmp_path) == []
    with pytest.raises(UsageError) as error:
        history.stored_measurement(tmp_path, "20261121-101500-3f2a")
    assert str(error.value) == (
        f"there is no measurement '20261121-101500-3f2a' in {tmp_path}/bench; "
        f"`vnicaudit bench show --state {tmp_path}` lists them"
    )


def test_what_is_no_measurement_is_not_listed(tmp_path: Path) -> None:
    kept = begun(tmp_path)
    history.new_measurement(tmp_path)  # never began
    (tmp_path / "bench" / "notes").mkdir()
    (tmp_path / "bench" / "notes" / "head.json").write_text("{}")
    (tmp_path / "bench" / "20261121-101500-3f2a").write_text("a file")
    assert history.measurement_ids(tmp_path) == [kept.id]


def test_a_name_that_leads_elsewhere_is_none(tmp_path: Path) -> None:
    kept = begun(tmp_path / "state")
    for name in (f"../bench/{kept.id}", "..", "", "."):
        with pytest.raises(UsageError, match="there is no measurement"):
            history.stored_measurement(tmp_path / "state", name)


def test_half_a_line_at_the_end_was_never_written(tmp_path: Path) -> None:
    kept = begun(tmp_path)
    kept.add(sample(1.0))
    whole = (kept.folder / "samples.jsonl").read_bytes()
    for cut in range(1, len(whole)):
        (kept.folder / "samples.jsonl").write_bytes(whole + whole[:-cut])
        assert list(kept.samples()) == [sample(1.0)]


@pytest.mark.parametrize("half", [b"{", b'{"workload":"tcp"' + b" " * 10_000, b"x" * 4096])
def test_what_is_added_behind_half_a_line_is_whole(tmp_path: Path, half: bytes) -> None:
    """A run that was killed while it wrote, and goes on."""
    kept = begun(tmp_path)
    kept.add(sample(1.0))
    with (kept.folder / "samples.jsonl").open("ab") as stream:
        stream.write(half)
    kept.add(sample(2.0))
    assert list(kept.samples()) == [sample(1.0), sample(2.0)]


def test_only_half_a_line_is_there(tmp_path: Path) -> None:
    kept = begun(tmp_path)
    (kept.folder / "samples.jsonl").write_bytes(b'{"work')
    assert list(kept.samples()) == []
    kept.add(sample(2.0))
    assert list(kept.samples()) == [sample(2.0)]


@pytest.mark.parametrize("line", [b"{}\n", b"\n", b"[1]\n", b"\xff\n", b"[" * 5000 + b"\n"])
def test_an_edited_line_is_named(tmp_path: Path, line: bytes) -> None:
    kept = begun(tmp_path)
    kept.add(sample(1.0))
    with (kept.folder / "samples.jsonl").open("ab") as stream:
        stream.write(line)
    with pytest.raises(UsageError) as error:
        list(kept.samples())
    assert str(error.value) == (
        f"{kept.folder}/samples.jsonl:2: not a sample; was the file edited?"
    )


@pytest.mark.parametrize("text", [b"", b"{}", b"\xff", b"[" * 5000, b'{"schema":"other/1"}'])
def test_an_edited_head_is_named(tmp_path: Path, text: bytes) -> None:
    kept = begun(tmp_path)
    (kept.folder / "head.json").write_bytes(text)
    with pytest.raises(UsageError) as error:
        kept.head()
    assert str(error.value).startswith(f"{kept.folder}/head.json: not a measurement: ")


def test_a_note(tmp_path: Path) -> None:
    kept = begun(tmp_path)
    assert kept.note("guards") == {}
    kept.write_note("guards", {"ping": '{"mean": 1}'})
    assert kept.note("guards") == {"ping": '{"mean": 1}'}
    (kept.folder / "guards.json").write_bytes(b"{")
    with pytest.raises(UsageError, match=r"guards\.json: not a note: "):
        kept.note("guards")


def test_a_folder_that_cannot_be_looked_into_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, kept = begun(tmp_path), begun(tmp_path)
    stat = os.stat

    def refused(path: Path, **more: object) -> os.stat_result:
        if Path(path).parent == closed.folder:
            raise PermissionError(errno.EACCES, "Permission denied")
        return stat(path, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", refused)
    assert history.measurement_ids(tmp_path) == [closed.id, kept.id]


def test_a_place_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError) as error:
        history.new_measurement(tmp_path / "file")
    assert str(error.value).startswith(f"{tmp_path}/file is not a folder: ")
    assert str(error.value).endswith("choose another folder with --state")


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = begun(tmp_path)
    kept.add(sample(1.0))

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    def more() -> None:
        kept.add(sample(2.0))

    def head() -> None:
        kept.write_head(result())

    for write, name in ((more, "samples.jsonl"), (head, "head.json")):
        with pytest.raises(JournalError) as error:
            write()
        assert str(error.value) == (
            f"{kept.folder}/{name} cannot be written (No space left on device): stopped "
            "there; run this again when it can be written"
        )
    assert kept.head() == result(kept.id)
