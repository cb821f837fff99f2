"""The model, the tuning that is read, queues and rings: declared and effective, and whether the NIC
starts; with what runs, which decides, and proves that it starts on the versions it runs on."""

from typing import Any

import msgspec

from tests.rows import rows
from vnicaudit.audit.effective.resolve import resolve
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import NicConfig, Resolved, RunningNic
from vnicaudit.rule_cases.judging import record_of

Facts = dict[str, Any]


@rows
def test_facts(
    nic: Facts,
    domain: Facts,
    host: Facts,
    running: Facts | None,
    starts: bool,
    facts: dict[str, list[Any]],
) -> None:
    """``facts``: declared, effective, the reason, and the state unless it is known."""
    found = resolve(
        msgspec.convert(nic, NicConfig),
        msgspec.convert(domain, DomainConfig),
        record_of(HostConfig, host),
        None if running is None else record_of(RunningNic, running),
    )
    assert {name: getattr(found, name) for name in facts} == {
        name: Resolved(*values) for name, values in facts.items()
    }
    assert found.starts is starts
