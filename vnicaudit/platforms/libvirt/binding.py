"""The one place that imports libvirt-python, and says what to install if it is missing."""

from __future__ import annotations

from vnicaudit.errors import MissingExtraError

try:
    import libvirt
except ImportError as error:
    raise MissingExtraError("reading a live libvirt", "libvirt") from error

__all__ = ["libvirt"]
