"""``vnicaudit bench run``, with real runs over a veth pair; what cannot be run is told before."""

import json
import re
import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec.structs import replace

from tests.bench.endpoints.left import until
from tests.bench.measurements import result
from tests.cli.command import vnicaudit
from tests.cli.two_ends import HELD, Running, TwoEnds, two_ends
from vnicaudit.bench.judging.stored_comparison import compare_results
from vnicaudit.bench.profiles.load import FOLDER
from vnicaudit.cli.bench.output import code_of
from vnicaudit.model.measurement import BenchResult

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "vnicaudit.bench-1.json"
KEPT = re.compile(r"Kept: vnicaudit bench show (\d{8}-\d{6}-[0-9a-f]{4}) --state \S+\n")


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoEnds]:
    with two_ends(tmp_path_factory.mktemp("ends"), "tests/cli/bench/test_run.py") as made:
        yield made
        until(lambda: not made.processes(), "nothing is left in the namespaces")


def patient(folder: Path, name: str) -> Path:
    """A shipped profile whose runs count on a busy machine too."""
    profile = folder / f"{name}.toml"
    text = (Path(FOLDER) / profile.name).read_text("utf-8")
    profile.write_text(f"max-steal = 100\nmax-cpu-wait = 100\n{text}")
    return profile


def document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(found)
    return found


def test_one_path(ends: TwoEnds, tmp_path: Path) -> None:
    """The shipped profile, with its guard rails."""
    state, file = tmp_path / "state", tmp_path / "x.json"
    done = vnicaudit(
        "bench", "run", ends.path, "--profile", patient(tmp_path, "smoke"), "--seconds", "1",
        "--repeats", "1", "--label", "of=mine",
        "--state", state, "-o", file,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    name = KEPT.findall(done.stderr)[0]
    assert re.fullmatch(
        rf"connecting to netns://{ends.target} and netns://{ends.peer}\n"
        r"about \d+ s: at most 2 runs, not counting repeats\n"
        r"(run \d of at most 2; about \d+ s left; .*\n)*"
        r"all 1 runs of each arm are done\n"
        rf"Kept: vnicaudit bench show {name} --state {re.escape(str(state))}\n",
        done.stderr,
    ), done.stderr
    assert done.stdout.startswith(f"MEASURED  {ends.target}, profile smoke  ")
    assert f"measured  {name}  profile smoke\n" in done.stdout
    assert "3 guard rails: 3 ok" in done.stdout
    found = document(file)
    assert [found["run"][key] for key in ("id", "design", "looks")] == [
        name, "single", [1],
    ]  # fmt: skip
    assert found["run"]["labels"]["of"] == "mine"
    assert found["arms"] == [ends.target]
    assert found["decision"] is None
    (path,) = found["paths"]
    assert (path["address"], path["mtu"], path["same_host"]) == ("192.0.2.1", 1500, True)
    assert [each["endpoint"] for each in found["environment"]] == [
        f"netns://{ends.target}", f"netns://{ends.peer}",
    ]  # fmt: skip
    assert len(found["samples"]) == 2
    for sample in found["samples"]:
        assert (sample["valid"], sample["reason"]) == (True, "")
        assert sample["values"]["goodput"] > 1e6
        assert any("iperf3" in ran["command"][0] for ran in sample["raw"])
    shown = vnicaudit("bench", "show", name, "--state", state)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, done.stdout, "")
    again = vnicaudit("bench", "show", name, "--state", state, "--format", "json")
    assert again.stdout == file.read_text()
    listed = vnicaudit("bench", "show", "--state", state)
    assert listed.stdout == f"{name}  smoke  {ends.target}: measured\n"


