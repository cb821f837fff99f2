"""Tasks of Ansible and states of Salt that set options of a nova.conf.

Source: community.general 12.0, ``ini_file`` (``path`` or ``dest``, ``section``, ``option``,
``value`` or ``values``, ``state``); openstack.config_template, ``config_template``; Salt 3007,
``salt/states/ini_manage.py``, ``options_present``. A template that a task writes to a nova.conf,
where only the task tells that it is one, is read like a nova.conf, each option at its own line of
the template; a relative ``src`` is looked for in ``templates`` of the role or beside the task, then
beside the task itself (ansible 2026, ``docs/docsite/rst/playbook_guide/playbook_pathing.rst``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.base.opening import read_regular
from vnicaudit.errors import TargetError
from vnicaudit.knowledge.nova_conf.homes import ANSIBLE, SALT
from vnicaudit.model.finding import Location
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.platforms.nova_conf.read import MAX_BYTES, moved, parsed_bytes, part_of_config
from vnicaudit.platforms.nova_conf.recognise import (
    begins_with_section,
    is_novas_file,
    is_read_by_nova,
    looks_like,
)
from vnicaudit.platforms.nova_homes.settings import HomeSettings, entries, text_of
from vnicaudit.text.beginning import opened
from vnicaudit.text.template_walk import HOLE
from vnicaudit.text.yaml_nodes import YamlPlace
from vnicaudit.text.yaml_source import Scalar, Sequence

_INI = ("community.general.ini_file", "ini_file", "ansible.builtin.ini_file")
_TEMPLATE = ("openstack.config_template.config_template", "config_template")
_OTHERS = re.compile(r"\A/etc/(?!nova|kolla)|(?<!\.conf)\.d/nova(?:-compute)?\.conf\Z")
"""A nova.conf of another program, such as Apache or rsyslog."""
_COPIES = ("ansible.builtin.template", "template")
_WORDS = re.compile(r"""(\w{1,40})=("[^"]*"|'[^']*'|\S+)""")
_ITEM = re.compile(r"""\{\{\s*item(?:\.(\w{1,80})|\[["'](\w{1,80})["']\])?\s*\}\}""")
_PARAMETERS = ("section", "option", "value", "values")
_NAMES = "a variable or a condition decides what this sets in nova.conf: not judged"
_WHICH = "a variable decides which template becomes this nova.conf: not judged"


