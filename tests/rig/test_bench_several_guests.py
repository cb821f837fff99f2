"""Two real guests, as docs/how-to/bench.md has it: measured side by side, or one from the other."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli.command import vnicaudit
from tests.rig import bench
from tests.rig.domain_xml import Nic
from tests.rig.guests import Guest, GuestFactory

pytestmark = [pytest.mark.rig, pytest.mark.alone, pytest.mark.long]


class TwoGuests(NamedTuple):
    """Each with two vCPUs and two pairs of queues."""

    first: Guest
    second: Guest


@pytest.fixture(scope="module")
def guests(x86_guest: GuestFactory) -> Iterator[TwoGuests]:
    nic = Nic("virtio", extra="<driver queues='2'/>")
    guest = partial(x86_guest, nic, vcpus=2, python=True)
    with guest() as first, guest() as second:
        first.wait_for_dns()
        second.wait_for_dns()
        yield TwoGuests(first, second)


def run(folder: Path, profile: str, *words: str) -> dict[str, Any]:
    """``bench run`` with these words: the result, with the runs that count. Each workload has some
    in each arm: one of two emulated guests that began too late, on a busy machine, is repeated."""
    out = folder / "result.json"
    path = bench.profile(folder, profile, head=bench.FEW + "guards = []\n")
    options = ["--profile", path, "--seconds", "8", "--state", str(folder / "state")]
    options += ["-o", str(out)]
    ran = vnicaudit("bench", "run", *words, *options, timeout=900)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    result: dict[str, Any] = json.loads(out.read_text())
    assert bench.counted(result), [one["reason"] for one in result["samples"]]
    result["samples"] = [one for one in result["samples"] if one["valid"]]
    return result


def test_one_guest_from_the_other(guests: TwoGuests, tmp_path: Path) -> None:
    """Two paths, one of them with the hypervisor named."""
    first, second = (f"agent://{guest.name}" for guest in guests)
    named = f"{second}?connect=qemu:///system"
    words = (f"there={first},{second}", f"back={named},{first}")
    result = run(tmp_path, bench.RX + bench.REQUESTS, *words)
    assert result["run"]["design"] == "paths"
    assert {sample["arm"] for sample in result["samples"]} == {"there", "back"}
    streams = [one for one in result["samples"] if one["workload"].startswith("iperf3")]
    assert all(one["covariates"]["cpu"]["host"] for one in streams)
