"""Options of Nova in YAML of other programs: OpenStack-Ansible, OpenStack-Helm, Puppet (Hiera),
TripleO, Juju, Ansible, Salt; and a nova.conf inside a string.

Each mapping of a file is looked at by itself, so that it does not matter how deep in a file, and
under which hosts or groups, one of these programs keeps its settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.errors import TargetError
from vnicaudit.knowledge.nova_conf.homes import (
    JUJU,
    JUJU_CHARMS,
    JUJU_OPTIONS,
    OPENSTACK_ANSIBLE,
    OPENSTACK_HELM,
    OTHER_DRIVERS,
    PUPPET,
    RHOSO,
    STRING,
    TRIPLEO,
    TRIPLEO_PARAMETERS,
    TRIPLEO_UNSET,
    VARIABLES,
)
from vnicaudit.model.file_kind import Content
from vnicaudit.model.finding import AcceptingComment, Location
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.platforms.nova_conf.read import moved, parsed_text, part_of_config
from vnicaudit.platforms.nova_conf.recognise import begins_with_section, is_novas_file, looks_like
from vnicaudit.platforms.nova_homes.puppet import option_of
from vnicaudit.platforms.nova_homes.settings import HomeSettings, entries, text_of
from vnicaudit.platforms.nova_homes.tasks import TaskReader, is_novas
from vnicaudit.text.template_walk import HOLE
from vnicaudit.text.yaml_nodes import YamlDocument, YamlPlace, documents, yaml_comments
from vnicaudit.text.yaml_source import Mapping, Scalar

_OTHERS = re.compile(r"/etc/(?!nova|kolla)[\w-]+/")
"""A file of another service, which may have sections and options of the same names."""

_DROP_IN = re.compile(r"\d+-")
"""The beginning of the name of a file of nova.conf.d, as RHOSO names them."""

Found = NovaConfig | ReadError | NotJudged


def read(content: Content) -> Iterator[Found]:
    """The parts of nova.conf in a YAML file, and what of them cannot be read. Raises TargetError if
    the whole file cannot be read."""
    comments = tuple(
        AcceptingComment(content.path, *one) for one in yaml_comments(content.data, content.path)
    )
    for document in _documents(content):
        if not isinstance(document, YamlDocument):
            yield _unread(document, content.path)
            continue
        for found in _read_document(document, Location(content.target, content.path)):
            if isinstance(found, NovaConfig):
                found = replace(found, comments=(*found.comments, *comments))
                comments = tuple(replace(one, reporter=False) for one in comments)
            yield found


def _documents(content: Content) -> list[YamlDocument | TargetError]:
    """The documents of a file that is YAML as it is written, or else once it is rendered."""
    found = list(documents(content.data, content.path, as_written=True))
    if all(isinstance(one, YamlDocument) for one in found):
        return found
    return list(documents(content.data, content.path))


def _unread(error: TargetError, path: str) -> ReadError | NotJudged:
    """The report on a document that is not YAML: an error, unless it may not be meant to be."""
    if path.endswith((".yaml", ".yml")) and error.message.startswith("not YAML"):
        return ReadError(error.message, error.file, error.line)
    return NotJudged(f"seems to set options of Nova, but is {error.message}", path, error.line or 1)


def _read_document(document: YamlDocument, where: Location) -> Iterator[Found]:
    tasks = TaskReader(where)
    homes = () if document.top.child("heat_template_version") else _HOMES
    contents = dict[str, bool]()
    for place in _every_place(document.top):
        if isinstance(place.node, Scalar):
            said = contents.get(place.pointer)
            if said is not False:
                yield from read_string(place, where, named=bool(said))
        elif isinstance(place.node, Mapping):
            file = place.child("dest") or place.child("path")
            named = is_novas(file)
            if named or (file is not None and _OTHERS.match(text_of(file)[0])):
                contents[f"{place.pointer}/content"] = named
            texts = (one for one in entries(place) if _DROP_IN.match(one[0]))
            together = [text for name, _key, text in texts if is_novas_file(name)]
            if len(together) > 1:
                contents |= dict.fromkeys((one.pointer for one in together), False)
                yield from _drop_ins(place, together, where)
            for reader in homes:
                yield from reader(place, where)
            yield from tasks.take(place)
    yield from tasks.configs()


def _drop_ins(place: YamlPlace, texts: list[YamlPlace], where: Location) -> Iterator[Found]:
    """Several texts that Nova reads as files of one folder: as one configuration, in the order of
    their names, of which a later one overrides an earlier one."""
    configs: list[NovaConfig] = []
    for text in sorted(texts, key=lambda one: one.pointer):
        for found in read_string(text, where, named=True):
            if isinstance(found, NovaConfig):
                configs.append(found)
            else:
                yield found
    if configs:
        yield replace(
            configs[0],
            options=tuple(option for one in configs for option in one.options),
            comments=tuple(comment for one in configs for comment in one.comments),
            part=place.pointer,
        )


def _every_place(top: YamlPlace) -> Iterator[YamlPlace]:
    """Every value of a document, in order; one that an alias repeats, once."""
    waiting, seen = [top], set[int]()
    while waiting:
        place = waiting.pop()
        if id(place.node) in seen:
            continue
        seen.add(id(place.node))
        if "when" in place.names():  # a task of Ansible, or a block of tasks
            place = place.copy(certain=False)
        yield place
        if isinstance(place.node, Mapping):
            inner = [value for _name, _key, value in entries(place)]
        else:
            inner = place.items()
        waiting += reversed(inner)


# OpenStack-Ansible merges ``nova_nova_conf_overrides`` into nova.conf. Source: os_nova e06c7bce
# (June 2026), tasks/nova_post_install.yml, and ansible-config_template 01b297af (March 2026),
# ``return_config_overrides_ini``: what is no mapping belongs to DEFAULT, a list is joined by
# commas, and the keys of a mapping without values are several values.

_OVERRIDES = "nova_nova_conf_overrides"


def _overrides(place: YamlPlace, where: Location) -> Iterator[Found]:
    child = place.child(_OVERRIDES)
    if child is not None and isinstance(child.node, Scalar):
        yield NotJudged(
            f"a variable fills in {_OVERRIDES}: not judged",
            where.file or where.target,
            child.line_column[0],
        )
    elif child is not None:
        settings = HomeSettings(child, where, OPENSTACK_ANSIBLE)
        settings.add_sections(child, f"{_OVERRIDES}.")
        yield from settings.config()


# OpenStack-Helm writes ``conf.nova``. Source: openstack-helm 0ee5adef (August 2026),
# helm-toolkit/templates/utils/_to_oslo_conf.tpl.


def _helm(place: YamlPlace, where: Location) -> Iterator[Found]:
    child = place.at("conf", "nova")
    if child is not None and any(isinstance(one.node, Mapping) for _, _, one in entries(child)):
        settings = HomeSettings(child, where, OPENSTACK_HELM)
        settings.add_sections(child, "conf.nova.")
        yield from settings.config()


# Hiera: parameters of puppet-nova's classes, and ``nova::config::nova_config``. TripleO passes on
# the same in ``ExtraConfig`` and ``ComputeExtraConfig``.

_NOVA_CONFIG = "nova::config::nova_config"


def _hiera(place: YamlPlace, where: Location) -> Iterator[Found]:
    if not any(name.startswith("nova::") for name in place.names()):
        return
    home = TRIPLEO if "/parameter_defaults/" in f"{place.pointer}/" else PUPPET
    settings = HomeSettings(place, where, home)
    for name, key, value in entries(place):
        option = option_of(name)
        if name == _NOVA_CONFIG:
            _add_nova_config(settings, value)
        elif isinstance(option, str):
            line = value.document.source.line_column(key.start)[0]
            yield NotJudged(option, where.file or where.target, line)
        elif option is not None and not isinstance(value.node, Mapping):
            settings.add_each(option, key, value, name)
    yield from settings.config()


def _add_nova_config(settings: HomeSettings, place: YamlPlace) -> None:
    for name, key, body in entries(place):
        section, slash, option = name.partition("/")
        absent = body.child("ensure")
        if not slash or (absent is not None and absent.text == "absent"):
            continue
        value = body.child("value")
        if value is not None:
            settings.add_each((section, option), key, value, f"{_NOVA_CONFIG} {name}")


# TripleO: parameters of the overcloud, and those of one role. Source: see TRIPLEO_PARAMETERS.


def _tripleo(place: YamlPlace, where: Location) -> Iterator[Found]:
    roles = place.child("RoleParametersDefault")
    if roles is not None:
        yield from _parameters(roles, where)
    defaults = place.child("parameter_defaults")
    if defaults is None:
        return
    yield from _parameters(defaults, where)
    for name, _key, value in entries(defaults):
        if name.endswith("Parameters"):
            yield from _parameters(value, where)


def _parameters(place: YamlPlace, where: Location) -> Iterator[Found]:
    settings = HomeSettings(place, where, TRIPLEO)
    for name, key, value in entries(place):
        option = TRIPLEO_PARAMETERS.get(name)
        if option is not None and text_of(value)[0] not in TRIPLEO_UNSET.get(name, ()):
            settings.add_each(option, key, value, name)
    yield from settings.config()


# Juju: options of the charm nova-compute, in a bundle or in a file for ``juju config --file``.

_CHARM = re.compile(rf"(?:\A|[/:])(?:{'|'.join(JUJU_CHARMS)})(?:-\d+|[\w.@+-]*\.charm)?\Z")


def _juju(place: YamlPlace, where: Location) -> Iterator[Found]:
    charm = place.child("charm")
    options = place.child("options")
    if charm is not None and options is not None and isinstance(charm.node, Scalar):
        if _CHARM.search(charm.node.text) is not None:
            yield from _charm(options, where)
    elif not place.pointer.strip("[]0123456789"):
        for name in JUJU_CHARMS:
            options = place.child(name)
            if options is not None:
                yield from _charm(options, where)


def _charm(place: YamlPlace, where: Location) -> Iterator[Found]:
    settings = HomeSettings(place, where, JUJU)
    for name, key, value in entries(place):
        option = JUJU_OPTIONS.get(name)
        if name == "config-flags" and isinstance(value.node, Scalar):
            settings.add_flags(value)
        elif option is not None and text_of(value)[0] not in OTHER_DRIVERS:
            settings.add(option, key, value, name)
    yield from settings.config()


def _variables(place: YamlPlace, where: Location) -> Iterator[Found]:
    for name, key, value in entries(place):
        home, option = VARIABLES.get(name, ("", ("", "")))
        if home and text_of(value)[0] not in OTHER_DRIVERS:
            settings = HomeSettings(place, where, home)
            settings.add(option, key, value, name)
            yield from settings.config()


_HOMES = (_overrides, _helm, _hiera, _tripleo, _juju, _variables)


# A nova.conf inside a string (``25-nova-extra.conf: |``): read like a file, each option at its own
# line.

_CUSTOM = "customServiceConfig"
"""Key of the operators' resources for the configuration of a service. Source: nova-operator
b3775364 (August 2026), api/v1beta1: a snippet of nova.conf in each template below ``nova``."""


def read_string(
    place: YamlPlace, where: Location, *, named: bool
) -> Iterator[NovaConfig | ReadError]:
    """The nova.conf in the text at a place, if there is one. ``named``: it is written to a file
    that Nova reads."""
    node = place.node
    if not isinstance(node, Scalar) or "[" not in node.text or "\n" not in node.text:
        return
    steps = place.pointer.split("/")
    named = named or is_novas_file(steps[-1].replace("~1", "/"))
    if steps[-1] == _CUSTOM:
        kind = place.document.top.child("kind")
        named = "nova" in steps or (kind is not None and str(kind.text).startswith("Nova"))
        if not named:  # the configuration of another service
            return
    if not looks_like(node.text.encode("utf-8", "replace")) and not (
        named and begins_with_section(node.text)
    ):
        return
    text, indent, line = _written(place, node)
    try:
        parsed = parsed_text(text, where.file or where.target)
    except TargetError as error:
        at = line + (error.line or 1) - 1 if indent is not None else line
        yield ReadError(error.message, error.file, at)
        return
    options = tuple(
        moved(
            option,
            line - (option.line if indent is None else 1),
            None if place.shared else indent,
            sure=place.certain and HOLE not in option.value,
            present=place.certain,
        )
        for option in parsed.options
    )
    comments = tuple(
        replace(one, line=one.line + line - 1, first=one.first + line - 1, last=one.last + line - 1)
        for one in parsed.comments
        if indent is not None
    )
    home = RHOSO if named and place.document.top.child("apiVersion") else STRING
    spot = replace(where, xpath=place.pointer)
    yield part_of_config(replace(parsed, options=options), spot, home, comments)


def _written(place: YamlPlace, node: Scalar) -> tuple[str, int | None, int]:
    """The text as it is written, with the expressions of a template; how far its lines are indented
    (None: they are not its lines in the file, as in quotes), and the line on which it begins."""
    source = place.document.source
    line, _column = source.line_column(node.start)
    written = source.written(node).split("\n")
    if not written[0].lstrip("&!").startswith("|") and " |" not in written[0]:
        return node.text, None, line
    covered = source.mask.text[node.start : node.end].split("\n")[1:]
    first = next((number for number, text in enumerate(covered) if text.strip()), 0)
    indent = len(covered[first].rstrip("\r")) - len(node.text.split("\n")[first])
    return "\n".join(text[indent:].rstrip("\r") for text in written[1:]), indent, line + 1