def test_two_paths_as_files_of_all_kinds(ends: TwoEnds, tmp_path: Path) -> None:
    other = f"b=netns://{ends.target}?address=192.0.2.1,netns://{ends.peer}"
    done = vnicaudit(
        "bench", "run", f"a={ends.path}", other, "-p", ends.profile, "--only", "*.tx.*", "-q",
        "--state", tmp_path / "state",
        "--format", "html", "-o", tmp_path / "x.html",
        "--format", "csv", "-o", tmp_path / "x.csv", "--format", "json", "-o", tmp_path / "x.json",
        "--format", "text",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "b against a  " in done.stdout
    assert (
        "  no catastrophe and no broken guard rail; so few runs decide nothing else\n"
        in done.stdout
    )
    found = document(tmp_path / "x.json")
    assert (found["run"]["design"], found["arms"]) == ("paths", ["a", "b"])
    assert {sample["workload"] for sample in found["samples"]} == {"iperf3.tcp.tx.c1.64k"}
    assert (found["decision"]["verdict"], found["decision"]["action"]) == ("inconclusive", "none")
    assert (tmp_path / "x.html").read_text().startswith("<!")
    assert len((tmp_path / "x.csv").read_text().splitlines()) >= 3


@pytest.mark.parametrize("ends_well", [True, False])
def test_a_secret_in_the_command_of_an_arm_is_not_told(
    ends: TwoEnds, tmp_path: Path, ends_well: bool
) -> None:
    """Neither in what is said, at any verbosity, nor in what is kept of the measurement."""
    secret, state = "correct-horse-battery", tmp_path / "state"
    command = f"sh -c ': --password={secret}; {'exit 0' if ends_well else 'exit 3'}'"
    done = vnicaudit(
        "bench", "run", ends.path, "-p", ends.profile, "--only", "*.tx.*", "--repeats", "1",
        "--arm", "before=true", "--arm", f"after={command}", "--state", state, "-vv",
        "-o", tmp_path / "x.json", env={"VNICAUDIT_DEBUG": "1"},
    )  # fmt: skip
    assert done.returncode in ((0, 1) if ends_well else (4, 5)), done.stderr
    assert secret not in done.stdout + done.stderr
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path


def test_two_arms(ends: TwoEnds, tmp_path: Path) -> None:
    """One of them has next to no network; the first is how the target is left."""
    log, file = tmp_path / "log", tmp_path / "x.json"
    slow = "tc qdisc replace dev eth0 root tbf rate 1mbit burst 16k latency 50ms"
    done = vnicaudit(
        "bench", "run", ends.path, "-p", ends.profile, "--only", "*.tx.*", "--repeats", "2",
        "--arm", f"fast=sh -c 'echo fast >>{log}; tc qdisc del dev eth0 root || true'",
        "--arm", f"slow=sh -c 'echo slow >>{log}; {slow}'",
        "--state", tmp_path / "state", "-v", "-o", file,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    found = document(file)
    assert (found["run"]["design"], found["arms"]) == ("live-flip", ["fast", "slow"])
    assert (found["decision"]["verdict"], found["decision"]["action"]) == ("regressed", "none")
    ran = log.read_text().split()
    assert ran[:2] == ["fast", "slow"]  # looked at, and warmed up
    assert ran[-1] == "fast"
    assert all(first != second for first, second in pairwise(ran))
    order = [sample["arm"] for sample in found["samples"]]
    told = [line.partition(":")[0] for line in done.stderr.splitlines()]
    assert [word for word in told if word in ("fast", "slow")] == order
    words = ("bench", "compare", file, file, "--arms", "slow,fast", "--format", "json")
    compared = vnicaudit(*words)
    assert compared.returncode == 0, compared.stderr
    other = json.loads(compared.stdout)
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(other)
    assert (other["run"]["design"], other["arms"]) == ("live-flip", ["slow", "fast"])
    assert sorted(sample["arm"] for sample in other["samples"]) == sorted(order)
    assert all(sample["raw"] for sample in other["samples"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_is_interrupted(ends: TwoEnds, tmp_path: Path, number: signal.Signals) -> None:
    """Nothing is left running, and what was measured is there."""
    state, log = tmp_path / "state", tmp_path / "log"
    running = Running(
        "bench", "run", ends.path, "-p", ends.profile, "--seconds", "600", "--state", state,
        "--arm", f"one=sh -c 'echo one >>{log}'", "--arm", f"two=sh -c 'echo two >>{log}'",
        folder=tmp_path, patch=HELD,
    )  # fmt: skip
    running.until_it_measures(ends)
    done = running.signalled(number)
    assert done.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number]
    until(lambda: not ends.processes(), "nothing runs there")
    assert running.left() == []
    assert done.stdout == ""
    kept = re.findall(r"the measurement so far is stored: vnicaudit bench show (\S+)", done.stderr)
    assert len(kept) == 1, done.stderr
    assert done.stderr.endswith("Interrupted.\n") is (number == signal.SIGINT)
    assert log.read_text().split()[-1] == "one"
    listed = vnicaudit("bench", "show", "--state", state)
    assert listed.stdout == f"{kept[0]}  fast  one, two: unfinished\n"
    shown = vnicaudit("bench", "show", kept[0], "--state", state)
    assert shown.returncode == 0, shown.stderr
    assert "not finished" in shown.stdout


def test_it_is_killed(ends: TwoEnds, tmp_path: Path) -> None:
    """What it began ends by itself when nothing is heard of it any more."""
    running = Running(
        "bench", "run", ends.path, "-p", ends.profile, "--seconds", "60",
        "--state", tmp_path / "state", folder=tmp_path,
        patch="from vnicaudit.bench.endpoints import opening\n"
        "opening.open_endpoint.__kwdefaults__['lease'] = 12.0",
    )  # fmt: skip
    running.until_it_measures(ends)
    running.signalled(signal.SIGKILL)
    until(lambda: not ends.processes(), "what was begun has ended by itself")
    until(lambda: not running.left(), "its folders are gone")
    listed = vnicaudit("bench", "show", "--state", tmp_path / "state")
    assert listed.stdout.endswith(f"  fast  {ends.target}: unfinished\n")


GOOD, LOST = result("1", {"a": 1e9, "b": 1e9}, "paths"), result("1", {"a": 1e9})
LIVE = result("3", {"a": 2e9, "b": 1.5e9}, "live-flip")
INVALID = tuple(replace(one, valid=False) for one in LOST.samples)


@pytest.mark.parametrize(
    ("measured", "code"),
    [
        (GOOD, 0),
        (LOST, 0),
        (compare_results(LIVE, LIVE, ("a", "b")), 1),
        (compare_results(result("1", {"a": 2e9}), result("2", {"a": 1.5e9})), 0),
        (result("1", {"host": 2e9, "vm": 1e9}, "paths"), 0),
        (replace(LOST, samples=INVALID), 4),
        (replace(GOOD, samples=GOOD.samples[:7]), 4),
        (replace(LOST, samples=()), 4),
    ],
)
def test_the_exit_code(measured: BenchResult, code: int) -> None:
    assert code_of(measured) == code
