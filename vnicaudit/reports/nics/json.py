"""``vnicaudit.nics/1``: one NIC per line, written as it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.audit.judging.domains import nic_row
from vnicaudit.model.domain import Domain
from vnicaudit.model.report import NICS_SCHEMA
from vnicaudit.reports.coverage import Separator
from vnicaudit.reports.safe import encode_items
from vnicaudit.reports.writers import Options


def render(domains: Iterable[Domain], options: Options) -> Iterator[str]:
    """The document in pieces, one per domain. Options have no effect."""
    del options
    separator = Separator()
    yield f'{{"schema":"{NICS_SCHEMA}",\n"nics":['
    for domain in domains:
        if domain.nics:
            yield separator.before() + encode_items([nic_row(domain, nic) for nic in domain.nics])
    yield "]}\n"