class TaskReader:
    """Reads tasks and states one after the other. The tasks of one list are one configuration, in
    which a later one overrides an earlier one."""

    def __init__(self, where: Location) -> None:
        self._where = where
        self._found: dict[str, HomeSettings] = {}
        self._copied: set[str] = set()

    def configs(self) -> Iterator[NovaConfig]:
        """The configurations that all tasks together make."""
        for settings in self._found.values():
            yield from settings.config()

    def take(self, place: YamlPlace) -> Iterator[NovaConfig | NotJudged | ReadError]:
        """Read a mapping, which may be a task or a state."""
        for name in _INI:
            task = place.child(name)
            if task is not None:
                yield from self._ini_file(task, place)
        for name in _TEMPLATE:
            overrides = place.at(name, "config_overrides")
            if overrides is not None and is_novas(place.at(name, "dest")):
                settings = HomeSettings(overrides, self._where, ANSIBLE)
                settings.add_sections(overrides)
                yield from settings.config()
        for name in _COPIES:
            src, dest = place.at(name, "src"), place.at(name, "dest")
            if src and dest and is_novas(dest) and not _OTHERS.search(text_of(dest)[0]):
                yield from self._template(src)
        yield from self._salt(place)

    def _template(self, place: YamlPlace) -> Iterator[NovaConfig | ReadError | NotJudged]:
        src, certain = text_of(place)
        name, line = os.path.normpath(src), place.line_column[0]
        if not certain:
            yield NotJudged(_WHICH, self._where.file or self._where.target, line)
        elif name not in self._copied:
            self._copied.add(name)
            yield from read_template(name, self._where, line)

    def _ini_file(self, task: YamlPlace, place: YamlPlace) -> Iterator[NotJudged]:
        if isinstance(task.node, Scalar):
            self._in_words(task, task.node.text)
            return
        arguments = {name: value for name, _key, value in entries(task)}
        if not is_novas(arguments.get("path") or arguments.get("dest")):
            return
        if "state" in arguments and text_of(arguments["state"])[0] == "absent":
            return
        loop = place.child("loop") or place.child("with_items")
        items = loop.items() if loop is not None and isinstance(loop.node, Sequence) else (None,)
        unknown = [item for item in items if not self._take_item(arguments, item, task)]
        if unknown:
            yield NotJudged(_NAMES, self._where.file or self._where.target, task.line_column[0])

    def _take_item(
        self, arguments: dict[str, YamlPlace], item: YamlPlace | None, task: YamlPlace
    ) -> bool:
        """Take what a task sets for an item of its loop; False if its name is unknown."""
        said = {name: _resolved(arguments[name], item) for name in _PARAMETERS if name in arguments}
        section, option = said.get("section"), said.get("option")
        if section is None or option is None or not isinstance(option.node, Scalar):
            return False
        names = text_of(section), text_of(option)
        if not all(certain for _text, certain in names):
            return False
        value = said.get("values") or said.get("value")
        if value is not None:
            name = (names[0][0], names[1][0])
            self._settings(task).add_each(name, option.node, value)
        return True

    def _in_words(self, task: YamlPlace, words: str) -> None:
        """Take a task in one line: ``path=nova.conf section=libvirt option=x value=y``."""
        said = {name: text.strip("\"'") for name, text in _WORDS.findall(words)}
        if not is_novas_file(said.get("path") or said.get("dest") or ""):
            return
        if said.keys() >= {"section", "option", "value"} and said.get("state") != "absent":
            name, value = (said["section"], said["option"]), said["value"]
            self._settings(task).add_part(
                name, task, value, certain=HOLE not in value and not opened(value)
            )

    def _settings(self, task: YamlPlace) -> HomeSettings:
        tasks = task.pointer.rsplit("/", 2)[0]
        if tasks not in self._found:
            part = f"/ini_file[{len(self._found) + 1}]"  # a task may move to another place
            self._found[tasks] = HomeSettings(task.copy(pointer=part), self._where, ANSIBLE)
        return self._found[tasks]

    def _salt(self, place: YamlPlace) -> Iterator[NovaConfig]:
        state = place.child("ini.options_present")
        if state is None:
            return
        arguments = {name: value for one in state.items() for name, _key, value in entries(one)}
        file = place.pointer.rpartition("/")[2].replace("~1", "/")  # the id of the state
        if "name" in arguments:
            file = text_of(arguments["name"])[0]
        if "sections" in arguments and is_novas_file(file):
            settings = HomeSettings(arguments["sections"], self._where, SALT)
            settings.add_sections(arguments["sections"])
            yield from settings.config()


def _resolved(value: YamlPlace, item: YamlPlace | None) -> YamlPlace | None:
    """A value, with ``{{ item }}`` and ``{{ item.name }}`` replaced by what the loop gives."""
    match = _ITEM.fullmatch(value.document.source.written(value.node).strip("\"'"))
    if match is None or item is None:
        return value
    name = match[1] or match[2]
    return item.child(name) if name else item


def is_novas(path: YamlPlace | None) -> bool:
    """True if the path of a file is that of a nova.conf, in whatever folder."""
    return path is not None and is_novas_file(text_of(path)[0])


def read_template(
    src: str, where: Location, line: int
) -> Iterator[NovaConfig | ReadError | NotJudged]:
    """The configuration in the template of that name beside the file of tasks ``where``, whose task
    is on ``line``; nothing if it is read by itself."""
    tasks = where.file or ""
    is_beside = os.path.isfile(tasks) and not src.startswith("/")
    for above in ("../templates", "templates", "") if is_beside else ():
        folder = os.path.join(os.path.dirname(tasks), above)
        path = os.path.normpath(os.path.join(folder, src))
        if not os.path.lexists(path):
            continue
        try:
            data = read_regular(path, MAX_BYTES + 1)
        except OSError:
            break
        if looks_like(data) or is_read_by_nova(path, data):
            return
        is_inside = os.path.realpath(path) == os.path.join(os.path.realpath(folder), src)
        if not is_inside or not begins_with_section(data.decode("utf-8", "replace")):
            break
        yield _read(data, replace(where, file=path))
        return
    message = f"no template {src} beside this task begins like a nova.conf: not judged"
    yield NotJudged(message, tasks or where.target, line)


def _read(data: bytes, where: Location) -> NovaConfig | ReadError:
    file = where.file or ""
    try:
        parsed = parsed_bytes(data, file)
    except TargetError as error:
        return ReadError(error.message, file, error.line)
    # without columns: nothing is written to a file that cannot be judged again by itself
    options = tuple(moved(one) for one in parsed.options)
    return part_of_config(replace(parsed, options=options), where, ANSIBLE, parsed.comments)
