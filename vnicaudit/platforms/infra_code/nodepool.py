"""Nodepool, which builds images with diskimage-builder and uploads them.

Source: Nodepool's documentation of its OpenStack driver: ``providers[].diskimages[].meta`` is
stored with the image. diskimage-builder itself has no file of image properties.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vnicaudit.model.location import Location
from vnicaudit.platforms.infra_code.definition import Record, Statement, record_of
from vnicaudit.platforms.infra_code.value import properties_of
from vnicaudit.platforms.infra_code.yaml_value import tops, value_of
from vnicaudit.text.beginning import like_yaml

_TOP = (
    re.compile(rb"^providers:", re.MULTILINE),
    re.compile(rb"^[ \t]+diskimages:", re.MULTILINE),
    re.compile(rb"^[ \t]+meta:", re.MULTILINE),
)


def looks_like(head: bytes) -> bool:
    """True for a Nodepool configuration that gives images properties."""
    if b"diskimages:" not in head or not like_yaml(head):
        return False
    return all(word.search(head) is not None for word in _TOP)


def read(data: bytes, *, target: str, file: str) -> Iterator[Record]:
    """The images that each provider uploads. Raises TargetError if it is not YAML."""
    for top in tops(data, file):
        providers = top.child("providers")
        for provider in providers.items() if providers is not None else ():
            images = provider.child("diskimages")
            for image in images.items() if images is not None else ():
                said = value_of(image)
                spot = Location(target, file, said.line, image.pointer, said.column)
                found = properties_of(said.get("meta"), spot)
                name = said.scalar("name") or ""
                yield record_of(Statement("image", name, spot, found, open_ended=True), target)
