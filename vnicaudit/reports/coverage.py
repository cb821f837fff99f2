"""The part of a fleet covered by an audit, in words, to be shown wherever its numbers are."""

from __future__ import annotations

from vnicaudit.base.wording import count
from vnicaudit.model.report import Coverage


def coverage_sentence(coverage: Coverage | None) -> str:
    """``a sample of 5% of the hosts (seed 7), 50 of 1,000 hosts``, and the limit; empty if the
    whole fleet was audited, or the audit is not of a fleet."""
    if coverage is None or coverage.is_whole:
        return ""
    parts = []
    if coverage.is_sample:
        drawn = "NICs" if coverage.nic_share < 1 else "hosts"
        share = coverage.host_share * coverage.nic_share
        parts.append(f"a sample of {percent(share)} of the {drawn} (seed {coverage.seed})")
    if coverage.limit:
        parts.append(f"limit {coverage.limit!r}")
    hosts = f"{coverage.hosts:,} of {count(coverage.inventory, 'host')}"
    return ", ".join((*parts, hosts))


def percent(share: float) -> str:
    """``5%``, ``0.1%``."""
    return f"{share * 100:.4g}%"
