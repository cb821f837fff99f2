"""Random definitions: ``nics`` and ``audit`` say the same of their start, and so does the libvirt
of this machine."""

from __future__ import annotations

import random
import re

import pytest

from tests.conformance import start
from tests.conformance.define import random_domain
from tests.not_run import not_run
from tests.rig.errors import Missing
from tests.rig.process import require
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.host import HostConfig
from vnicaudit.model.refs import NicRef
from vnicaudit.model.version import Version
from vnicaudit.platforms.domain_xml.read import read_bytes

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
            if isinstance(one.about, NicRef)
            and one.severity == "error"
            and _NEVER.search(one.message)
        }
        lost = {nic.index for nic in domain.nics if not engine.effective(nic, domain, host).starts}
        assert said == lost, text


@pytest.mark.rig
@pytest.mark.parametrize("seed", [1, 20261129])
def test_what_starts_is_as_said(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        require("ip", "libvirtd", "unshare", "qemu-system-x86_64", "qemu-system-s390x")
    except Missing as error:
        not_run("rig", str(error))
    code = start.run(seed, 60)
    assert code == 0, capsys.readouterr().out
