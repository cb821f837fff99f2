"""``vnicaudit plan -i`` and ``apply`` over real daemons: a controller killed in the middle, two
operators at once, hosts that do not answer."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.endpoints.left import until
from tests.cli.command import as_in_a_shell
from tests.cli.inside import inside
from tests.fleet.qemu_daemons import QemuHost, qemu_hosts
from vnicaudit.remedy.applying.journal.past_run import unfinished
from vnicaudit.remedy.applying.journal.state import StateFolder

Process = subprocess.Popen[str]
DOMAINS = 2


@pytest.fixture(scope="module")
def daemons() -> Iterator[list[QemuHost]]:
    """Three hosts."""
    with qemu_hosts(3) as running:
        yield running


@pytest.fixture
def hosts(daemons: list[QemuHost]) -> list[QemuHost]:
    """Three hosts, all of whose NICs are e1000."""
    for host in daemons:
        host.define(DOMAINS)
    return daemons


def inventory(folder: Path, hosts: list[QemuHost], more: dict[str, str] | None = None) -> Path:
    """Hosts in two groups: the first one is ``lab``, the others are ``prod``."""
    path = folder / "fleet.toml"
    uris = {f"kvm{host.number}": host.uri for host in hosts} | (more or {})
    lines = [
        f'[[hosts]]\nname = "{name}"\nuri = "{uri}"\ngroups = ["{"prod" if place else "lab"}"]\n'
        for place, (name, uri) in enumerate(uris.items())
    ]
    path.write_text("[groups.lab]\n[groups.prod]\n" + "".join(lines))
    return path


def planned(
    folder: Path, hosts: list[QemuHost], more: dict[str, str] | None = None
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A plan of all hosts."""
    plan = folder / "plan.json"
    given = ("-i", inventory(folder, hosts, more), "--state", folder / "state", "-o", plan)
    return plan, inside("plan", *given, "VNICAUDIT_RETRIES=0", "VNICAUDIT_DEADLINE=60")


def applying(folder: Path, plan: Path, state: str, *words: str) -> tuple[str | Path, ...]:
    """The words of an apply."""
    return ("apply", plan, "--trust-uri", "all", "--state", folder / state, "--yes",
            "VNICAUDIT_DEADLINE=60", *words)  # fmt: skip


_STOPS = """
import os, signal, sys
from vnicaudit.cli.main import run
from vnicaudit.remedy.applying.runner import Runner
where, *words = sys.argv[1:]
real = getattr(Runner, where, None)
def stops(self, one, **more):
    if getattr(one, "unit", one).name == "h1-d1":
        os.kill(os.getpid(), signal.SIGSTOP)
    return real(self, one, **more)
if real is not None:
    setattr(Runner, where, stops)
sys.exit(run(words))
"""
BEFORE, WITHIN = "_run_unit", "_driven"
"""Where it stops: before it begins a unit, or in the middle of it."""


def started(
    words: tuple[str | Path, ...], stops: str = "", errors: int = subprocess.DEVNULL
) -> Process:
    """An apply in a process of its own. One that ``stops`` does so (SIGSTOP) at the second guest of
    the second host, to be interrupted or killed there."""
    given, named = as_in_a_shell(words)
    process = subprocess.Popen(
        [sys.executable, "-c", _STOPS, stops, *given], env=os.environ | named,
        stdout=subprocess.DEVNULL, stderr=errors, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job may ignore it
    )  # fmt: skip
    state = Path(f"/proc/{process.pid}/stat")
    until(lambda: not stops or state.read_text().rpartition(")")[2].split()[0] in "TZ", "it stops")
    return process


def half_done(state: Path, host: QemuHost) -> bool:
    """Whether a run of the state folder is in the middle of something there."""
    return any(
        run.is_open(unit.key)
        for run in unfinished(StateFolder(str(state)))
        for unit in run.request.units if unit.target == host.uri
    )  # fmt: skip


def models(hosts: list[QemuHost]) -> set[str]:
    """The models of all NICs."""
    return {model for host in hosts for model in host.models().values()}


