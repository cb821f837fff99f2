"""Files of objects that come from a cluster, as ``kubectl get vm,vmi,nodes,kubevirt -A -o json``
prints them: a VM and its instance are one, with what the other objects say.

Such a file never shows that it holds all objects of a kind: what is not in it is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec.structs import replace

from vnicaudit.errors import TargetError
from vnicaudit.model.cluster import ClusterFacts
from vnicaudit.model.domain import Domain
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.platforms.kubevirt import read as manifests
from vnicaudit.platforms.kubevirt.cluster import INSTANCE, ClusterReading, is_of_cluster
from vnicaudit.platforms.kubevirt.interfaces import ATTACHMENT, INSTANCETYPES
from vnicaudit.platforms.kubevirt.objects import KINDS, Object, objects_of
from vnicaudit.platforms.kubevirt.read import beside, items_of

_WRITTEN = (ATTACHMENT, *INSTANCETYPES, *KINDS)
"""Kinds of which objects without a UID count, too."""


def read_bytes(
    data: bytes, *, target: str, file: str | None
) -> Iterator[Domain | Preference | ClusterFacts | ReadError | NotJudged]:
    """Every VM and every preference of a file, and the cluster itself, if it holds its KubeVirt
    object, nodes or networks. Raises TargetError if nothing could be read."""
    name = file or target
    reading = ClusterReading(target, name)
    is_cluster = _take(reading, data, name)
    if is_cluster:
        yield from _items(reading, data, target, name)
    else:
        yield from manifests.read_bytes(data, target=target, file=file)
    facts = reading.facts
    if not is_cluster:  # networks of manifests are judged as in a cluster without nodes
        facts = replace(facts, nodes=())
    yield from reading.left_out
    if facts.kubevirt is not None or facts.nodes or facts.attachments:
        yield facts


def _take(reading: ClusterReading, data: bytes, name: str) -> bool:
    """Take the objects of a file that count; returns True if one of them is of a cluster."""
    is_cluster = False
    for one in objects_of(data, name):
        if isinstance(one, Object):
            given = is_of_cluster(one)
            is_cluster |= given
            if given or one.kind in _WRITTEN:
                reading.take(one)
    return is_cluster


def _items(
    reading: ClusterReading, data: bytes, target: str, name: str
) -> Iterator[Domain | Preference | ReadError | NotJudged]:
    def domain(found: Object) -> Domain | Literal[False] | None:
        if found.kind == INSTANCE and not reading.stands_alone(found):
            return False
        return reading.domain(found, *beside(name))

    for one in objects_of(data, name):
        if isinstance(one, NotJudged):
            yield one
        elif isinstance(one, TargetError):
            yield ReadError(one.message, name, one.line)
        else:
            yield from items_of(one, domain, target, name)
