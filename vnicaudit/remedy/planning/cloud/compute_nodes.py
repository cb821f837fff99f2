"""Facts about servers from compute nodes: their nova.conf, and the definitions that Nova made,
where its API does not show the properties it stores.

Nova makes a definition from the stored properties (``get_vif_model`` in nova/virt/libvirt/vif.py,
34.0.0) at each start, and since 25.0 it also stores a model that it chose itself. So the model in
the definition is the stored one, unless somebody changed the property while the server ran, which
Nova refuses. If it is libvirt's default, none may be stored: the server was created while
``use_virtio_for_bridges`` was off. When the plan is applied, nova-manage is asked first.
"""

from __future__ import annotations

from msgspec.structs import replace

from vnicaudit.audit.work import AuditWork
from vnicaudit.base.identifiers import bare_uuid
from vnicaudit.knowledge.backends import KEPT_MODEL
from vnicaudit.model.domain import Domain, Server
from vnicaudit.model.location import Description
from vnicaudit.model.nic import Nic
from vnicaudit.model.openstack import normal_vif_model
from vnicaudit.model.server import MODEL
from vnicaudit.model.site import SiteNode


class ComputeNodes:
    """Domains that Nova made, and Nova configurations, as read from the other targets of a plan."""

    def __init__(self, work: AuditWork) -> None:
        self._work = work
        self._models: dict[str, dict[str | None, str | None]] = {}
        self.nodes: list[SiteNode] = []
        """Nodes of which a nova.conf was read."""

    def add_description(self, item: Description) -> bool:
        """Remember a configuration of Nova. True if it is one."""
        node = self._work.node(item, joins=True)
        if node is None:
            return False
        self.nodes.append(node)
        return True

    def add_domain(self, domain: Domain) -> None:
        """Remember the models of a domain, running or defined."""
        if (uuid := domain.nova_uuid) is not None:
            self._models[bare_uuid(uuid)] = {
                nic.mac: nic.declared.model
                for nic in domain.nics
                if nic.declared.type in KEPT_MODEL
            }

    def joined(self, server: Server) -> Server:
        """The server with the model that its definition has. Unchanged if Nova's API shows the
        stored properties, and if there is no definition, or one with several models. The
        definition's model counts even if the image says otherwise, as nova-manage may have changed
        it for this server; a NIC without a model counts for nothing."""
        config = server.config
        found = self._models.get(bare_uuid(server.uuid), {})
        models = {model for model in found.values() if model is not None}
        if config.properties_source == "api" or len(models) != 1:
            return server
        (model,) = models
        if normal_vif_model(config.property(MODEL) or "") == model:
            return server
        kept = tuple(sorted({**dict(config.stored_properties), MODEL: model}.items()))
        declared = server.declared.with_server(replace(config, stored_properties=kept))
        nics = tuple(_with_model(nic, model) if nic.mac in found else nic for nic in server.nics)
        return replace(server, declared=declared, nics=nics)


def _with_model(nic: Nic, model: str) -> Nic:
    return replace(nic, declared=replace(nic.declared, model=model))