def outcomes(folder: Path, state: str) -> list[dict[str, str]]:
    """Domain -> outcome, of each run of a state folder, newest first."""
    result = inside("runs", "--state", folder / state, "--format", "json")
    runs = json.loads(result.stdout)["runs"]
    return [{step["name"]: step["outcome"] for step in run["steps"]} for run in runs]


def test_a_fleet_is_planned_applied_canaries_first_and_taken_back(
    hosts: list[QemuHost], tmp_path: Path
) -> None:
    plan, result = planned(tmp_path, hosts)
    assert result.returncode == 0, result.stderr
    assert "6 steps like this, on 6 guests of 3 targets" in result.stdout
    assert f"next: vnicaudit apply {plan} --trust-uri all" in result.stderr
    assert "Read 3 of 3 hosts, 6 guests" in result.stderr
    steps = json.loads(plan.read_text())["steps"]
    assert [step["target"] for step in steps] == [one.uri for one in hosts for _ in range(DOMAINS)]

    dry = inside(*applying(tmp_path, plan, "state", "--dry-run"))
    assert dry.returncode == 0, dry.stderr
    assert models(hosts) == {"e1000"}

    done = inside(*applying(tmp_path, plan, "state", "--batch", "4"))
    assert done.returncode == 0, done.stderr
    assert models(hosts) == {"virtio"}
    assert [host.lock_text() for host in hosts] == [""] * 3
    order = re.findall(r"^\[\d/6.*\] (\S+): applied", done.stderr, re.MULTILINE)
    assert order[:2] == ["h0-d0", "h1-d0"]  # one of lab, one of prod, then batches

    (undo,) = re.findall(r"^Undo: vnicaudit (.*)$", done.stderr, re.MULTILINE)
    assert undo.endswith(" --trust-uri all")  # whatever their number
    words = (*shlex.split(undo), "--yes", "VNICAUDIT_DEADLINE=10")
    hosts[1].process.send_signal(signal.SIGSTOP)
    try:
        back = inside(*words)
    finally:
        hosts[1].process.send_signal(signal.SIGCONT)
    assert back.returncode == 5
    assert list(outcomes(tmp_path, "state")[0].values()).count("refused") == DOMAINS
    assert [models([host]) for host in hosts] == [{"e1000"}, {"virtio"}, {"e1000"}]
    back = inside(*words)
    assert back.returncode == 0, back.stderr
    assert models(hosts) == {"e1000"}
    assert [host.lock_text() for host in hosts] == [""] * 3


def test_a_limit_is_applied_alone(hosts: list[QemuHost], tmp_path: Path) -> None:
    plan, _result = planned(tmp_path, hosts)
    audit = ("audit", "-i", tmp_path / "fleet.toml", "--state", tmp_path / "state")
    inside(*audit, "-q", "-o", tmp_path / "out")
    done = inside(*applying(tmp_path, plan, "state", "--limit", "lab"))
    assert done.returncode == 0, done.stderr
    assert "Note: 4 of 6 steps are for other hosts (--limit)" in done.stderr
    inside(*audit, "-q", "-o", tmp_path / "out", "--limit", "lab")
    last = inside("history", "show", "latest", "--state", tmp_path / "state", "--format", "json")
    fixed = [one["state"] for one in json.loads(last.stdout)["findings"]]
    assert fixed.count("fixed") >= DOMAINS
    assert [models([host]) for host in hosts] == [{"virtio"}, {"e1000"}, {"e1000"}]
    other = inside(*applying(tmp_path, plan, "state", "--limit", "nothing"))
    assert (other.returncode, "leaves no host" in other.stderr) == (2, True)


def test_a_host_that_does_not_answer_costs_itself(hosts: list[QemuHost], tmp_path: Path) -> None:
    more = {"gone": f"qemu+unix:///session?socket={tmp_path}/nowhere"}
    plan, result = planned(tmp_path, hosts, more)
    assert result.returncode == 4
    assert "Read 3 of 4 hosts, 6 guests; 1 not at all (1 unreachable)" in result.stderr
    hosts[1].process.send_signal(signal.SIGSTOP)
    try:
        words = applying(tmp_path, plan, "state", "VNICAUDIT_DEADLINE=10")
        done = inside(*words)
    finally:
        hosts[1].process.send_signal(signal.SIGCONT)
    assert done.returncode == 5
    assert "its host does not answer" in done.stdout
    assert [models([host]) for host in hosts] == [{"virtio"}, {"e1000"}, {"virtio"}]
    again = inside(*words)
    assert again.returncode == 0, again.stderr
    assert models(hosts) == {"virtio"}
    second, first = outcomes(tmp_path, "state")
    assert {name[:2]: one for name, one in first.items()} == {
        "h0": "applied", "h1": "refused", "h2": "applied",
    }  # fmt: skip
    assert {name[:2]: one for name, one in second.items()} == {
        "h0": "already", "h1": "applied", "h2": "already",
    }  # fmt: skip


