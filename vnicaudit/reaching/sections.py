"""Several facts of one place in one round trip: a fixed shell script prints them in sections.

A section begins with a line of a separator and a name. The separator is random for each call, so
that no output can pretend to be a section. Scripts are constants; variable values are passed to
them as arguments, never written into them.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace

from vnicaudit.errors import EndpointError
from vnicaudit.model.host import Section
from vnicaudit.model.measurement import Ran

BEGINNING = r"""
separator=$1 most=$2
shift 2
LC_ALL=C PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export LC_ALL PATH
part() { # NAME: what follows is its text
    printf '\n%s %s\n' "$separator" "$1"
}
fact() { # NAME COMMAND...: what the command prints (its beginning), then how it ended
    part "$1"
    shift
    { "$@" 2>&1 </dev/null; printf '\n%s %s' "$separator" "code $?"; } | head -c "$most"
}
"""
"""The beginning of scripts: defines ``part``, ``fact``."""

ENDING = """
part end
"""
"""The end of scripts: output without it was cut off."""

FACT_BYTES = 32768
"""Bytes of a fact that are read, if the caller does not say otherwise."""
_CODE = re.compile(r"[0-9]{1,3}")
_SSH_FAILED = 255
"""ssh(1): its own exit code if there is an error."""


class AskedPlace(Protocol):
    """A place where programs run: one that was opened for this
    (:class:`vnicaudit.reaching.opening.OpenPlace`), or an endpoint of a measurement."""

    url: str

    def run(self, argv: Sequence[str], *, seconds: float) -> Ran:
        """Run a program to its end, without a shell. Raises EndpointError if there is no answer."""


def ask(
    place: AskedPlace, script: str, *arguments: str, seconds: float = 15.0, most: int = FACT_BYTES
) -> tuple[Section, ...]:
    """Run a script (a constant) and return its sections. ``most``: bytes of each fact. Raises
    EndpointError if the place is lost, there is no POSIX shell, or its answer is incomplete."""
    separator = secrets.token_hex(16)
    argv = ("sh", "-c", BEGINNING + script + ENDING, "sh", separator, str(most), *arguments)
    ran = place.run(argv, seconds=seconds)
    if ran.code != 0:
        raise EndpointError(
            f"facts of {place.url} could not be read: {_failure_reason(ran, separator)}"
        )
    return split(ran.stdout, separator)


def split(text: str, separator: str) -> tuple[Section, ...]:
    """The sections of a script's output, behind what the shell of a login may print before it.
    Raises EndpointError if its end is missing."""
    _greeting, *pieces = f"\n{text}".split(f"\n{separator} ")
    found = [_section(piece) for piece in pieces]
    if not found or found[-1] != Section("end", ""):
        raise EndpointError("the facts printed by an endpoint are incomplete")
    return tuple(_with_codes(found[:-1]))


def _section(piece: str) -> Section:
    name, _newline, text = piece.partition("\n")
    return Section(name, text)


def _with_codes(found: Sequence[Section]) -> list[Section]:
    """Each section with the exit code of its command, which is printed as another section."""
    joined: list[Section] = []
    for section in found:
        kind, _space, code = section.name.partition(" ")
        if kind == "code" and _CODE.fullmatch(code) and joined:
            joined[-1] = replace(joined[-1], code=int(code))
        else:
            joined.append(section)
    return joined


def text_of(sections: Sequence[Section], name: str) -> str:
    """The text of the first section with that name; empty if there is none."""
    return next((section.text for section in sections if section.name == name), "")


def _failure_reason(ran: Ran, separator: str) -> str:
    if ran.code is None:
        return "sh did not end in time"
    has_begun = separator in ran.stdout  # the script begins by printing
    said = " ".join((ran.stderr.strip() or ("" if has_begun else ran.stdout)).split())[:200]
    scheme, sign, _name = ran.endpoint.partition("://")
    is_lost = scheme == "ssh" and ran.code == _SSH_FAILED
    if sign and (is_lost or (said and not has_begun)):
        return f"{scheme} failed: {said or 'the connection was lost'}"
    return f"sh ended with exit code {ran.code}" + (f": {said}" if said else "")
