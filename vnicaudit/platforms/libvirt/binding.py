"""The one place that imports libvirt-python, and says what to install if it is missing."""

from __future__ import annotations

import os

from vnicaudit.errors import MissingExtraError

_OUTPUTS = "LIBVIRT_LOG_OUTPUTS"
_is_quiet = not any(name in os.environ for name in (_OUTPUTS, "LIBVIRT_DEBUG"))
if _is_quiet:  # libvirt reads this once, when it is loaded; otherwise it logs on standard error
    os.environ[_OUTPUTS] = "4:file:/dev/null"
try:
    import libvirt
except ImportError as error:
    raise MissingExtraError("reading a live libvirt", "libvirt") from error
finally:
    if _is_quiet:
        del os.environ[_OUTPUTS]

__all__ = ["libvirt"]
