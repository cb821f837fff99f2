"""What crosses the wire is what was read; other versions are told apart."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.fleet.daemons import write_host
from vnicaudit import __version__
from vnicaudit.cli.fleet import dask_worker
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.fleet.dask import (
    HostAnswer,
    HostOrder,
    OtherVersionError,
    answer_of,
    decoded,
    encoded,
)
from vnicaudit.fleet.host_reading import one_try
from vnicaudit.model.fleet import HostOptions, HostTraffic, InventoryHost, LiveOptions, NicTraffic
from vnicaudit.model.host import Host
from vnicaudit.model.report import LostRead, ReadError

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import HostItem

PLAIN = LiveOptions(deadline=7, traffic=0.1)


def test_what_a_worker_reads_is_what_is_read_here(tmp_path: Path) -> None:
    write_host(tmp_path / "h.xml", 1, 5)
    host = InventoryHost("h", f"test://{tmp_path}/h.xml", "s", ("g",), HostOptions(3.0), "f:1")
    here = one_try(every_platform().read_live, host, PLAIN, 60)
    answer = decoded(dask_worker.read_host(encoded(HostOrder(host, PLAIN, 60))), HostAnswer)
    assert answer.decoded_items() == here
    assert len(here) > 5


def test_every_kind_of_item_comes_as_it_was() -> None:
    items: list[HostItem] = [
        Host("kvm"),
        ReadError("no", "f", 3),
        LostRead("lost", "f", failure="deadline", whole=False),
        HostTraffic((NicTraffic(uuid="u", device="vnet0", seconds=1.0, rx_bytes=5),)),
    ]
    told = decoded(encoded(answer_of("w", items)), HostAnswer).decoded_items()
    assert told == items
    assert list(map(type, told)) == list(map(type, items))


def of_version(version: str, record: object) -> bytes:
    """A message as another version would write it."""
    return msgspec.msgpack.encode([1, version, record])


def test_messages_of_another_version_are_refused() -> None:
    with pytest.raises(OtherVersionError, match=r"^0\.0\.1$"):
        decoded(of_version("0.0.1", {"new": "fields"}), HostAnswer)
    decoded(dask_worker.version(), type(None))


def test_a_worker_says_that_its_controller_is_another() -> None:
    answer = decoded(dask_worker.read_host(of_version("0.0.1", None)), HostAnswer)
    assert answer.refused == f"it has vnicaudit {__version__}, but the controller has 0.0.1"


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x93\x01\x02\x03", encoded(None)])
def test_what_is_no_answer_is_no_value(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decoded(data, HostAnswer)


def test_a_worker_loads_no_terminal_and_no_database() -> None:
    program = (
        "import sys; from vnicaudit.cli.fleet import dask_worker; dask_worker.version(); "
        "print(*({'rich', 'sqlalchemy', 'distributed'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert out.stdout.decode().split() == []
