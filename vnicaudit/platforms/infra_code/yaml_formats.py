"""YAML and JSON: Heat templates, playbooks of Ansible, and what OpenStack's client prints."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from vnicaudit.base.opening import read_regular
from vnicaudit.errors import TargetError
from vnicaudit.model.finding import Location
from vnicaudit.model.openstack import Flavor, Image, Property
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.platforms.infra_code.records import (
    Kind,
    Record,
    Statement,
    Value,
    described,
    place,
    record_of,
    records,
    tops,
    value_of,
    with_images,
)
from vnicaudit.platforms.infra_code.shell import definitions
from vnicaudit.text.shell import Word, commands
from vnicaudit.text.template_walk import HOLE
from vnicaudit.text.yaml_nodes import YamlPlace
from vnicaudit.text.yaml_source import Scalar

# Heat templates: images, flavors, and the servers that use both.
#
# Source of the properties: Heat 27.0.1, ``engine/resources/openstack/glance/image.py``
# (``extra_properties``, ``os_distro``, ``architecture``) and ``nova/flavor.py`` (``extra_specs``,
# ``vcpus``). A value from a function (``get_param``) is not certain: a parameter's default is only
# a hint.

_HEAT_IMAGES = ("OS::Glance::WebImage", "OS::Glance::Image")
_HEAT_FLAVOR = "OS::Nova::Flavor"
_HEAT_SERVER = "OS::Nova::Server"
_OWN = ("os_distro", "architecture")
"""Image properties that are properties of the resource."""


def read_heat(data: bytes, *, target: str, file: str) -> Iterator[Record]:
    """The images and flavors of a Heat template; a flavor knows the images that are booted with
    it. Raises TargetError if it is not YAML."""
    for top in tops(data, file):
        resources = top.child("resources")
        if resources is not None:
            where = Location(target, file, None, resources.pointer)
            yield from _records(value_of(resources), where)


def _records(resources: Value, where: Location) -> Iterator[Record]:
    made: dict[str, Record] = {}
    used: dict[str, list[str]] = {}
    for key, body in resources.entries if resources.kind == "map" else ():
        if key is None or body.kind != "map":
            continue
        kind = body.scalar("type")
        said = body.get("properties") or Value("map", key.line, key.column)
        spot = replace(place(key, where), xpath=f"{where.xpath}/{key.text}")
        if kind == _HEAT_FLAVOR:
            made[key.text] = record_of(described("flavor", said, spot, key.text), spot.target)
        elif kind in _HEAT_IMAGES:
            image = described("image", said, spot, key.text, "extra_properties")
            own = tuple(
                Property(key.text, value.text, place(key, spot), value.is_said)
                for key, value in said.entries
                if key is not None and key.text in _OWN
            )
            made[key.text] = record_of(
                image._replace(properties=image.properties + own), spot.target
            )
        elif kind == _HEAT_SERVER:
            image_used, flavor = _referred(said.get("image")), _referred(said.get("flavor"))
            if image_used is not None and flavor is not None:
                used.setdefault(flavor, []).append(image_used)
    yield from with_images(made, used)


def _referred(said: Value | None) -> str | None:
    """The name in ``{get_resource: NAME}``; None for a literal."""
    return None if said is None else said.scalar("get_resource")


# Ansible: playbooks and task files that create images and flavors.
#
# Source of the modules' arguments: the collection openstack.cloud 2.4.1, ``image`` (``properties``,
# ``disk_format``) and ``compute_flavor`` (``vcpus``, ``extra_specs``); ``os_image`` and
# ``os_nova_flavor`` are their former names. Commands of OpenStack's clients in ``command`` and
# ``shell`` tasks are read as in a script.

MODULES: dict[str, Kind] = {
    "openstack.cloud.image": "image",
    "os_image": "image",
    "openstack.cloud.compute_flavor": "flavor",
    "os_nova_flavor": "flavor",
}
_COMMAND = tuple(
    prefix + name
    for prefix in ("ansible.builtin.", "ansible.legacy.", "")
    for name in ("command", "shell", "raw")
)
_LISTS = ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always")


def read_ansible(data: bytes, *, target: str, file: str) -> Iterator[Record]:
    """The images and flavors of all tasks of Ansible. Raises TargetError if it is not YAML."""
    found = [
        definition
        for top in tops(data, file)
        for task in _tasks(top, 0)
        for definition in _definitions(task, target, file)
    ]
    yield from records(found, target)


def _tasks(place: YamlPlace, depth: int) -> Iterator[YamlPlace]:
    """The tasks in a list of tasks, blocks or plays, in order."""
    if depth > 20:
        return
    for item in place.items():
        yield item
        for name in _LISTS:
            inner = item.child(name)
            if inner is not None:
                yield from _tasks(inner, depth + 1)


def _definitions(task: YamlPlace, target: str, file: str) -> Iterator[Statement]:
    for name, kind in MODULES.items():
        found = task.child(name)
        if found is not None:
            yield from _module(found, kind, target, file)
    for name in _COMMAND:
        found = task.child(name)
        if found is not None:
            yield from _command(found, target, file)


def _module(place: YamlPlace, kind: Kind, target: str, file: str) -> Iterator[Statement]:
    said = value_of(place)
    if said.kind != "map" or said.scalar("state") == "absent":
        return
    named = said.get("name")
    where = Location(target, file, said.line, place.pointer, said.column)
    found = described(kind, said, where)
    if said.get("disk_format") is None:
        found = found._replace(disk_format="qcow2")  # the module's default
    yield found._replace(
        name=_written_name(place, named),
        key=(place.pointer,),
        has_certain_name=named is not None and named.certain,
    )


def _written_name(place: YamlPlace, named: Value | None) -> str:
    """The name as written, including expressions."""
    child = place.child("name")
    if named is None or child is None:
        return ""
    return named.text if named.certain else place.document.source.written(child.node).strip("'\"")


def _command(place: YamlPlace, target: str, file: str) -> Iterator[Statement]:
    """The statements of a command line: the task's text, its ``cmd``, or its ``argv``."""
    cmd = place if isinstance(place.node, Scalar) else place.child("cmd")
    words = None
    if cmd is not None and isinstance(cmd.node, Scalar):
        words = commands(cmd.node.text)
    argv = place.child("argv")
    if words is None and argv is not None:
        cmd = argv
        nodes = [item.node for item in argv.items()]
        texts = [node.text for node in nodes if isinstance(node, Scalar)]
        words = [tuple(Word(text, 0, HOLE not in text) for text in texts)]
    if cmd is None or words is None:
        return
    finder = _Finder(cmd, target, file)
    for command in words:
        yield from definitions(command, finder.place, lambda word: word.text)


