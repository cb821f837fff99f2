"""Compute nodes of a run -> those configured differently from most of their site.

Only the compared values of each node are kept: a thousand nodes take a few megabytes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.audit.judging.judgement import Auditor, FindingCollector, Place, ask, file_key
from vnicaudit.knowledge.nova_conf.options import knowledge
from vnicaudit.model.finding import Location, Ref
from vnicaudit.model.host import IDENTITY, SITE_OPTIONS, Difference, NodeValue, SiteNode
from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.model.report import Audited
from vnicaudit.model.rule import SiteSubject

# A configuration -> the part of it that is compared with the other compute nodes of its site.


COMPARED = ("use_virtio_for_bridges", "rx_queue_size", "tx_queue_size", "max_queues", "virt_type")
"""Options of [libvirt] that decide which NIC a server gets, whatever the node's hardware."""


def node_of(config: NovaConfig) -> SiteNode | None:
    """The comparable part of a configuration; None unless it is certain to belong to a libvirt
    compute node of a known site."""
    if not (config.complete and config.compute and config.libvirt):
        return None
    site = tuple(config.winner(*name) for name in SITE_OPTIONS)
    if not all(option is None or option.certain for option in site):
        return None
    return SiteNode(
        config.target,
        config.files,
        tuple("" if option is None else option.value for option in site),
        _host(config),
        tuple(_values(config)),
    )


def _host(config: NovaConfig) -> str:
    for section, name in IDENTITY:
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
    """True for a certain value that Nova accepts."""
    form = None if option.known is None else option.known.form
    return option.certain and form is not None and form.accepts(option.value)


_SHOWN = 5


def differing_nodes(nodes: Iterable[SiteNode]) -> Iterator[tuple[SiteNode, tuple[Difference, ...]]]:
    """The nodes that differ from their site, if it has several, each with the options for which
    most nodes have another value."""
    sites: dict[tuple[str, ...], list[SiteNode]] = defaultdict(list)
    for node in _distinct(nodes):
        alike = (*node.site, *_layout(node))
        sites[alike].append(node)
    for members in sites.values():
        usual = {option: _usual_value(option, members) for option in COMPARED}
        if len(members) > 1:
            for node in members:
                yield node, tuple(_differences(node, usual))


def _layout(node: SiteNode) -> tuple[str, ...]:
    """The layout that the files of one site's nodes share: empty if each file names its host; else
    the folder that holds a folder for each node, and the file name in it; or, for numbered files,
    their folder and the name without digits. Files that merely lie together may also be layers of
    one configuration, or one for each service."""
    if node.host:
        return ()
    folder, _slash, name = file_key(node.files[0]).rpartition("/")
    bare = "".join(character for character in name if not character.isdigit())
    return (folder, bare) if bare != name else (folder.rpartition("/")[0], name)


class SiteAuditor(Auditor):
    """Judges compute nodes of one site."""

    def audit(self, node: SiteNode, differences: tuple[Difference, ...]) -> Audited:
        """Judge one node in comparison with its site."""
        ref, file = Ref("config"), node.files[0]
        places = {f"libvirt/{found.option}": found.place for found in differences}

        def place_of(field: str | None) -> Place:
            place = places[field or ""]
            return ref, place, (file_key(place.file or ""), field or "")

        collector = FindingCollector(self._wordings, "nova")
        verdicts = ask(self._rules("site").of(), SiteSubject(node, differences))
        collector.take(verdicts, ref, place_of, is_whole=True)
        return replace(collector.audited(node.target, file, "site"), file=file)


class _UsualValue(NamedTuple):
    """The value that most nodes of a site have; if several are equally frequent, the first of
    them."""

    value: str
    nodes: int
    total: int
    places: tuple[Location, ...]


def _usual_value(option: str, members: list[SiteNode]) -> _UsualValue | None:
    """The usual value of an option; None if only one node has the option."""
    values = [value for node in members for value in node.values if value.option == option]
    if len(values) < 2:
        return None
    (most, count) = Counter(value.value for value in values).most_common(1)[0]
    alike = (value.place for value in values if value.value == most)
    return _UsualValue(most, count, len(values), tuple(islice(alike, _SHOWN)))


def _differences(node: SiteNode, usual: dict[str, _UsualValue | None]) -> Iterator[Difference]:
    for own in node.values:
        most = usual[own.option]
        if most is not None and own.value != most.value:
            yield Difference(
                own.option, own.value, most.value, most.nodes, most.total, own.place, most.places
            )


def _distinct(nodes: Iterable[SiteNode]) -> Iterator[SiteNode]:
    """Each node once: nodes that share a file are one, and so are copies that name the same
    host."""
    seen: set[object] = set()
    for node in nodes:
        keys: set[object] = {*node.files}
        if node.host:
            keys.add((node.site, node.host))
        if seen.isdisjoint(keys):
            yield node
        seen |= keys
