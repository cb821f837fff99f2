"""The devices by which a host is managed: by the session that asks, also below sudo."""

import os
import shutil
import subprocess

import pytest

from tests.not_run import not_run
from tests.remedy.applying.settings_host import veth_namespace
from vnicaudit.model.host import Section
from vnicaudit.platforms.host.facts import management
from vnicaudit.platforms.host.readings import SectionReadings, facts_from, script_for
from vnicaudit.reaching.opening import open_place
from vnicaudit.reaching.sections import ask

SESSION, TO, FROM = "ssh session", "way to the client", "way from the client"
VRF = "ip link show type vrf"
BACK = "local 10.0.0.1 dev lo table local src 10.0.0.1 uid 0 \\    cache <local> "


def managed_by(*sections: Section) -> tuple[str, ...] | None:
    return facts_from(SectionReadings(sections), (management.FACT,)).managed_by


@pytest.mark.parametrize(
    ("answer", "code", "devices"),
    [
        ("10.0.0.2 from 10.0.0.1 dev eth0.5 uid 0 \\    cache ", 0, ("eth0.5", "lo")),
        ("10.9.0.2 from 10.0.0.1 via 10.0.0.3 dev br-ex uid 0 \\    cache ", 0, ("br-ex", "lo")),
        ("fe80::2 from :: dev eth1 proto kernel src fe80::1 metric 256 pref medium", 0,
         ("eth1", "lo")),
        ("RTNETLINK answers: Network is unreachable", 2, None),
        ("", 0, None),
    ],
)  # fmt: skip
def test_devices_of_the_routes(answer: str, code: int, devices: tuple[str, ...] | None) -> None:
    found = [Section(SESSION, "10.0.0.2"), Section(TO, answer, code), Section(FROM, BACK, 0)]
    assert managed_by(*found) == devices
    assert managed_by(*found, Section(VRF, "", 0)) == devices
    assert managed_by(*found, Section(VRF, "9: red: <NOARP,MASTER,UP>", 0)) is None


def test_nobody_logged_in_or_nobody_knows() -> None:
    assert managed_by(Section(SESSION, "")) == ()
    assert managed_by() is None


@pytest.mark.parametrize("around", [[], ["sh", "-c", 'env -u SSH_CONNECTION "$@"; true', "sh"]])
def test_a_session_is_found_above_what_hides_it(around: list[str]) -> None:
    if shutil.which("ip") is None:
        not_run("tests", "iproute2 is not installed")
    with veth_namespace() as namespace:
        for line in ("addr add 10.0.0.1/24 dev v0", "link set v0 up", "link set v1 up"):
            subprocess.run(["ip", "-n", namespace, *line.split()], check=True)
        place = open_place(f"netns://{namespace}")
        run = place.run
        place.run = lambda argv, *, seconds: run(  # type: ignore[method-assign]
            (*around, *argv), seconds=seconds
        )
        old = os.environ.pop("SSH_CONNECTION", None)
        try:
            script = script_for((management.FACT,))
            os.environ["SSH_CONNECTION"] = "10.0.0.2 50022 10.0.0.1 22"
            assert managed_by(*ask(place, script, "0")) == ("v0", "lo")
        finally:
            os.environ.pop("SSH_CONNECTION", None)
            if old is not None:
                os.environ["SSH_CONNECTION"] = old
