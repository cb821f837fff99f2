"""What the definitions on compute nodes tell of servers, where Nova says nothing of what it keeps.

Nova makes a definition of what it keeps (``get_vif_model`` in nova/virt/libvirt/vif.py, 34.0.0) at
each start, and since 25.0 it keeps the model it chose by itself as well. So the model that the
definition has is the one that is kept, unless somebody set another while the server ran, which Nova
refuses; or, where it is libvirt's default, none is kept: the server was made while
``use_virtio_for_bridges`` was off. Whoever applies the plan asks nova-manage first.
"""

from __future__ import annotations

from msgspec.structs import replace

from vnicaudit.audit.fingerprint import bare_uuid
from vnicaudit.model.backends import KEPT_MODEL
from vnicaudit.model.domain import Domain
from vnicaudit.model.nic import Nic
from vnicaudit.model.openstack import normal_vif_model
from vnicaudit.model.server import MODEL


class Definitions:
    """Domains of the libvirt targets of a plan that Nova made."""

    def __init__(self) -> None:
        self._models: dict[str, dict[str | None, str | None]] = {}

    def met(self, domain: Domain) -> None:
        """A domain as it runs, or is defined."""
        if domain.uuid is not None and domain.declared.owner == "nova":
            self._models[bare_uuid(domain.uuid)] = {
                nic.mac: nic.declared.model
                for nic in domain.nics
                if nic.declared.type in KEPT_MODEL
            }

    def joined(self, server: Domain) -> Domain:
        """The server with the model that its definition has; as it is where Nova says what it
        keeps, and where there is no definition, or one with several models. What its image says
        may have been changed for the server by nova-manage, and no model there is no model that is
        kept."""
        config = server.declared.server
        found = self._models.get(bare_uuid(server.uuid or ""), {})
        models = {model for model in found.values() if model is not None}
        if config is None or config.kept_by == "api" or len(models) != 1:
            return server
        (model,) = models
        if normal_vif_model(config.property(MODEL) or "") == model:
            return server
        kept = tuple(sorted({**dict(config.kept), MODEL: model}.items()))
        declared = replace(server.declared, server=replace(config, kept=kept))
        nics = tuple(_with(nic, model) if nic.mac in found else nic for nic in server.nics)
        return replace(server, declared=declared, nics=nics)


def _with(nic: Nic, model: str) -> Nic:
    return replace(nic, declared=replace(nic.declared, model=model))
