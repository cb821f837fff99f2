"""How long a guest's vCPUs waited for a CPU of the host: steal time, seen from outside.

libvirt's ``vcpu.N.delay`` (domain statistics, group vcpu; since libvirt 7.2.0, commit 4719ec15e97d)
is *run_delay*, the second number in ``/proc/PID/task/TID/schedstat``, in nanoseconds
(Documentation/scheduler/sched-stats.rst). KVM tells the guest the same number as steal time, where
the guest asks for it; here it is known of every guest, without an agent.
"""

from __future__ import annotations

from typing import Protocol


class Delays(Protocol):
    """A domain whose vCPUs can be asked (:class:`vnicaudit.remedy.hypervisor.Machine`)."""

    def vcpu_delays(self) -> tuple[int | None, ...]:
        """Nanoseconds that each vCPU has waited so far; None where libvirt does not say. Raises
        ActionError."""


def waited(
    before: tuple[int | None, ...], after: tuple[int | None, ...], seconds: float
) -> float | None:
    """Per cent of the time, of the vCPU that waited longest: one that waits can hold up all
    traffic. vCPUs that were not there all the time do not count; None where none was."""
    delays = [
        late - early
        for early, late in zip(before, after, strict=False)
        if early is not None and late is not None and late >= early
    ]
    if not delays or seconds <= 0:
        return None
    return min(100.0, max(delays) / (seconds * 1e9) * 100)
