"""Compute nodes of a run -> which of them are set otherwise than the most of their site.

Only what is needed for it is kept of each: a thousand nodes are a few megabytes.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from vnicaudit.audit.catalogue import RuleSet
from vnicaudit.audit.fingerprint import digest, file_key
from vnicaudit.audit.judgement import Tray, ask, finding_of
from vnicaudit.model.finding import NicRef
from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.model.report import Audited
from vnicaudit.model.rule import SiteSubject
from vnicaudit.model.site import Difference, Node, NodeValue
from vnicaudit.platforms.nova_conf.options import knowledge

COMPARED = ("use_virtio_for_bridges", "rx_queue_size", "tx_queue_size", "max_queues", "virt_type")
"""Options of [libvirt] that decide what NIC a server gets, whatever the node's hardware is."""

_SITE = (
    ("keystone_authtoken", "auth_url"), ("keystone_authtoken", "www_authenticate_uri"),
    ("keystone_authtoken", "region_name"), ("neutron", "auth_url"), ("neutron", "region_name"),
    ("placement", "auth_url"), ("placement", "region_name"), ("placement", "os_region_name"),
    ("glance", "region_name"), ("cinder", "os_region_name"),
)  # fmt: skip
"""What tells one cloud, or region of it, from another."""

_IDENTITY = (("DEFAULT", "host"), ("DEFAULT", "my_ip"))
_SHOWN = 5


def node_of(config: NovaConfig) -> Node | None:
    """What is compared of a configuration; None where it is not that of a libvirt compute node,
    or where it is not certain which site it belongs to."""
    if config.form != "ini" or not config.complete or not config.libvirt:
        return None
    if not _is_compute(config):
        return None
    site = tuple(config.winner(*name) for name in _SITE)
    if not all(option is None or option.certain for option in site):
        return None
    return Node(
        config.target,
        config.files,
        tuple("" if option is None else option.value for option in site),
        _host(config),
        tuple(_values(config)),
    )


def compared(nodes: Iterable[Node]) -> Iterator[tuple[Node, tuple[Difference, ...]]]:
    """The nodes of sites that have several, each with what the most have otherwise."""
    sites: dict[tuple[str, ...], list[Node]] = defaultdict(list)
    for node in _distinct(nodes):
        sites[node.site].append(node)
    for members in sites.values():
        usual = {option: _usual(option, members) for option in COMPARED}
        if len(members) > 1:
            for node in members:
                yield node, tuple(_differences(node, usual))


class SiteJudge:
    """Judges with a fixed set of rules."""

    def __init__(self, rule_ids: Iterable[str]) -> None:
        self._rules = RuleSet(rule_ids)

    @property
    def has_rules(self) -> bool:
        """Whether there is a rule for what only several nodes together tell."""
        return bool(self._rules.of("site"))

    def audit(self, node: Node, differences: tuple[Difference, ...]) -> Audited:
        """Judge one node beside the others of its site."""
        tray = Tray()
        places = {f"libvirt/{found.option}": found.place for found in differences}
        for verdict in ask(self._rules.of("site"), SiteSubject(node, differences)):
            for problem in verdict.problems:
                where = places[problem.field or ""]
                mark = digest(verdict.rule.id, file_key(where.file or ""), problem.field or "")
                tray.findings.append(
                    finding_of(verdict.rule, problem, NicRef(), where, "nova", mark, problem.fix)
                )
            tray.note(verdict, NicRef())
        file = node.files[0]
        return replace(tray.audited(node.target, file, "nova", "site"), file=file)


class _Usual:
    """The value that the most nodes of a site have; the first of those that as many have."""

    def __init__(self, values: list[NodeValue]) -> None:
        (self.value, self.nodes) = Counter(value.value for value in values).most_common(1)[0]
        self.total = len(values)
        alike = (value.place for value in values if value.value == self.value)
        self.places = tuple(place for place, _ in zip(alike, range(_SHOWN), strict=False))


def _usual(option: str, members: list[Node]) -> _Usual | None:
    values = [value for node in members for value in node.values if value.option == option]
    return _Usual(values) if len(values) > 1 else None


def _differences(node: Node, usual: dict[str, _Usual | None]) -> Iterator[Difference]:
    for own in node.values:
        most = usual[own.option]
        if most is not None and own.value != most.value:
            yield Difference(
                own.option, own.value, most.value, most.nodes, most.total, own.place, most.places
            )


def _distinct(nodes: Iterable[Node]) -> Iterator[Node]:
    """Each node once: what shares a file is one, and so are copies that name the same host."""
    seen: set[object] = set()
    for node in nodes:
        keys: set[object] = {*node.files}
        if node.host:
            keys.add((node.site, node.host))
        if seen.isdisjoint(keys):
            yield node
        seen |= keys


def _is_compute(config: NovaConfig) -> bool:
    """A configuration of nova-compute, not of another service, nor a copy that was put aside."""
    folder, name = os.path.split(config.file)
    beside = os.path.join(folder, "nova.conf")
    if not name.endswith(".conf") or (beside not in config.files and os.path.exists(beside)):
        return False
    return any(
        option.section == "libvirt" or option.name == "compute_driver" for option in config.options
    )


def _host(config: NovaConfig) -> str:
    for section, name in _IDENTITY:
        option = config.winner(section, name)
        if option is not None and option.certain and "$" not in option.value:
            return option.value
    return ""


def _values(config: NovaConfig) -> Iterator[NodeValue]:
    release = None if config.release is None else config.release.number
    known = knowledge(release).options
    for name in COMPARED:
        option = config.winner("libvirt", name)
        form = known["libvirt", name].form
        if form is None or (option is not None and not _is_clear(option)):
            continue
        text = form.default if option is None else option.value
        place = config.place(None) if option is None else config.at(option)
        yield NodeValue(name, form.plain(text or ""), place)


def _is_clear(option: NovaOption) -> bool:
    """Certain, and a value that Nova takes."""
    form = None if option.known is None else option.known.form
    return option.certain and form is not None and form.accepts(option.value)
