"""``nics`` listed a NIC as one that does not start while the audit of the same file said "No
problems": whatever the one knows, the other tells. Held against every definition and command line
that the tests of the rules, of reading and of what libvirt and QEMU measure have."""

import random
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest

from tests.conformance.argv_lines import random_line
from tests.rules.shipped import cases
from vnicaudit.audit.effective.resolve import resolve
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.audit.reading.files import read_stream
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.rule_cases.judging import document

TESTS = Path(__file__).parents[2]
HOSTS = (
    HostConfig(),
    HostConfig(qemu_version=Version(7, 2), libvirt_version=Version(9, 0), assumed=True),
    HostConfig(qemu_version=Version(10, 0), libvirt_version=Version(11, 3), assumed=True),
)
MAKERS = (
    "<qemu:override><qemu:device alias='net0'><qemu:frontend><qemu:property name='{0}' "
    "type='string' value='{1}'/></qemu:frontend></qemu:device></qemu:override>",
    "<qemu:commandline><qemu:arg value='-set'/><qemu:arg value='device.net0.{0}={1}'/>"
    "</qemu:commandline>",
    "<qemu:commandline><qemu:arg value='-global'/><qemu:arg value='virtio-net-pci.{0}={1}'/>"
    "</qemu:commandline>",
)


def _of_rules() -> Iterator[tuple[str, str]]:
    for file in sorted((TESTS / "rules").glob("VNIC*.yaml")):
        for case in cases(file.stem):
            if case.xml is not None:
                yield f"{file.stem}: {case.name}", document(case)[0]
            elif case.command is not None:
                yield f"{file.stem}: {case.name}", case.command


def _of_files() -> Iterator[tuple[str, str]]:
    for file in sorted(TESTS.rglob("*.xml")):
        yield str(file.relative_to(TESTS)), file.read_text(errors="replace")


def _of_qemu() -> Iterator[tuple[str, str]]:
    source = random.Random(20261122)
    for _ in range(300):
        text = random_line(source, tap=False).text
        yield text, text


def _behind() -> Iterator[tuple[str, str]]:
    properties = (("rx_queue_size", "300"), ("tx_queue_size", "1024"), ("mq", "x"), ("hash", ""))
    for maker in MAKERS:
        for model in ("virtio", "e1000", "virtio-transitional", "virtio-net-pci"):
            for name, value in properties:
                yield (
                    f"{model} {maker}",
                    (
                        "<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
                        "<name>a</name><os><type arch='x86_64' machine='q35'>hvm</type></os>"
                        "<devices>"
                        f"<interface type='bridge'><source bridge='b'/><model type='{model}'/>"
                        f"</interface></devices>{maker.format(name, value)}</domain>"
                    ),
                )


@pytest.mark.parametrize("source", [_of_rules, _of_files, _of_qemu, _behind])
def test_it_is_an_error(source: Callable[[], Iterator[tuple[str, str]]]) -> None:
    engine = DomainAuditor(rule_ids(), every_platform())
    stopped = 0
    silent = []
    for where, text in source():
        for item in read_stream(BytesIO(text.encode()), "given", every_platform().files):
            if not isinstance(item, Domain):
                continue
            for host in HOSTS:
                audited = engine.audit_domain(item, host, "given")
                errors = {one.about.index for one in audited.findings if one.severity == "error"}
                for nic in item.nics:
                    starts = resolve(nic.declared, item.declared, host, nic.running).starts
                    stopped += not starts
                    if not starts and nic.index not in errors:
                        silent.append((where, nic.index, str(host.qemu_version)))
    assert stopped > 3
    assert silent == []
