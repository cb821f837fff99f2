"""What carrying a plan out asks of platforms is what they offer: the type checker compares them."""

from __future__ import annotations

from vnicaudit.platforms.domain_xml import definitions, pieces, write
from vnicaudit.platforms.libvirt import control
from vnicaudit.remedy import definitions as texts
from vnicaudit.remedy import hypervisor


def offered(host: control.Hypervisor, machine: control.Machine) -> None:
    """Never called: each line is a question to the type checker."""
    _host: hypervisor.Hypervisor = host
    _machine: hypervisor.Machine = machine


def test_texts_are_read_and_written_by_the_platform() -> None:
    reading: texts.Reading = definitions
    elements: texts.Elements = pieces
    writer: texts.Writer = write
    assert (texts.reading(), texts.elements()) == (reading, elements)
    assert callable(writer.rewritten)
