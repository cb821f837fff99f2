"""An audit whose command line is parsed without click."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vnicaudit.cli.audit.request import AUDIT_OPTIONS, AuditOptions
from vnicaudit.cli.audit.run import audit_with
from vnicaudit.cli.options.plain import plain_command_line

if TYPE_CHECKING:
    from vnicaudit.cli.wiring import Wiring

_filled: Callable[..., AuditOptions] = AuditOptions
"""By name: ``tests/cli/test_options.py`` checks names and types of the options."""


def plain_audit(words: Sequence[str], wiring: Wiring) -> int | None:
    """Audit, if the words after ``audit`` are simple; None: click is to parse them."""
    options = options_in(words)
    return None if options is None else audit_with(options, wiring)


def options_in(words: Sequence[str]) -> AuditOptions | None:
    """The options in the words after ``audit``; None if they are not simple."""
    parsed = plain_command_line(words, AUDIT_OPTIONS)
    if parsed is None or not parsed.arguments:
        return None
    return _filled(targets=parsed.arguments, **parsed.records)
