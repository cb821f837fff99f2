"""A small run to write reports of: four domains on two targets, one of them broken."""

from collections.abc import Iterable

from vnicaudit.model.finding import (
    Change,
    Confidence,
    Crashed,
    Finding,
    FindingOwner,
    Location,
    Ref,
    Severity,
    Skipped,
)
from vnicaudit.model.names import RuleInfo
from vnicaudit.model.report import (
    Audited,
    ReadError,
    RunEnd,
    RunInfo,
    Summary,
    Suppressed,
    TargetResult,
    Tool,
)
from vnicaudit.reports.formats import writer
from vnicaudit.reports.writers import Options

WEB_UUID = "3b2bb8cc-9a31-4a4b-a26c-1a7d0a5c8e01"
WEB = Ref("nic", "web-01", WEB_UUID, "52:54:00:6b:3c:58", 0, None)
WEB_1 = Ref("nic", "web-01", WEB_UUID, None, 1, "vnet7")
DB = Ref("nic", "instance-0000002a", None, "fa:16:3e:10:20:30", 0, "tap1f2e3d4c-5b")
XPATH = "/domain/devices/interface[1]"


WEB_PLACE = Location("domains", "domains/web-01.xml", 18, XPATH)


def finding(
    rule: str = "VNIC001",
    *,
    name: str = "legacy-emulated-nic",
    severity: Severity = "high",
    confidence: Confidence = "high",
    message: str = "rtl8139 is emulated packet by packet: no offload, no vhost",
    about: Ref = WEB,
    location: Location = WEB_PLACE,
    owner: FindingOwner = "libvirt",
    change: Change | None = None,
    fix: str = "Set <model type='virtio'/> (virsh edit), then power the guest off and on.",
) -> Finding:
    """A finding, as the engine makes it."""
    mark = f"{rule.lower()}-{about.name}-{about.index}"
    return Finding(
        rule, name, severity, confidence, message, about, location, owner, change, mark, fix
    )


UNSAFE = Change("model", "rtl8139", "virtio", safe=False, reason="no sign of a virtio driver")
LEGACY = finding(
    change=UNSAFE,
    fix="Set <model type='virtio'/> (virsh edit), then power the guest off and on. "
    "Unsafe: no sign of a virtio driver.",
)
PLAIN = finding(
    "VNIC030",
    name="no-multiqueue",
    severity="medium",
    confidence="medium",
    message="one queue pair for 8 vCPUs",
    about=WEB_1,
    location=Location("domains", "domains/web-01.xml", 31, "/domain/devices/interface[2]"),
    change=Change("queues", None, "8", safe=True),
    fix="Set queues='8' in <driver> (virsh edit), then power the guest off and on.",
)
LIVE = finding(
    "VNIC020",
    name="vhost-inactive",
    message="virtio without vhost: QEMU copies every packet",
    about=DB,
    location=Location("qemu:///system"),
    owner="nova",
    fix="Load vhost_net on the hypervisor, then hard-reboot the server.",
)
WHOLE = finding(
    "VNIC009",
    name="mixed-models",
    severity="low",
    message="rtl8139 and virtio in one guest",
    about=Ref("domain", "web-01", WEB_UUID),
    location=Location("domains", "domains/web-01.xml", 1, "/domain"),
    fix="",
)
VHOST_NEEDS = (
    "the running QEMU: run it on the hypervisor as root, add --host-facts, or give QEMU's command "
    "line or log"
)

WEB_01 = Audited(
    "domains", "web-01", WEB_UUID, "libvirt", "domain", 2,
    findings=(LEGACY, PLAIN, WHOLE), paths=("slow", "unknown"),
    skipped=(Skipped("VNIC020", WEB_1, VHOST_NEEDS), Skipped("VNIC027", WEB_1, VHOST_NEEDS)),
)  # fmt: skip
CLEAN = Audited("domains", "mail-01", None, "libvirt", "domain", 1)
NOVA = Audited(
    "qemu:///system", "instance-0000002a", None, "nova", "domain", 1,
    findings=(LIVE,),
    crashed=(Crashed("VNIC048", DB, "KeyError: 'mtu'"),),
)  # fmt: skip
ACCEPTED = Audited(
    "domains", "legacy", None, "libvirt", "domain", 1,
    suppressed=(
        Suppressed(
            finding(about=Ref("nic", "legacy", None, "52:54:00:00:00:09", 0)),
            "the guest is OS/2",
            "vnicaudit.toml",
        ),
    ),
    skipped=(Skipped("VNIC020", Ref("nic", "legacy", None, None, 0), VHOST_NEEDS),),
)  # fmt: skip
STREAM = (WEB_01, CLEAN, NOVA, ACCEPTED)

RULES = (
    RuleInfo("VNIC001", "legacy-emulated-nic", "high", "nic", "Legacy emulated NIC",
             "Legacy emulated NIC.\n\n## What is wrong\n\nThe NIC is *emulated*.", ("nic",)),
    RuleInfo("VNIC009", "mixed-models", "low", "domain", "Mixed models", "Mixed models."),
    RuleInfo("VNIC020", "vhost-inactive", "high", "nic", "No vhost", "No vhost."),
    RuleInfo("VNIC030", "no-multiqueue", "medium", "nic", "One queue", "One queue."),
)  # fmt: skip
START = RunInfo(Tool("vnicaudit", "0.1.0"), "2026-11-20T10:00:00Z", lambda: RULES)
END = RunEnd(
    "2026-11-20T10:00:02Z",
    (
        TargetResult(
            "domains", "partial", "domains/broken.xml:3: mismatched tag", 3, 4,
            (ReadError("Opening and ending tag mismatch: mac and interface",
                       "domains/broken.xml", 3),), 1,
        ),
        TargetResult("qemu:///system", "ok", None, 1, 1),
        TargetResult("qemu+ssh://kvm7/system", "failed", "no answer within 30 s"),
    ),
    Summary(
        domains=4, nics=5, findings=4,
        by_severity={"high": 2, "low": 1, "medium": 1},
        by_rule={"VNIC001": 1, "VNIC009": 1, "VNIC020": 1, "VNIC030": 1},
        skipped={"VNIC020": 2, "VNIC027": 1},
        crashed=1, suppressed=1, baselined=2,
    ),
)  # fmt: skip
OK_END = RunEnd(
    "2026-11-20T10:00:02Z",
    (TargetResult("domains", "ok", None, 1, 1),),
    Summary(domains=1, nics=1),
)


def written(
    name: str,
    options: Options | None = None,
    stream: Iterable[Audited] = STREAM,
    end: RunEnd = END,
    start: RunInfo = START,
) -> str:
    """A whole report, as the command line would write it."""
    report = writer(name, options or Options())
    pieces = [report.start(start), *(report.add(audited) for audited in stream)]
    return "".join([*pieces, *report.finish(end)])
