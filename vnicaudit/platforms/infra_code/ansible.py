"""Ansible: playbooks and task files that create images and flavors.

Source of the modules' arguments: the collection openstack.cloud 2.4.1, ``image`` (``properties``,
``disk_format``) and ``compute_flavor`` (``vcpus``, ``extra_specs``); ``os_image`` and
``os_nova_flavor`` are their former names. Commands of OpenStack's clients in ``command`` and
``shell`` tasks are read as in a script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vnicaudit.model.finding import Location
from vnicaudit.platforms.infra_code.clients import definitions, says_something
from vnicaudit.platforms.infra_code.shell_words import Word, commands
from vnicaudit.platforms.infra_code.terraform import Kind, Record, Statement, records
from vnicaudit.platforms.infra_code.value import (
    Value,
    is_open,
    properties_of,
    tops,
    value_of,
    whole_number,
)
from vnicaudit.text.beginning import like_yaml
from vnicaudit.text.template_walk import HOLE
from vnicaudit.text.yaml_nodes import YamlPlace
from vnicaudit.text.yaml_source import Scalar

_IMAGE = ("openstack.cloud.image", "os_image")
_FLAVOR = ("openstack.cloud.compute_flavor", "os_nova_flavor")
_COMMAND = tuple(
    prefix + name
    for prefix in ("ansible.builtin.", "ansible.legacy.", "")
    for name in ("command", "shell", "raw")
)
_LISTS = ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always")

_MODULE = re.compile(
    rb"^[ \t]*(?:-[ \t]+)?(?:(?:openstack\.cloud\.)(?:image|compute_flavor)|os_image"
    rb"|os_nova_flavor):[ \t]*(?:#[^\n]*)?\r?$",
    re.MULTILINE,
)
_TASK = re.compile(
    rb"^[ \t]*(?:-[ \t]+)?(?:ansible\.(?:builtin|legacy)\.)?(?:command|shell|raw):(?:[ \t]|\r?$)",
    re.MULTILINE,
)


def looks_like(head: bytes) -> bool:
    """True for YAML with a task that creates an image or a flavor."""
    named = any(name.encode() in head for name in (*_IMAGE, *_FLAVOR))
    said = named and _MODULE.search(head) is not None
    if not said:
        said = says_something(head.replace(b",", b" ")) and _TASK.search(head) is not None
    return said and like_yaml(head)


def read(data: bytes, *, target: str, file: str) -> Iterator[Record]:
    """The images and flavors of all tasks. Raises TargetError if it is not YAML."""
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
    for names, kind in ((_IMAGE, "image"), (_FLAVOR, "flavor")):
        for name in names:
            found = task.child(name)
            if found is not None:
                yield from _module(found, "image" if kind == "image" else "flavor", target, file)
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
    inner = said.get("properties" if kind == "image" else "extra_specs")
    yield Statement(
        kind,
        _written_name(place, named),
        where,
        properties_of(inner, where),
        key=(place.pointer,),
        open_ended=is_open(inner) or not said.certain,
        vcpus=whole_number(said.scalar("vcpus")) if kind == "flavor" else None,
        disk_format=_format(said) if kind == "image" else None,
        has_certain_name=named is not None and named.certain,
    )


def _format(said: Value) -> str | None:
    """The disk format; the module's default is qcow2."""
    return said.scalar("disk_format") if said.get("disk_format") is not None else "qcow2"


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
        words = [tuple(Word(text, 1, 1, HOLE not in text) for text in texts)]
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
