"""GitHub annotations: one line each."""

import msgspec

from tests.reports.samples import CLEAN, OK_END, WEB_01, finding, written
from vnicaudit.model.finding import Location, Ref

WHOLE = """\
::error file=domains/web-01.xml,line=18,title=VNIC001 legacy-emulated-nic::web-01, NIC 0 \
52:54:00:6b:3c:58: rtl8139 is emulated packet by packet: no offload, no vhost%0Afix (unsafe): \
Set <model type='virtio'/> (virsh edit), then power the guest off and on. Unsafe: no sign of a \
virtio driver.
::warning file=domains/web-01.xml,line=31,title=VNIC030 no-multiqueue::web-01, NIC 1 vnet7: one \
queue pair for 8 vCPUs (confidence: medium)%0Afix: Set queues='8' in <driver> (virsh edit), then \
power the guest off and on.
::notice file=domains/web-01.xml,line=1,title=VNIC009 mixed-models::web-01: rtl8139 and virtio in \
one guest
::error title=VNIC020 vhost-inactive::instance-0000002a, NIC 0 fa:16:3e:10:20:30: virtio without \
vhost: QEMU copies every packet%0Afix: Load vhost_net on the hypervisor, then hard-reboot the \
server.
::error title=VNIC048 crashed::instance-0000002a, NIC 0 fa:16:3e:10:20:30: KeyError: 'mtu'
::error file=domains/broken.xml,line=3,title=could not be read::domains/broken.xml:3: Opening and \
ending tag mismatch: mac and interface
::error title=could not be read::qemu+ssh://kvm7/system: no answer within 30 s
::notice title=vnicaudit::Found 4 problems (2 high, 1 medium, 1 low) in 2 of 4 domains, 5 NICs; 1 \
rule crashed (1 time); 2 of 3 targets could not be read in full
"""


def test_the_whole_report() -> None:
    assert written("github") == WHOLE


def test_a_clean_run_is_a_notice() -> None:
    assert written("github", stream=[CLEAN], end=OK_END) == (
        "::notice title=vnicaudit::No problems in 1 domain, 1 NIC\n"
    )


def test_a_name_cannot_start_a_command_of_its_own() -> None:
    evil = "a\n::set-output name=x::y\r%0A"
    problem = finding(
        about=Ref("domain", evil), location=Location("d", "d/a,b:c.xml", 2), message="m", fix=""
    )
    stream = [msgspec.structs.replace(WEB_01, subject=evil, findings=(problem,))]
    first = written("github", stream=stream).splitlines()[0]
    assert first == (
        "::error file=d/a%2Cb%3Ac.xml,line=2,title=VNIC001 legacy-emulated-nic::"
        "a\\n::set-output name=x::y\\r%250A: m"
    )
