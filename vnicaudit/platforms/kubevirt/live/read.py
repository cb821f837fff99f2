"""A cluster's lists, as items of an audit."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from vnicaudit.model.domain import ClusterDomain, Domain
from vnicaudit.model.file_kind import Item
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.platforms.kubevirt.cluster import INSTANCE, ClusterReading
from vnicaudit.platforms.kubevirt.cluster_guests import owner_uid
from vnicaudit.platforms.kubevirt.faults import word_in
from vnicaudit.platforms.kubevirt.interfaces import Key, key_of
from vnicaudit.platforms.kubevirt.live import client
from vnicaudit.platforms.kubevirt.live.lists import RESOURCES, Lists, namespace_of
from vnicaudit.platforms.kubevirt.objects import VMI_SPEC, Object, decoded_object

_GUESTS = ("virtualmachines", "virtualmachineinstances")
"""Without these lists guests were not judged: an error, and not a note."""
_BY_PLURAL = {one.plural: one for one in RESOURCES}


def read(target: str, live: LiveOptions) -> Iterator[Item]:
    """Everything in a cluster that has to do with NICs. Raises TargetError."""
    cluster = client.Cluster(target, live)
    items = _items(target, cluster, all_pods=live.pods)
    if live.launchers is not None:
        from vnicaudit.platforms.kubevirt.live.launchers import Launchers  # only on request

        items = Launchers(cluster, live.launchers).joined(items)
    yield from items


def _items(target: str, cluster: client.Cluster, *, all_pods: bool) -> Iterator[Item]:
    lists = Lists(cluster, all_pods=all_pods)
    reading = _LiveCluster(target, cluster, all_pods=all_pods)
    guests = 0
    for kind, page in lists.pages:
        guests += len(page) if kind in VMI_SPEC else 0
        reading.listed(lists.read, cluster)
        for item in page:
            if (told := reading.take(decoded_object(item, target))) is not None:
                yield told
    reading.listed(lists.read, cluster)
    yield from reading.rest()
    for plural, reason in lists.unread.items():
        yield ReadError(reason, target) if plural in _GUESTS else NotJudged(reason, target, 0)
    if cluster.namespace and not guests and lists.unread.keys().isdisjoint(_GUESTS):
        message = f"no virtual machine in namespace {cluster.namespace} (is the name right?)"
        yield ReadError(message, target)
    for note in lists.notes:
        yield NotJudged(note, target, 0)


class _LiveCluster:
    """The objects of a cluster, as they come: those by which virtual machines are judged first."""

    def __init__(self, target: str, cluster: client.Cluster, *, all_pods: bool) -> None:
        self._target = target
        self._all_pods = all_pods
        now = datetime.now(timezone.utc)
        self._cluster = ClusterReading(target, cluster.context, now, cluster.server)
        self._alone: dict[str, Object] = {}
        self._used: set[Key] = set()

    def listed(self, plurals: list[str], cluster: client.Cluster) -> None:
        """Note which lists were read completely so far."""
        for plural in plurals:
            if plural == "pods" and not self._all_pods:
                continue  # launchers only
            self._cluster.listed(plural, namespace_of(_BY_PLURAL[plural], cluster))

    def take(self, found: Object) -> Domain | ReadError | None:
        """The domain that an object describes, or why it is not judged; None if it is none, or is
        told of later."""
        self._cluster.take(found)
        if found.kind == INSTANCE:
            if not owner_uid(found):
                self._alone[found.display_name] = found
            return None
        return self._domain(found) if found.kind in VMI_SPEC else None

    def _domain(self, found: Object) -> Domain | ReadError:
        domain = self._cluster.domain(found)
        if domain is None:
            body = ".".join((*VMI_SPEC[found.kind], "spec.domain"))
            word = word_in(found)
            why = f": {word} is a word" if word else f" has no {body} that can be read"
            return ReadError(f"{found.display_name}{why}: not judged", self._target)
        preference = domain.guest.preference if isinstance(domain, ClusterDomain) else None
        if preference is not None:
            self._used.add(key_of(preference.kind, preference.name, found.space))
        return domain

    def rest(self) -> Iterator[Item]:
        """The cluster itself, what cannot be judged of it, instances without a VM, and the
        preferences that VMs refer to: many clusters have some dozens of which nobody makes use."""
        yield self._cluster.facts
        yield from self._cluster.left_out
        yield from map(self._domain, self._alone.values())
        known = self._cluster.preferences.items()
        yield from (one for key, one in known if one is not None and key in self._used)