class _Finder:
    """Finds the positions of a command's words in the file by searching for one after the other,
    because YAML folds lines and removes quotes."""

    def __init__(self, place: YamlPlace, target: str, file: str) -> None:
        self._place = place
        self._target = target
        self._file = file
        self._next: dict[str, int] = {}

    def place(self, word: Word) -> Location:
        source, node = self._place.document.source, self._place.node
        text = word.text.split(HOLE, 1)[0]
        start = self._next.get(word.text, node.start)
        at = source.text.find(text, start, node.end) if text else -1
        if at >= 0:
            self._next[word.text] = at + len(text)
        line, column = source.line_column(node.start if at < 0 else at)
        return Location(self._target, self._file, line, self._place.pointer, column)


# JSON of OpenStack's client: an image, a flavor or a server (``openstack image show -f json``),
# saved or pasted.
#
# Source: python-openstackclient 8, ``osc_lib`` and openstacksdk: ``properties`` of an image and of
# a flavor; a server has ``image`` and ``flavor`` as ``NAME (ID)``, since microversion 2.47 the
# flavor as a map with ``original_name``. A server joins the two if they were saved beside it.

_NAMED = re.compile(r"(?P<name>.*) \((?P<id>[0-9a-f-]{32,36})\)")
_PORT = (
    "output of openstack port show: not judged, the NIC's model and queues are those of its "
    "server; audit the cloud (openstack:CLOUD)"
)
_CUT = (
    "a table that is cut off, or whose properties are wrapped within a word: not read in full; "
    "give -f json"
)
_MAX_FILE = 1 << 16
_MAX_FILES = 100
"""Maximum number of files beside a server that are looked at."""


