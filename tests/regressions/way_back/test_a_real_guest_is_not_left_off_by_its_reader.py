"""``apply --mode restart 2>&1 | …``: the reader went away when the guest had been shut down, and a
real guest stayed off."""

from pathlib import Path

import libvirt
import pytest

from tests.rig.faults import firmware_guest
from tests.rig.hooks import ERRORS, Streams, command
from tests.rig.hypervisor import Hypervisor
from tests.rig.remedy import SYSTEM
from vnicaudit.remedy.applying.history import runs

pytestmark = pytest.mark.rig

NOT_VERIFIED = 5
"""The exit code: a guest that stays in its firmware gives no sign of being back."""


@pytest.mark.parametrize("errors", [kind for kind in ERRORS if kind != "open"])
def test_whatever_becomes_of_standard_error_the_guest_runs(
    errors: str, hypervisor: Hypervisor, tmp_path: Path
) -> None:
    state, plan = tmp_path / "state", tmp_path / "plan.json"
    words = (
        "--yes",
        "--mode",
        "restart",
        "--force-off",
        "VNICAUDIT_GUEST_DEADLINE=1",
        "--state",
        state,
    )
    with firmware_guest(hypervisor, on=True) as guest:
        assert command("plan", SYSTEM, "--domain", guest.name, "-o", plan, "--quiet").code == 0
        done = command("apply", plan, *words, streams=Streams("closed", errors, 20))
        assert done.code == NOT_VERIFIED, done
        assert done.times("behind call", "start") == 1
        assert guest.domain.isActive()
        assert "virtio" in guest.domain.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE)
        (run,) = runs(str(state))
        assert [unit.outcome for unit in run.steps] == ["applied"]
        back = command("rollback", run.id, *words, streams=Streams("closed", errors, 20))
        assert back.code == NOT_VERIFIED, back
        assert guest.domain.isActive()
        assert "e1000" in guest.domain.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE)
