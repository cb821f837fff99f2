"""A domain's NIC -> its row of ``vnicaudit.nics/1``."""

from __future__ import annotations

from vnicaudit.model.domain import Domain
from vnicaudit.model.nic import Nic
from vnicaudit.model.owner import name_of
from vnicaudit.model.report import NicRow


def nic_row(domain: Domain, nic: Nic) -> NicRow:
    """One NIC, declared and effective. Raises ValueError when it was not resolved before."""
    effective = nic.effective
    if effective is None:
        raise ValueError(f"NIC {nic.index} of {domain.name!r} has not been resolved")
    return NicRow(
        domain=domain.name,
        uuid=domain.uuid,
        index=nic.index,
        mac=nic.mac,
        type=nic.declared.type,
        actual_type=nic.declared.actual_type,
        origin=nic.declared.origin,
        owner=name_of(domain.declared.owner),
        arch=domain.declared.arch,
        machine=domain.declared.machine,
        vcpus=domain.declared.vcpus,
        active=None if domain.state is None else domain.state.active,
        target_dev=nic.target_dev,
        model=effective.model,
        vhost=effective.vhost,
        queues=effective.queues,
        rx_queue_size=effective.rx_queue_size,
        tx_queue_size=effective.tx_queue_size,
        starts=effective.starts,
        location=nic.location,
        wiring=nic.wiring,
        source=nic.network if domain.declared.is_server else nic.source,
    )
