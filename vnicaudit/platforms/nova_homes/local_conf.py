"""devstack's local.conf: the blocks that it merges into nova.conf (``[[post-config|$NOVA_CONF]]``).

Source: devstack 493835a6 (July 2026), ``inc/meta-config`` (``merge_config_file``) and ``lib/nova``:
nova-compute reads a copy of ``$NOVA_CONF`` into which ``$NOVA_CPU_CONF`` is merged. What follows
the first ``=`` goes through the shell, so a value with ``$`` is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.knowledge.nova_conf.homes import DEVSTACK
from vnicaudit.model.file_kind import Content
from vnicaudit.model.finding import Location
from vnicaudit.model.nova import NovaConfig
from vnicaudit.platforms.nova_conf.read import moved, parsed_text, part_of_config, text_of
from vnicaudit.platforms.nova_conf.recognise import is_novas_file
from vnicaudit.text.template_walk import is_template, plain

_BLOCK = re.compile(r"\[\[[^|]+\|(?P<file>[^|\]]*)\]\]")
_SECTION = re.compile(r"\[.+\]")


def read(content: Content) -> Iterator[NovaConfig]:
    """The options of nova-compute in a local.conf; nothing if it has none."""
    text = text_of(content.data, content.path)
    lines, unsure = text.split("\n"), frozenset[int]()
    if is_template(text):
        rest, is_open = plain(text)
        lines = [line.text for line in rest]
        is_open = is_open or any(line.section_lost for line in rest)
        unsure = frozenset(n for n, line in enumerate(rest, 1) if is_open or not line.certain)
    blocks = list(_blocks(lines))
    kept = (line if block is not None else "" for line, block in zip(lines, blocks, strict=True))
    parsed = parsed_text("\n".join(_as_ini(kept)), content.path)
    # the copy for nova-compute is made before its own block is merged into it
    ordered = sorted(parsed.options, key=lambda option: blocks[option.line - 1] == "cpu")
    options = tuple(
        moved(option, indent=0, sure=False, present=False) if option.line in unsure else option
        for option in ordered
    )
    if options:
        found = replace(parsed, options=options)
        where = Location(content.target, content.path, xpath="nova.conf")
        yield part_of_config(found, where, DEVSTACK, parsed.comments)


def _blocks(lines: list[str]) -> Iterator[str | None]:
    """For each line, the block of Nova to which it belongs: ``nova`` or ``cpu``; None: none."""
    block: str | None = None
    is_begun = False
    for line in lines:
        if header := _BLOCK.match(line):
            file = header["file"].strip("\"'")
            block = None if not is_novas_file(file) else "cpu" if "cpu" in file.lower() else "nova"
            is_begun = False
            yield None
            continue
        is_begun = is_begun or _SECTION.match(line) is not None
        yield block if is_begun or line.startswith("#") else None


def _as_ini(lines: Iterator[str]) -> Iterator[str]:
    """The lines that devstack reads, as oslo.config reads them."""
    for line in lines:
        if section := _SECTION.match(line):
            yield section[0]
        else:
            yield line if line.startswith("#") or re.match(r"[^\s=:#;\[][^=:]*=", line) else ""
