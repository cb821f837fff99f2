"""A booted guest whose agent answers."""

import libvirt
import pytest

from tests.rig.domain_xml import MAC, Nic
from tests.rig.guests import GuestFactory
from tests.rig.hypervisor import URI
from tests.rig.process import wait_for
from vnicaudit.model.domain import Domain
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.platforms.libvirt.live import read

pytestmark = pytest.mark.rig

LIBOSINFO = "http://libosinfo.org/xmlns/libvirt/domain/1.0"
LIVE = libvirt.VIR_DOMAIN_AFFECT_LIVE | libvirt.VIR_DOMAIN_AFFECT_CONFIG


def test_the_agent_tells_the_system_only_when_it_is_asked(x86_guest: GuestFactory) -> None:
    with x86_guest(Nic("e1000", mac=MAC), machine="q35") as guest:
        # as one that was never described: it need not be booted for it
        guest.domain.setMetadata(libvirt.VIR_DOMAIN_METADATA_ELEMENT, None, None, LIBOSINFO, LIVE)
        homemade = _asked(guest.name)
        guest.run(["sh", "-c", "printf 'ID=debian\nVERSION_ID=13\n' > /etc/os-release"])
        asked = _asked(guest.name)
        not_asked = _domain(guest.name, agent=False)
    assert homemade.state is not None
    assert homemade.state.guest_os == "vnicaudit-rig 1"
    assert homemade.declared.readiness == "unknown"
    assert asked.state is not None
    assert asked.state.agent is True
    assert asked.state.guest_os == "debian 13"
    assert (asked.state.guest_kernel or "").startswith("6.")
    assert asked.declared.readiness == "ready"
    assert not_asked.state is not None
    assert not_asked.state.agent is True
    assert not_asked.state.guest_os is None
    assert not_asked.declared.readiness == "unknown"


def _asked(name: str) -> Domain:
    """Read again until the guest's agent has answered in time: all have ten seconds together, and
    on a busy machine an emulated one may take longer."""

    def answered() -> Domain | None:
        found = _domain(name, agent=True)
        return found if found.state is not None and found.state.guest_os else None

    return wait_for(answered, f"the agent of {name} tells its system")


def _domain(name: str, *, agent: bool) -> Domain:
    found = [
        item for item in read(URI, LiveOptions(agent=agent)).domains if isinstance(item, Domain)
    ]
    return next(domain for domain in found if domain.name == name)
