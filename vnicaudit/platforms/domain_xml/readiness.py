"""Can this guest drive virtio-net? Judged from its definition alone."""

from __future__ import annotations


def readiness_of(
    os_id: str | None, *, virtio_nic: bool, virtio_disk: bool, windows_hint: bool
) -> str:
    """ready, ready-transitional, needs-driver, unknown or not-supported.

    A virtio NIC beside the one in question is proof; a virtio disk is proof except on Windows,
    where NetKVM is a driver of its own.
    """
    windows = windows_hint or (os_id or "").startswith("http://microsoft.com/")
    if virtio_nic:
        return "ready"
    if windows:
        return "needs-driver"
    if virtio_disk:
        return "ready"
    return "unknown"
