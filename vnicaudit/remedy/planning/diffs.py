"""The difference between two definitions, as it is reviewed."""

from __future__ import annotations

import difflib
import re

from vnicaudit.remedy.contract import DOMAIN_XML, writer_of

_SECRETS = (
    re.compile(r"(?P<before>\bpasswd\s*=\s*(?P<quote>['\"]))(?P<secret>(?:(?!(?P=quote))[^<])+)"),
    re.compile(r"(?P<before><cookie\b[^<>]*(?<!/)>)(?P<secret>[^<]+)"),
)
"""What libvirt hands out with VIR_DOMAIN_XML_SECURE only (domain_conf.c): passwords of VNC and
SPICE, cookies of disks. A file has them, and a plan is kept where others read it."""


def unified_diff(before: bytes, after: bytes, name: str) -> str:
    """A unified diff of two definitions as text, whatever their encoding; undecodable bytes as
    escapes, secrets as stars. Empty where they are the same."""
    old, new = (_lines(data) for data in (before, after))
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(old, new, name, name)
    )


def _lines(data: bytes) -> list[str]:
    text = writer_of(DOMAIN_XML).text_of(data)
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    for secret in _SECRETS:
        text = secret.sub(_hidden, text)
    return [line for line in re.split(r"(?<=\n)", text) if line]  # by line feeds alone


def _hidden(found: re.Match[str]) -> str:
    """As many lines as there were, so that the others keep their numbers."""
    return f"{found['before']}***" + "\n" * found["secret"].count("\n")
