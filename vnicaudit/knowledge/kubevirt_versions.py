"""Facts that depend on the version of KubeVirt, as its KubeVirt object says it
(``status.observedKubeVirtVersion``).

Each function answers for a version as text (``v1.8.4``). None: the version is not known, so nobody
can tell. Read in kubevirt/kubevirt at the tags v1.0.0 to v1.9.0 (newest: 2026-07-27); the place is
beside each fact. Later versions are taken to be like the newest one.
"""

from __future__ import annotations

import re
from typing import Literal

Rollout = Literal["Stage", "LiveUpdate"]
_Number = tuple[int, int, int]

_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,6}))?(?![\d.])")
_FIRST = (1, 0, 0)

LIVE_UPDATE = (1, 6, 0)
"""From here on the default of ``vmRolloutStrategy``, Stage before: ``DefaultVMRolloutStrategy`` in
pkg/virt-config/virt-config.go."""
AUTO_MIGRATION = (1, 6, 0)
"""A VM is migrated by KubeVirt itself after a NIC was plugged in: pkg/network/migration/
evaluator.go, which is not there in 1.5."""
NAD_UPDATE = (1, 9, 0)
"""A network's NAD can be changed while the VM runs; in 1.8 with the gate LiveUpdateNADRef:
pkg/network/vmliveupdate/restart.go."""
REVISION_IN_STATUS = (1, 5, 0)
"""The recorded revision is in ``status.preferenceRef.controllerRevisionRef``; before in
``spec.preference.revisionName``: pkg/instancetype/revision/store.go."""
RESTART_REQUIRED = (1, 2, 0)
"""A VM whose change waits for a restart has the condition RestartRequired: pkg/virt-controller/
watch/vm."""
REVERT_CLEARS_IT = (1, 8, 0)
"""The condition goes when the change is reverted (``syncRestartRequired``); before, with a restart
only."""
PLUGINS = (1, 9, 0)
"""Objects of kind Plugin, with the gate Plugins: staging/src/kubevirt.io/api/plugin."""

_NO_CPU_HOTPLUG = (
    ((1, 3, 0), (1, 4, 1)),
    ((1, 5, 0), (1, 5, 2)),
)
"""From, and up to without: a change of vCPUs needs a restart where multiqueue is on ("Changes to
CPU sockets require a restart when NetworkInterfaceMultiQueue is enabled", pkg/virt-controller/
watch/vm; PR 12180 and 14728)."""


def number_of(version: str | None) -> _Number | None:
    """``v1.8.4-12-gabc`` -> (1, 8, 4); None if it is no version of KubeVirt 1."""
    match = _VERSION.match(version or "")
    if match is None:
        return None
    major, minor, patch = match.groups()
    number = int(major), int(minor), int(patch or 0)
    return number if number >= _FIRST else None


def is_known(version: str | None) -> bool:
    """True if it is known what a version does."""
    return number_of(version) is not None


def is_at_least(version: str | None, first: _Number) -> bool | None:
    """True from that version on."""
    number = number_of(version)
    return None if number is None else number >= first


def default_rollout(version: str | None) -> Rollout | None:
    """The rollout strategy of a KubeVirt object that names none."""
    live = is_at_least(version, LIVE_UPDATE)
    return None if live is None else "LiveUpdate" if live else "Stage"


def multiqueue_blocks_cpu_hotplug(version: str | None) -> bool | None:
    """True if a change of vCPUs needs a restart because the VM has multiqueue."""
    number = number_of(version)
    return None if number is None else any(a <= number < b for a, b in _NO_CPU_HOTPLUG)


def changes_attachment_live(version: str | None, gates: frozenset[str]) -> bool | None:
    """True if another NetworkAttachmentDefinition takes effect without a restart."""
    live = is_at_least(version, NAD_UPDATE)
    if live is False and is_at_least(version, (1, 8, 0)):
        return "LiveUpdateNADRef" in gates
    return live