def read_client_json(data: bytes, *, target: str, file: str) -> Iterator[Record | NotJudged]:
    """The image or the flavor that the client printed; for a server its flavor with its image,
    or a note that they are not beside it. Raises TargetError for a file that is neither JSON nor
    YAML, or for JSON torn within a string, which YAML would join."""
    if data.lstrip().startswith(b"{"):
        try:
            msgspec.json.decode(data)
        except msgspec.DecodeError:
            raise TargetError("JSON that is cut off or torn", file=file) from None
    for top in tops(data, file):
        yield from _printed(value_of(top), target, file)


def read_client_table(
    data: bytes, *, target: str, file: str
) -> Iterator[Record | NotJudged | ReadError]:
    """The image, the flavor or the server of each table that the client printed, as
    :func:`read_client_json` reads them."""
    for body in tables(data):
        said = body.get("properties")
        if not body.certain or (said is not None and not said.certain):
            yield ReadError(_CUT, file, body.line if said is None else said.line)
        yield from _printed(body, target, file)


def _printed(body: Value, target: str, file: str) -> Iterator[Record | NotJudged]:
    record = _record(body, Location(target, file))
    if record is not None:
        yield record
    elif body.get("flavor") is not None and body.get("image") is not None:
        yield _joined(body, target, file)
    elif body.get("binding_vif_type") is not None:
        yield NotJudged(_PORT, file, body.line)


def _record(body: Value, where: Location) -> Record | None:
    is_image = body.get("container_format") is not None
    if not is_image and (body.get("vcpus") is None or body.get("ram") is None):
        return None
    kind: Kind = "image" if is_image else "flavor"
    return record_of(described(kind, body, place(body, where), inner="properties"), where.target)


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
        if len(data) > _MAX_FILE or data.lstrip()[:1] != b"{":
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


# Tables of OpenStack's clients (``openstack image show``, ``glance image-show``) -> the values that
# ``-f json`` prints.
#
# Source: cliff's table formatter, which wraps a long value into rows without a field, and osc_lib's
# ``format_dict``: ``name='value', …``.

_HEADER = re.compile(r"[ \t]*\|[ \t]*(Field|Property)[ \t]*\|[ \t]*Value[ \t]*\|[ \t]*\r?")
_PAIR = r"([\w.:-]{1,255})='([^'\n]{0,1000})'"
_PAIRS = re.compile(rf"{_PAIR}(?:, {_PAIR})*")
_MOST_ROWS = 1_000


def tables(data: bytes) -> Iterator[Value]:
    """The tables of a text as maps of their fields; of ``properties`` as a map of its own."""
    lines = data.decode("utf-8", "replace").split("\n")
    for number, line in enumerate(lines):
        if (header := _HEADER.fullmatch(line)) is not None:
            rows, is_whole = _rows(lines, number + 1)
            pairs = tuple(_entry(*row) for row in rows)
            if header[1] == "Property":  # glance: each property is a row
                key = Value("scalar", number + 1, 1, "properties")
                pairs += ((key, Value("map", number + 1, 1, "", pairs)),)
            yield Value("map", number + 1, 1, "", pairs, is_whole)


_Row = tuple[str, str, int, int]
"""Field, value, line and column of the value."""


def _rows(lines: list[str], start: int) -> tuple[list[_Row], bool]:
    """The rows from a line on, and True if the line that closes the table is there."""
    rows: list[_Row] = []
    for number, line in enumerate(lines[start : start + _MOST_ROWS], start + 1):
        text = line.strip()
        parts = text.split("|", 2)
        if text.startswith("+-") and not rows:
            continue
        if len(parts) < 3 or parts[0] or not text.endswith("|") or _HEADER.fullmatch(line):
            return rows, text.startswith("+-")
        field, value = parts[1].strip(), parts[2][:-1].strip()
        if field or not rows:
            rows.append((field, value, number, line.index("|", line.index("|") + 1) + 3))
        else:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {value}", *rows[-1][2:])
    return rows, False


def _entry(field: str, value: str, line: int, column: int) -> tuple[Value, Value]:
    key = Value("scalar", line, column, field)
    if field != "properties":
        return key, Value("scalar", line, column, value)
    if value and _PAIRS.fullmatch(value) is None:  # wrapped within a word, or another client
        return key, Value("other", line, column, value, certain=False)
    pairs = (
        (Value("scalar", line, column + pair.start(), pair[1]),
         Value("scalar", line, column + pair.start(2), pair[2]))
        for pair in re.finditer(_PAIR, value)
    )  # fmt: skip
    return key, Value("map", line, column, value, tuple(pairs))
