"""The resources of Terraform and OpenTofu, in HCL or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.platforms.infra_code.hcl import blocks
from vnicaudit.platforms.infra_code.value import Value
from vnicaudit.platforms.infra_code.yaml_value import tops, value_of


class Resource(NamedTuple):
    """One ``resource "type" "label"``."""

    type: str
    label: str
    line: int
    column: int
    body: Value


def resources(data: bytes, file: str) -> Iterator[Resource]:
    """All resources of a file."""
    if is_json(data):
        for top in tops(data, file):
            yield from _json_resources(value_of(top).get("resource"))
        return

    for block in blocks(data.decode("utf-8-sig", "replace"), file):
        if block.type == "resource" and len(block.labels) == 2:
            yield Resource(*block.labels, block.line, block.column, block.body)


def _json_resources(top: Value | None) -> Iterator[Resource]:
    """The resources in ``{"type": {"label": {…}}}``; any of the maps may be a list of such maps."""
    for kinds in _maps(top):
        for kind, labels in kinds.entries:
            for label, bodies in (pair for one in _maps(labels) for pair in one.entries):
                for body in _maps(bodies):
                    if kind is not None and label is not None:
                        yield Resource(kind.text, label.text, label.line, label.column, body)


def _maps(found: Value | None) -> tuple[Value, ...]:
    if found is None or found.kind == "map":
        return () if found is None else (found,)
    return tuple(item for item in found.items() if item.kind == "map")


def is_json(head: bytes) -> bool:
    """True for Terraform's JSON."""
    return head.lstrip()[:1] == b"{" and b'"resource"' in head