def test_a_killed_controller_keeps_its_lock_and_goes_on(
    hosts: list[QemuHost], tmp_path: Path
) -> None:
    plan, _result = planned(tmp_path, hosts)
    words = applying(tmp_path, plan, "state")
    process = started(words, BEFORE)
    process.kill()
    process.wait()
    assert f"process {process.pid}" in hosts[1].lock_text()
    assert models([hosts[1]]) == {"e1000", "virtio"}

    other = inside(*applying(tmp_path, plan, "other"))
    assert other.returncode == 5
    assert f"process {process.pid}" in other.stdout
    assert "virsh -c" in other.stdout
    assert "secret-undefine" in other.stdout
    (refused,) = outcomes(tmp_path, "other")
    assert {one for name, one in refused.items() if name.startswith("h1")} == {"refused"}

    again = inside(*words)
    assert again.returncode == 0, again.stderr
    assert models(hosts) == {"virtio"}
    assert [host.lock_text() for host in hosts] == [""] * 3
    (runs,) = outcomes(tmp_path, "state")
    assert set(runs.values()) <= {"applied", "already"}


@pytest.mark.parametrize("where", [BEFORE, WITHIN])
def test_ctrl_c_leaves_the_lock_where_something_is_half_done(
    hosts: list[QemuHost], tmp_path: Path, where: str
) -> None:
    plan, _result = planned(tmp_path, hosts)
    words, state = applying(tmp_path, plan, "state"), tmp_path / "state"
    process = started(words, where, subprocess.PIPE)
    try:
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGCONT)
        said = process.communicate(timeout=120)[1]
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    is_half_done = where == WITHIN
    assert half_done(state, hosts[1]) == is_half_done
    assert (hosts[1].lock_text() != "") == is_half_done
    assert ("it stays locked: a change there is unfinished" in said) == is_half_done
    assert [hosts[0].lock_text(), hosts[2].lock_text()] == ["", ""]
    done = inside(*words)
    assert done.returncode == 0, done.stderr
    assert models(hosts) == {"virtio"}
    assert [host.lock_text() for host in hosts] == [""] * 3


def test_two_operators_at_once_never_work_on_one_host(
    hosts: list[QemuHost], tmp_path: Path
) -> None:
    plan, _result = planned(tmp_path, hosts)
    both = [started(applying(tmp_path, plan, name)) for name in ("one", "two")]
    try:
        codes = {process.wait(120) for process in both}
    finally:
        for process in both:
            process.kill()
            process.wait()
    assert codes <= {0, 5}
    assert models(hosts) == {"virtio"}
    spans = {name: spans_of(tmp_path / name, hosts) for name in ("one", "two")}
    for place in spans["one"].keys() & spans["two"].keys():
        (begin, end), (other_begin, other_end) = spans["one"][place], spans["two"][place]
        assert end <= other_begin or other_end <= begin, place


def spans_of(state: Path, hosts: list[QemuHost]) -> dict[int, tuple[str, str]]:
    """Host -> when the first of its domains was begun by the run of a state folder, and when the
    last one was done."""
    (run,) = (state / "runs").iterdir()
    lines = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    request = json.loads((run / "run.json").read_text())
    targets = {unit["key"]: unit["target"] for unit in request["units"]}
    found: dict[int, tuple[str, str]] = {}
    for host in hosts:
        begun = {
            line["unit"] for line in lines if line["event"]["event"] == "begin"
            and targets.get(line["unit"]) == host.uri
        }  # fmt: skip
        times = [line["at"] for line in lines if line.get("unit") in begun]
        if times:
            found[host.number] = (min(times), max(times))
    return found
