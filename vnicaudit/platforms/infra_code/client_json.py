"""JSON of OpenStack's client: an image, a flavor or a server (``openstack image show -f json``),
saved or pasted.

Source: python-openstackclient 8, ``osc_lib`` and openstacksdk: ``properties`` of an image and of a
flavor; a server has ``image`` and ``flavor`` as ``NAME (ID)``, since microversion 2.47 the flavor
as a map with ``original_name``. A server joins the two if they were saved beside it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec.structs import replace

from vnicaudit.base.opening import read_regular
from vnicaudit.errors import TargetError
from vnicaudit.model.finding import Location
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.report import NotJudged
from vnicaudit.platforms.infra_code.terraform import Record, Statement, record_of
from vnicaudit.platforms.infra_code.value import Value, properties_of, tops, value_of, whole_number

_IMAGE = (b'"container_format"', b'"disk_format"', b'"properties"', b'"status"')
_FLAVOR = (b'"vcpus"', b'"ram"', b'"properties"', b'"rxtx_factor"')
_SERVER = re.compile(
    rb'"flavor"\s*:\s*(?:"[^"\n]{1,300} \([0-9a-f-]{32,36}\)"|\{[^{}]{0,2000}"original_name")'
)
_NAMED = re.compile(r"(?P<name>.*) \((?P<id>[0-9a-f-]{32,36})\)")
_MAX_FILE = 1 << 16
_MAX_FILES = 100
"""Maximum number of files beside a server that are looked at."""


def looks_like(head: bytes) -> bool:
    """True for one object of these kinds."""
    if head.lstrip()[:1] != b"{" or b'"builders"' in head:
        return False
    known = any(all(word in head for word in words) for words in (_IMAGE, _FLAVOR))
    return known or (b'"image"' in head and _SERVER.search(head) is not None)


def read(data: bytes, *, target: str, file: str) -> Iterator[Record | NotJudged]:
    """The image or the flavor; for a server its flavor with its image, or a note that they are not
    beside it. Raises TargetError for a file that is not JSON."""
    for top in tops(data, file):
        body = value_of(top)
        record = _record(body, Location(target, file))
        if record is not None:
            yield record
        elif body.get("flavor") is not None and body.get("image") is not None:
            yield _joined(body, target, file)


def _record(body: Value, where: Location) -> Record | None:
    is_image = body.get("container_format") is not None
    if not is_image and (body.get("vcpus") is None or body.get("ram") is None):
        return None
    spot = replace(where, line=body.line, column=body.column)
    return record_of(
        Statement(
            "image" if is_image else "flavor",
            body.scalar("name") or "",
            spot,
            properties_of(body.get("properties"), where),
            vcpus=whole_number(body.scalar("vcpus")),
            disk_format=body.scalar("disk_format"),
        ),
        where.target,
    )


def _joined(server: Value, target: str, file: str) -> Flavor | NotJudged:
    """The flavor of a server, with its image."""
    flavor = image = None
    beside = _beside(os.path.dirname(file), target) if os.path.isfile(file) else ()
    for body, record in beside:
        if isinstance(record, Flavor) and _is_meant(server.get("flavor"), body):
            flavor = record
        elif isinstance(record, Image) and _is_meant(server.get("image"), body):
            image = record
    if flavor is None or image is None:
        return NotJudged(
            "output of openstack server show: not judged without that of image show and flavor "
            "show (-f json) beside it; or audit the cloud (openstack:CLOUD)",
            file,
            server.line,
        )
    return replace(flavor, images=(image,))


def _beside(folder: str, target: str) -> tuple[tuple[Value, Record], ...]:
    """The images and flavors in the files of a folder."""
    try:
        now = os.stat(folder or ".")
    except OSError:
        return ()
    return _records_of_folder(folder, target, (now.st_dev, now.st_ino, now.st_mtime_ns))


@lru_cache(maxsize=8)
def _records_of_folder(
    folder: str, target: str, _state: tuple[int, int, int]
) -> tuple[tuple[Value, Record], ...]:
    """Read once for the many servers that a folder may hold; ``_state`` tells folders of one name,
    and states of one folder, apart."""
    try:
        names = sorted(name for name in os.listdir(folder or ".") if name.endswith(".json"))
    except OSError:
        return ()
    paths = (os.path.join(folder, name) for name in names[:_MAX_FILES])
    return tuple(found for path in paths for found in _records_in(path, target))


def _records_in(path: str, target: str) -> Iterator[tuple[Value, Record]]:
    try:
        data = read_regular(path, _MAX_FILE + 1)
        if len(data) > _MAX_FILE or not looks_like(data):
            return
        for top in tops(data, path):
            body = value_of(top)
            record = _record(body, Location(target, path))
            if record is not None:
                yield body, record
    except (OSError, TargetError):
        return


def _is_meant(named: Value | None, body: Value) -> bool:
    """True if a server names this object: by its id, or by its name alone."""
    if named is None:
        return False
    if named.kind == "map":
        return named.scalar("original_name") == body.scalar("name")
    match = _NAMED.fullmatch(named.text)
    return body.scalar("id") == match["id"] if match else named.text == body.scalar("name")
