"""Several facts of one endpoint in one round trip: a fixed shell script prints them in sections.

A section begins with a line of a separator and a name. The separator is random for each call, so
that no output can pretend to be a section. Scripts are constants; variable values are passed to
them as arguments, never written into them.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import NamedTuple

from vnicaudit.bench.contract import Endpoint
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Ran

BEGINNING = r"""
separator=$1
shift
LC_ALL=C PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export LC_ALL PATH
part() { # NAME: what follows is its text
    printf '\n%s %s\n' "$separator" "$1"
}
fact() { # NAME COMMAND...: what the command prints (its beginning), then how it ended
    part "$1"
    shift
    { "$@" 2>&1 </dev/null; printf '\n%s %s' "$separator" "code $?"; } | head -c 32768
}
"""
"""The beginning of scripts: defines ``part``, ``fact``."""

ENDING = """
part end
"""
"""The end of scripts: output without it was cut off."""

_CODE = re.compile(r"[0-9]{1,3}")


class Section(NamedTuple):
    """Text printed under a name. ``code``: exit code of the command, None if the script does not
    report it or the output was too long."""

    name: str
    text: str
    code: int | None = None


def ask(
    endpoint: Endpoint, script: str, *arguments: str, seconds: float = 15.0
) -> tuple[Section, ...]:
    """Run a script (a constant) and return its sections. Raises EndpointError if the endpoint is
    lost, MeasureError if there is no POSIX shell or its answer is incomplete."""
    separator = secrets.token_hex(16)
    argv = ("sh", "-c", BEGINNING + script + ENDING, "sh", separator, *arguments)
    ran = endpoint.run(argv, seconds=seconds)
    if ran.code != 0:
        raise MeasureError(f"facts of {endpoint.url} could not be read: {_failure_reason(ran)}")
    return split(ran.stdout, separator)


def split(text: str, separator: str) -> tuple[Section, ...]:
    """The sections of a script's output. Raises MeasureError if its end is missing."""
    first, *pieces = f"\n{text}".split(f"\n{separator} ")
    found = [_section(piece) for piece in pieces]
    if first.strip() or not found or found[-1] != Section("end", ""):
        raise MeasureError("the facts printed by an endpoint are incomplete")
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
            joined[-1] = joined[-1]._replace(code=int(code))
        else:
            joined.append(section)
    return joined


def text_of(sections: Sequence[Section], name: str) -> str:
    """The text of the first section with that name; empty if there is none."""
    return next((section.text for section in sections if section.name == name), "")


def _failure_reason(ran: Ran) -> str:
    if ran.code is None:
        return "sh did not end in time"
    said = " ".join(ran.stderr.split())[:200]
    return f"sh ended with exit code {ran.code}" + (f": {said}" if said else "")
