"""A plan and ``--fix`` kept a record of every NIC of every judgement until the end, several for
each NIC, to compare their MAC addresses, which neither of them does."""

import gc
from collections.abc import Iterable
from pathlib import Path
from types import FunctionType, ModuleType

from tests.remedy.planning.cloud.clouds import server
from tests.remedy.planning.planned import definition, interface, live, requested
from tests.remedy.works import work
from vnicaudit.audit.reading.files import read_file
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change
from vnicaudit.model.host import HostConfig
from vnicaudit.model.rule import NicSeen
from vnicaudit.remedy.in_place import fix_files
from vnicaudit.remedy.planning.cloud.servers import judged_server
from vnicaudit.remedy.planning.source import JudgedDomain

_CODE = (type, ModuleType, FunctionType)


def _kept(top: object) -> int:
    """The records of NICs that can be reached from an object."""
    found, known, waiting = 0, {id(top)}, [top]
    while waiting:
        one = waiting.pop()
        found += isinstance(one, NicSeen)
        for other in _behind(one):
            if id(other) not in known:
                known.add(id(other))
                waiting.append(other)
    return found


def _behind(one: object) -> Iterable[object]:
    return () if isinstance(one, _CODE) else gc.get_referents(one)


def _file(folder: Path) -> Path:
    path = folder / "guest.xml"
    path.write_text(definition(interface("rtl8139")))
    return path


def test_no_plan_of_a_domain_keeps_its_nics() -> None:
    everything = work()
    found = JudgedDomain(live(definition(interface("e1000"))), requested(everything))
    (nic,) = found.source.domain.nics
    changes = [Change("model", "e1000", "virtio", safe=True)]
    _text, after = found.with_changes(nic, changes)
    assert found.findings_to_plan(nic, []) != []
    found.new_errors(after, nic.index)
    assert _kept(everything) == 0


def test_no_plan_of_a_server_keeps_its_nics() -> None:
    everything = work()
    found = judged_server(requested(everything), server(), "openstack:c")
    assert found.findings
    assert _kept(everything) == 0


def test_no_fix_in_place_keeps_the_nics_of_its_file(tmp_path: Path) -> None:
    everything, path = work(), _file(tmp_path)
    (one,) = fix_files(
        {str(path): False}, everything, every_platform().writer, include_unsafe=True, write=True
    )
    assert one.changes
    assert _kept(everything) == 0


def test_no_judgement_keeps_what_was_judged(tmp_path: Path) -> None:
    everything = work()
    (domain,) = read_file(str(_file(tmp_path)), "t", every_platform().files, explicit=True)
    assert isinstance(domain, Domain)
    everything.domain(domain, HostConfig(), "t")
    (mac, _record), *more = everything.nics_to_compare(domain, "t")
    assert (mac, more) == (domain.nics[0].mac, [])
    assert _kept(everything) == 0
