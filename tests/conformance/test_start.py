"""Random definitions: ``nics`` and ``audit`` say the same of their start, and so does the libvirt
of this machine; with ``--long`` also newer ones, and of command lines."""

import random
import re
from collections.abc import Callable

import pytest

from tests.conformance import argv, start
from tests.conformance.define import random_domain
from tests.conformance.releases import HERE, RELEASES
from tests.drawing import drawn_seed
from tests.not_run import not_run
from tests.rig.errors import Missing
from tests.rig.process import require
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.platforms.domain_xml.read import read_bytes

Run = Callable[[int, int, str], int]

_NEVER = re.compile(r"refuses|(?<!later do )not start")
"""Not "11.2 and later do not start it", where the version is unknown."""
_HOSTS = (
    HostConfig(),
    HostConfig(libvirt_version=Version(9), qemu_version=Version(7, 2, 22)),
    HostConfig(libvirt_version=Version(12, 8), qemu_version=Version(11, 1, 3)),
)


@pytest.mark.parametrize("host", _HOSTS, ids=["unknown", "9.0", "12.8"])
def test_nics_and_audit_take_a_start_from_one_place(host: HostConfig) -> None:
    engine = DomainAuditor(rule_ids(), every_platform())
    chance = random.Random(7)
    for _ in range(250):
        text = random_domain(chance, "g")
        (domain,) = read_bytes(text.encode(), target="t", file="f.xml")
        found = engine.audit_domain(domain, host, "t").findings
        said = {
            one.about.index
            for one in found
            if one.about.kind == "nic" and one.severity == "error" and _NEVER.search(one.message)
        }
        lost = {nic.index for nic in domain.nics if not engine.effective(nic, domain, host).starts}
        assert said == lost, text


@pytest.mark.rig
@pytest.mark.parametrize("run", [start.run, start.run_fixes])
def test_what_starts_is_as_said(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """And starts when it is fixed."""
    _holds(run, 20261129, 60, HERE, capsys)


@pytest.mark.rig
@pytest.mark.long
@pytest.mark.parametrize("release", [HERE, *RELEASES])
@pytest.mark.parametrize("run", [start.run, start.run_fixes, argv.run])
def test_fresh_ones_are_as_said(
    run: Run,
    release: str,
    capsys: pytest.CaptureFixture[str],
    record_property: Callable[[str, object], None],
) -> None:
    seed = drawn_seed()
    record_property("drawn", f"seed {seed}")
    _holds(run, seed, 400, release, capsys)


def _holds(
    run: Run, seed: int, count: int, release: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        require("ip", "libvirtd", "unshare", "qemu-system-x86_64", "qemu-system-s390x")
        code = run(seed, count, release)
    except Missing as error:
        not_run("rig", str(error))
    assert code == 0, capsys.readouterr().out
