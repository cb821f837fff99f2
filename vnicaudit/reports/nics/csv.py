"""One line per NIC, for spreadsheets. Columns are stable: new ones are added at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.audit.judging.domains import nic_row
from vnicaudit.model.domain import Domain
from vnicaudit.model.nic import Resolved
from vnicaudit.model.report import NicRow
from vnicaudit.reports.nics.text import verdict_of
from vnicaudit.reports.table.csv import lines

_FACTS = ("model", "vhost", "queues", "rx_queue_size", "tx_queue_size")
COLUMNS = (
    "domain", "uuid", "nic", "mac", "target_dev", "type", "actual_type", "owner", "arch",
    "machine", "vcpus", "active", "starts", "verdict",
    *(f"{fact}_{side}" for fact in _FACTS for side in ("declared", "effective")),
    "target", "file", "line", "source",
)  # fmt: skip


def render(domains: Iterable[Domain]) -> Iterator[str]:
    """The column heads, and a piece for each domain."""
    yield lines([COLUMNS])
    for domain in domains:
        if domain.nics:
            yield lines(_row(nic_row(domain, nic)) for nic in domain.nics)


def _row(nic: NicRow) -> tuple[str | int | None, ...]:
    facts = (nic.model, nic.vhost, nic.queues, nic.rx_queue_size, nic.tx_queue_size)
    sides = (side for fact in facts for side in _sides(fact))
    place = nic.location
    return (
        nic.domain, nic.uuid, nic.index, nic.mac, nic.target_dev, nic.type, nic.actual_type,
        nic.owner, nic.arch, nic.machine, nic.vcpus, _word(nic.active), _word(nic.starts),
        verdict_of(nic), *sides, place.target, place.file, place.line,
        nic.source,
    )  # fmt: skip


def _sides(
    fact: Resolved[str] | Resolved[bool] | Resolved[int],
) -> tuple[str | int | None, str | int | None]:
    return _word(fact.declared), _word(fact.effective)


def _word(value: str | int | bool | None) -> str | int | None:
    return str(value).lower() if isinstance(value, bool) else value
