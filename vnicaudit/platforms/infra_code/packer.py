"""Packer: the properties that its openstack builder sets on the image it creates.

Source: hashicorp/packer-plugin-openstack, ``builder/openstack/image_config.go``: ``metadata`` is
set on the image; ``instance_metadata`` belongs to the server that builds it and is ignored. The
qemu builder's ``net_device`` is the NIC of the build guest, not of the image: not judged. An image
created from a server also has the properties of the image that the server was booted from, so it is
never complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vnicaudit.model.location import Location
from vnicaudit.platforms.infra_code.definition import Record, Statement, record_of
from vnicaudit.platforms.infra_code.value import Value, properties_of
from vnicaudit.platforms.infra_code.yaml_value import tops, value_of
from vnicaudit.text.beginning import like_hcl

_SOURCE = re.compile(rb'^[ \t]*source[ \t]+"openstack"', re.MULTILINE)
_BUILDER = re.compile(rb'"type"\s*:\s*"openstack"')


def looks_like(head: bytes) -> bool:
    """True for a Packer template, HCL or JSON, with an openstack builder that sets image
    properties."""
    if b"metadata" not in head:
        return False
    return _is_json(head) or (_SOURCE.search(head) is not None and like_hcl(head))


def read(data: bytes, *, target: str, file: str) -> Iterator[Record]:
    """The images that it creates. Raises TargetError if it is neither HCL nor JSON."""
    where = Location(target, file)
    if _is_json(data):
        for top in tops(data, file):
            builders = top.child("builders")
            for number, builder in enumerate(value_of(builders).items() if builders else ()):
                if builder.scalar("type") == "openstack":
                    yield _image(builder, str(number), where, f"/builders/{number}")
        return
    from vnicaudit.platforms.infra_code.hcl import blocks

    for block in blocks(data.decode("utf-8-sig", "replace"), file):
        if block.type == "source" and block.labels[:1] == ("openstack",):
            label = ".".join(block.labels)
            yield _image(block.body, label, where, f"source.{label}")


def _is_json(head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and b'"builders"' in head and _BUILDER.search(head) is not None


def _image(body: Value, label: str, where: Location, address: str) -> Record:
    spot = Location(where.target, where.file, body.line, address, body.column)
    return record_of(
        Statement(
            "image",
            body.scalar("image_name") or label,
            spot,
            properties_of(body.get("metadata"), spot),
            open_ended=True,
            disk_format=body.scalar("image_disk_format"),
        ),
        where.target,
    )
