"""Random definitions, started by a real libvirt and QEMU: which of them start, and what each NIC
is then, against what is said of them.

    python -m tests.conformance.start [--release trixie|sid] [--seed N] [--count N] [--fix]

Each definition of :mod:`tests.conformance.define` is defined and started, paused, by a libvirtd of
its own (:mod:`tests.conformance.releases`). Of one that starts, no error may have been said and
each NIC must agree in model, queue pairs and rings with what QEMU answers. Of one that does not,
it is counted whether an error, or a NIC that is said not to start, predicted it. What fails for
want of a device, a socket or a kernel module of this machine is left out. Prints the seed, each
disagreement and the counts; exit code 1 when a definition that starts disagrees, or fewer than
97 % of the others are predicted. With ``--fix``, each that starts is fixed as ``audit --fix
--include-unsafe`` does, and must start again.
"""

import argparse
import importlib
import random
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from tests.conformance.argv import Real, Shape, differences, nics
from tests.conformance.define import random_domain
from tests.conformance.fix import fixed_files
from tests.conformance.releases import HERE, RELEASES, connection
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.model.nic import Nic
from vnicaudit.platforms.domain_xml.read import read_bytes

PREDICTED = 0.97
_NOT_DEFINED = "not defined: "
_FOR_THIS_MACHINE = "fails for this machine's sake"
_OF_THIS_MACHINE = re.compile(
    r"/dev/vhost-vdpa|macvtap|Failed to connect to|No such device|failed to find romfile"
    r"|host doesn't support passthrough|PCI device assignment is not supported by the host"
    r"|to OVS bridge|Child process \(tc |error adding vlan filter to interface"
    r"|Cannot check QEMU binary|filter '.*' is missing|filter binding has no|nwfilter:///"
)
"""What libvirt says when it is not the definition that is wrong."""
_OF_THE_NETWORK = re.compile(
    "'floor' is only supported|vlan tag not supported|not supported for network|teaming transient"
)


class Judged(NamedTuple):
    """What is said of a definition: the NICs that there will be, and why it does not start."""

    nics: list[Shape]
    refused: tuple[str, ...]


class Judge:
    """Asks the rules, as an audit of this libvirt does."""

    def __init__(self, opened: Any) -> None:
        self._engine = DomainAuditor(rule_ids(), every_platform())
        self._host = HostConfig(
            libvirt_version=Version.from_libvirt(opened.getLibVersion()),
            qemu_version=Version.from_libvirt(opened.getVersion()),
            arch="x86_64",
            vhost_net=False,
        )

    def judge(self, text: str) -> Judged:
        """What is said of one definition."""
        (domain,) = read_bytes(text.encode(), target="t", file="f.xml")
        audited = self._engine.audit_domain(domain, self._host, "t")
        assert not audited.crashed
        errors = [
            f"{one.rule}: {one.message}" for one in audited.findings if one.severity == "error"
        ]
        shapes = [self._shape(nic, domain, errors) for nic in domain.nics]
        return Judged([shape for shape in shapes if shape.model is not None], tuple(errors))

    def _shape(self, nic: Nic, domain: Domain, errors: list[str]) -> Shape:
        found = self._engine.effective(nic, domain, self._host)
        if not found.starts:
            errors.append(f"nics: {found.model.reason}")
        return Shape(
            found.model.effective,
            nic.mac and re.sub(r"\b([0-9a-f])\b", r"0\1", nic.mac.lower()),
            found.queues.effective,
            found.rx_queue_size.effective,
            found.tx_queue_size.effective,
        )


