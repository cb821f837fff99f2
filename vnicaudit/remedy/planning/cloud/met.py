"""What was met in which cloud of a plan."""

from __future__ import annotations

from collections import defaultdict

from vnicaudit.audit.fingerprint import bare_uuid
from vnicaudit.model.domain import Domain
from vnicaudit.remedy.planning.cloud.items import CloudItem


class Met:
    """Two targets are one cloud under two names where they have a server in common: no two servers
    have one UUID. Ids of flavors, and of images that were given one, may well be the same in two
    clouds. Servers are met before images and flavors, as the reader has them."""

    def __init__(self) -> None:
        self._servers: dict[str, str] = {}
        self._others: dict[str, set[tuple[str, str]]] = defaultdict(set)
        self._same: dict[str, set[str]] = defaultdict(set)

    def is_new(self, item: CloudItem, target: str) -> bool:
        """Whether it was not met before under this name of the cloud, or another."""
        if isinstance(item, Domain):
            return self._is_new_server(item, target)
        if not item.id:
            return True
        key = (type(item).__name__, item.id)
        new = not any(key in self._others[name] for name in (target, *self._same[target]))
        self._others[target].add(key)
        return new

    def has_server(self, uuid: str | None) -> bool:
        """Whether it is a server of one of the clouds."""
        return bare_uuid(uuid or "") in self._servers

    def _is_new_server(self, server: Domain, target: str) -> bool:
        key = bare_uuid(server.uuid or "")
        if not key:
            return True
        first = self._servers.get(key)
        if first is None:
            self._servers[key] = target
        elif first != target:
            self._same[target].add(first)
        return first is None
