"""A host on IBM Z, as far as QEMU emulates one: read by its guest agent, for it has no sshd."""

from collections.abc import Sequence

import pytest

from tests.rig.domain_xml import S390X_MAC, Nic
from tests.rig.guests import Guest, GuestFactory
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.host import Host
from vnicaudit.model.host_facts import HostFacts, ZFacts
from vnicaudit.model.measurement import Ran
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.host.visiting import visit
from vnicaudit.platforms.host.visiting.visit import read_visit

pytestmark = pytest.mark.rig

_TARGET = "ssh://z"


class _ByAgent:
    """The guest, in place of one that is reached by ssh."""

    url = _TARGET

    def __init__(self, guest: Guest) -> None:
        self._guest = guest

    def run(self, argv: Sequence[str], *, seconds: float) -> Ran:
        # BusyBox prefers its own ip to the one of iproute2
        words = [word.replace("limited ip ", "limited /usr/bin/ip ") for word in argv]
        ran = self._guest.run(words, timeout=seconds)
        return Ran(tuple(argv), ran.exit_code, ran.stdout, ran.stderr, endpoint=self.url)

    def close(self) -> None:
        """Nothing is open."""


def test_a_host_on_ibm_z_is_read(
    s390x_guest: GuestFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s390x_guest(Nic("virtio", mac=S390X_MAC)) as guest:
        guest.run(["modprobe", "qeth"]).output()
        monkeypatch.setattr(visit, "open_place", lambda _url: _ByAgent(guest))
        items = list(read_visit(_TARGET, LiveOptions(deadline=300)))
    (host,) = (item for item in items if isinstance(item, Host))
    (facts,) = (item for item in items if isinstance(item, HostFacts))
    assert (host.declared.arch, facts.arch, host.declared.kvm) == ("s390x", "s390x", False)
    assert facts.z == ZFacts("KVM in LPAR", shared=False, capped=False, hypervisors=("KVM/Linux",))
    assert facts.sysctl("net.core.netdev_max_backlog") == 1000
    # its driver is there, and the link is known to be no OSA
    assert [(link.name, link.qeth) for link in facts.links or ()] == [("lo", None), ("eth0", None)]
    # what its BusyBox cannot tell is unknown, and the guests there are said to be
    assert (facts.processes, facts.huge_pages, facts.migration_cost) == (None, None, None)
    assert [item.message for item in items if isinstance(item, ReadError)] == [
        "the QEMU processes there could not be listed, which needs the grep of GNU"
    ]
