"""Several facts of one endpoint in one round trip: a fixed shell script prints them in sections.

A section begins with a line of a separator and a name. The separator is drawn by chance for each
call, so that nothing that is printed can pretend to be a section. Scripts are constants; what
differs is passed to them as arguments, never written into them.
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
"""With what scripts begin: ``part``, ``fact``."""

ENDING = """
part end
"""
"""With what they end: without it, what came was cut."""

_CODE = re.compile(r"[0-9]{1,3}")


class Section(NamedTuple):
    """Text printed under a name. ``code``: how the command ended, None where the script does not
    say or what it printed was too long."""

    name: str
    text: str
    code: int | None = None


def ask(
    endpoint: Endpoint, script: str, *arguments: str, seconds: float = 15.0
) -> tuple[Section, ...]:
    """Run a script (a constant) and return its sections. Raises EndpointError where the endpoint
    is lost, MeasureError where there is no POSIX shell or its answer is not complete."""
    separator = secrets.token_hex(16)
    argv = ("sh", "-c", BEGINNING + script + ENDING, "sh", separator, *arguments)
    ran = endpoint.run(argv, seconds=seconds)
    if ran.code != 0:
        raise MeasureError(f"facts of {endpoint.url} could not be read: {_failure_reason(ran)}")
    return split(ran.stdout, separator)


def split(text: str, separator: str) -> tuple[Section, ...]:
    """The sections of a script's output. Raises MeasureError where its end is missing."""
    first, *pieces = f"\n{text}".split(f"\n{separator} ")
    found = [_section(piece) for piece in pieces]
    if first.strip() or not found or found[-1] != Section("end", ""):
        raise MeasureError("the facts printed by an endpoint are incomplete")
    return tuple(_with_codes(found[:-1]))


def _section(piece: str) -> Section:
    name, _newline, text = piece.partition("\n")
    return Section(name, text)


def _with_codes(found: Sequence[Section]) -> list[Section]:
    """Each section with the code of its command, which is printed as if it were one more."""
    joined: list[Section] = []
    for section in found:
        kind, _space, code = section.name.partition(" ")
        if kind == "code" and _CODE.fullmatch(code) and joined:
            joined[-1] = joined[-1]._replace(code=int(code))
        else:
            joined.append(section)
    return joined


def text_of(sections: Sequence[Section], name: str) -> str:
    """The text of the first section with that name; empty where there is none."""
    return next((section.text for section in sections if section.name == name), "")


def _failure_reason(ran: Ran) -> str:
    if ran.code is None:
        return "sh did not end in time"
    said = " ".join(ran.stderr.split())[:200]
    return f"sh ended with exit code {ran.code}" + (f": {said}" if said else "")
