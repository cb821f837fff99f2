"""``bench run --beside``: several targets at once, judged by all together and by the least."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.bench.endpoints.left import until
from tests.cli.command import vnicaudit
from tests.cli.two_ends import FAST, HELD, Running, TwoEnds
from tests.not_run import not_run

RX = FAST.replace('"tx", "rx"', '"rx"')


class ThreeEnds(NamedTuple):
    """Two targets and their peer. The way to ``a`` carries 60 Mb/s, that to ``b`` 20 Mb/s."""

    a: str
    b: str
    peer: str

    @property
    def words(self) -> tuple[str, ...]:
        return (
            f"netns://{self.a}?address=192.0.2.1,netns://{self.peer}",
            "--beside", f"netns://{self.b}?address=198.51.100.1,netns://{self.peer}",
        )  # fmt: skip


@pytest.fixture(scope="module")
def ends() -> Iterator[ThreeEnds]:
    if os.getuid() != 0 or shutil.which("ip") is None or shutil.which("iperf3") is None:
        not_run("tests/cli/bench/test_beside.py", "it needs root, iproute2 and iperf3")
    names = ThreeEnds(*(f"vnb{os.getpid()}{end}" for end in "abp"))
    with ExitStack() as stack:
        for name in names:
            _ip("netns", "add", name)
            stack.callback(_ip, "netns", "del", name)
            _ip("-n", name, "link", "set", "lo", "up")
        ways = ((names.a, "192.0.2", "60mbit"), (names.b, "198.51.100", "20mbit"))
        for name, network, rate in ways:
            link = f"to{name[-1]}"
            pair = ("type", "veth", "peer", "name", link, "netns", names.peer)
            _ip("-n", name, "link", "add", "eth0", *pair)
            for where, device, host in ((name, "eth0", 1), (names.peer, link, 2)):
                _ip("-n", where, "addr", "add", f"{network}.{host}/24", "dev", device)
                _ip("-n", where, "link", "set", device, "up")
            shape = f"tc qdisc add dev {link} root tbf rate {rate} burst 32k latency 50ms"
            subprocess.run(["ip", "netns", "exec", names.peer, *shape.split()], check=True)
        yield names
        until(lambda: not _processes(names), "nothing is left in the namespaces")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def _processes(names: ThreeEnds) -> str:
    listed = [["ip", "netns", "pids", name] for name in names]
    return "".join(subprocess.run(one, capture_output=True, text=True).stdout for one in listed)


def profile(folder: Path) -> Path:
    """Of runs so long that targets which begin a second apart on busy cores still measure most of
    the time together."""
    path = folder / "rx.toml"
    path.write_text(RX.replace("seconds = 1", "seconds = 6"))
    return path


def test_all_together_and_the_least_are_what_decides(ends: ThreeEnds, tmp_path: Path) -> None:
    out = tmp_path / "x.json"
    words = ("-p", profile(tmp_path), "--state", tmp_path / "state", "-o", out)
    done = vnicaudit("bench", "run", *ends.words, *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert found["workloads"][0]["decides"] == ["goodput", "goodput_least"]
    (path,) = found["paths"]
    assert path["beside"] == [f"netns://{ends.b}?address=198.51.100.1"]
    counted = [sample for sample in found["samples"] if sample["valid"]]
    assert counted, found["samples"]
    (values, details) = counted[-1]["values"], counted[-1]["details"]
    each = [value for name, value in details.items() if name.startswith("goodput of netns://")]
    assert values["goodput"] == pytest.approx(sum(each))
    assert values["goodput_least"] == min(each) < 21e6
    assert 30e6 < values["goodput"] < 85e6  # of a and b, though one is held up for some time
    assert "the least" in done.stdout


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("a=local", "b=local", "--beside", "netns://x"), "--beside needs exactly one path"),
        (("netns://x", "--beside", "netns://x"), "--beside: name targets other than PATH"),
        (("netns://x", "--beside", "netns://y", "-p", "quick"), "is a search, and several at once"),
    ],
)
def test_what_makes_no_sense_is_refused(words: tuple[str, ...], problem: str) -> None:
    done = vnicaudit("bench", "run", "-p", "smoke", *words)
    assert done.returncode == 2
    assert problem in done.stderr


def test_nothing_is_left_when_it_is_interrupted(ends: ThreeEnds, tmp_path: Path) -> None:
    state = tmp_path / "state"
    words = ("-p", profile(tmp_path), "--seconds", "600", "--state", state)
    running = Running("bench", "run", *ends.words, *words, folder=tmp_path, patch=HELD)
    running.until_it_measures(TwoEnds(ends.a, ends.b, tmp_path))
    done = running.signalled(signal.SIGINT)
    assert done.returncode == 130
    until(lambda: not _processes(ends), "nothing runs there")