def start(opened: Any, text: str) -> Real:
    """Define and start it, paused, ask QEMU for its devices, and remove it."""
    libvirt: Any = importlib.import_module("libvirt")
    monitor: Any = importlib.import_module("libvirt_qemu")
    try:
        domain = opened.defineXML(text)
    except libvirt.libvirtError as error:
        return Real(None, f"{_NOT_DEFINED}{error}")
    try:
        domain.createWithFlags(libvirt.VIR_DOMAIN_START_PAUSED)
        tree, network = (
            monitor.qemuMonitorCommand(domain, f"info {name}", 1) for name in ("qtree", "network")
        )
        domain.destroy()
    except libvirt.libvirtError as error:
        return Real(None, str(error))
    finally:
        domain.undefineFlags(libvirt.VIR_DOMAIN_UNDEFINE_NVRAM)
    return Real(list(nics(tree, network)))


def compare(opened: Any, judge: Judge, text: str) -> tuple[str, list[str]]:
    """What one definition comes to: a word for the count, and what to print."""
    real, said = start(opened, text), judge.judge(text)
    if real.nics is not None:
        found = [f"said not to start: {reason}" for reason in said.refused]
        found = found or differences(said.nics, real.nics)
        return ("differs" if found else "agrees"), found
    if _OF_THIS_MACHINE.search(real.complaint) or (
        "<interface type='network'" in text and _OF_THE_NETWORK.search(real.complaint)
    ):
        return _FOR_THIS_MACHINE, [real.complaint]
    bare = start(opened, re.sub("<interface.*</interface>", "", text))
    if bare.nics is None:
        return "refused for another reason", [bare.complaint]
    stage = "not defined" if real.complaint.startswith(_NOT_DEFINED) else "not started"
    if said.refused:
        return f"{stage}, predicted", []
    return f"{stage}, not predicted", [real.complaint]


def run(seed: int, count: int, release: str = HERE) -> int:
    """Compare so many definitions and print what they came to; 0 where the bar is met."""
    chance, counts = random.Random(seed), Counter[str]()
    with connection(release) as opened:
        judge = Judge(opened)
        for number in range(count):
            text = random_domain(chance, "start")
            word, said = compare(opened, judge, text)
            counts[word] += 1
            if said:
                print(f"definition {number}: {word}", *said, text, sep="\n  ", flush=True)
        print(f"seed {seed}, libvirt {opened.getLibVersion()}, QEMU {opened.getVersion()}")
    for word, number in sorted(counts.items()):
        print(f"{number:6} {word}")
    missed = sum(number for word, number in counts.items() if word.endswith(", not predicted"))
    refused = missed + sum(counts[word] for word in counts if word.endswith(", predicted"))
    print(f"{refused - missed} of {refused} refusals are predicted")
    none = not counts["agrees"]
    return 1 if none or counts["differs"] or missed > (1 - PREDICTED) * refused else 0


def run_fixes(seed: int, count: int, release: str = HERE) -> int:
    """Fix so many definitions; 0 where each that started does so afterwards."""
    chance, fixed, failures = random.Random(seed), 0, 0
    with tempfile.TemporaryDirectory() as name, connection(release) as opened:
        texts = {
            Path(name, f"{number}.xml"): random_domain(chance, "start") for number in range(count)
        }
        for path, text in texts.items():
            path.write_text(text)
        for one in fixed_files(Path(name), include_unsafe=True):
            path = Path(one.path)
            if one.changes and start(opened, texts[path]).nics is not None:
                fixed += 1
                after = start(opened, path.read_text())
                if after.nics is None:
                    failures += 1
                    print(after.complaint, texts[path], path.read_text(), sep="\n  ", flush=True)
        print(f"seed {seed}, libvirt {opened.getLibVersion()}, QEMU {opened.getVersion()}")
    print(f"{fixed - failures} of {fixed} that started and were fixed start afterwards")
    return 1 if failures or not fixed else 0


def main(arguments: list[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--release", choices=RELEASES, default=HERE)
    parser.add_argument("--seed", type=int, default=None, help="default: a random one")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--fix", action="store_true", help="start them, fix them, start them again")
    given = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    return (run_fixes if given.fix else run)(seed, given.count, given.release)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
