"""Errors of libvirt's binding, made here."""

import libvirt


def libvirt_error(message: str, code: int | None = None) -> libvirt.libvirtError:
    """An error with this message. The binding's constructor takes the text of the last error in
    this thread instead, if there is one: another test may have left it."""
    made = libvirt.libvirtError(message)
    made.args = (message,)
    made.err = None if code is None else (code, 0, message, 2, None, None, None, -1, -1)
    return made
