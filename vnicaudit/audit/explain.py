"""One NIC, layer by layer: where each setting is declared, which declaration wins, and why."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import partial
from urllib.parse import quote

import msgspec

from vnicaudit.audit.accepting.settings_entries import Usage
from vnicaudit.audit.explain_layers import layers
from vnicaudit.audit.judging.domains import DomainAuditor, nic_row
from vnicaudit.audit.work import Assumptions, AuditWork, Work
from vnicaudit.knowledge.systems import LINUX, WINDOWS, system_of
from vnicaudit.model.domain import Domain, Server
from vnicaudit.model.finding import VIRTIO, Ref
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import UNKNOWN, Effective, Nic
from vnicaudit.model.openstack import CloudServer
from vnicaudit.model.report import Explained, Explanation, NextCheck, ServerName

# Find the wanted NICs among everything that is read, and explain them.


_NAMES = 10_000
"""Maximum number of names remembered to suggest for a misspelt one."""
_ONLY = 20
"""Explanations kept to tell that the targets have more than one NIC."""


class ExplainWork(Work):
    """Looks for the wanted NICs among everything read, and explains each.

    ``wanted`` is a MAC address or an index; ``domain`` a name or UUID (for a server also Nova's
    name for it), or None for any. ``found`` fills up as :meth:`take` is given the products of the
    run; ``bare`` has those of that name without NICs.
    """

    def __init__(
        self, judge: AuditWork, assumptions: Assumptions, wanted: str | None, domain: str | None
    ) -> None:
        """``wanted``: a NIC by MAC address, index or tap; None: the only one."""
        super().__init__(assumptions, judge.platforms)
        self._audit_work = judge
        self._auditor = DomainAuditor((), judge.platforms)
        self._wanted = None if wanted is None else {wanted, wanted.lower().replace("-", ":")}
        self._domain = domain
        self.found: list[Explanation] = []
        self.bare: list[str] = []
        self.has_domain = False
        """True once the requested domain was read."""
        self.names: set[str] = set()
        """Names of the first domains read, if one was requested."""
        self.macs: set[str] = set()
        """MAC addresses of the first NICs among which one is wanted."""

    def domain(self, domain: Domain, host: HostConfig | None, target: str) -> Explained:
        """Explain the wanted NICs of this domain."""
        names = tuple(filter(None, _names(domain)))
        if self._domain not in (None, *names):
            return Explained(names, is_asked_for=False)
        if self._wanted is None:
            nics = list(domain.nics[:_ONLY])
        else:
            nics = [
                nic for nic in domain.nics
                if self._wanted & {nic.known_mac, str(nic.index), nic.target_dev}
            ]  # fmt: skip
        return Explained(
            names,
            is_asked_for=True,
            macs=tuple(mac for nic in domain.nics if (mac := nic.known_mac) is not None),
            explanations=tuple(self._explanations(domain, nics, host, target)),
            bare="" if domain.nics or self._domain is None else _without_nics_text(domain),
        )

    def take(self, product: object) -> None:
        """Remember what was found in one domain; other products are left alone."""
        if not isinstance(product, Explained):
            return
        if self._domain is not None and len(self.names) < _NAMES:
            self.names.add(product.names[0])
        self.has_domain = self.has_domain or product.is_asked_for
        if len(self.macs) < _NAMES:
            self.macs.update(product.macs)
        if self._wanted is not None or len(self.found) < _ONLY:
            self.found += product.explanations
        self.bare += filter(None, [product.bare])

    def usage(self) -> Usage:
        """The uses of the settings' suppressions that were counted so far."""
        return self._audit_work.usage()

    def _explanations(
        self, domain: Domain, nics: Sequence[Nic], host: HostConfig | None, target: str
    ) -> Iterator[Explanation]:
        if not nics:
            return
        judged_host = self._assumptions.host_of(domain, host)
        audited = self._audit_work.domain(domain, host, target)
        title = self.platforms.title(domain.declared)
        for nic in nics:
            effective = self._auditor.effective(nic, domain, judged_host)
            about = partial(_regards, nic=nic)
            yield Explanation(
                nic=nic_row(domain, msgspec.structs.replace(nic, effective=effective)),
                server=_server(domain.cloud),
                layers=tuple(layers(domain, nic, judged_host, effective, title)),
                findings=tuple(one for one in audited.findings if about(one.about)),
                suppressed=tuple(one for one in audited.suppressed if about(one.finding.about)),
                skipped=tuple(one for one in audited.skipped if about(one.about)),
                crashed=tuple(one for one in audited.crashed if about(one.about)),
                next_checks=tuple(next_checks(domain, nic, effective, target)),
            )


def _regards(about: Ref, nic: Nic) -> bool:
    """True if ``about`` refers to this NIC, or to its guest, and not to the file."""
    return about.kind != "config" and about.index in (nic.index, None)


def _server(ref: CloudServer | None) -> ServerName | None:
    if ref is None:
        return None
    return ServerName(
        ref.id, ref.name, ref.target, ref.project or None, ref.project_name or None, ref.host
    )


def _names(domain: Domain) -> tuple[str | None, ...]:
    server = domain.cloud
    names = (domain.name, domain.uuid)
    return names if server is None else (*names, server.name, server.instance_name)


def _without_nics_text(domain: Domain) -> str:
    if isinstance(domain, Server):
        return f"the server {domain.name!r} ({domain.uuid}) has no NIC: no port is attached to it"
    return f"the domain {domain.name!r} has no NIC"


# Places to look next if a NIC is slow and nothing is wrong in its definition: in the guest, on the
# host, along the path, and a measurement. Only what is not known yet.


_LOCAL = "qemu:///system"
_TAPS = ("bridge", "network", "ethernet", "direct")
_IP_AND_ICMP = 28
"""Bytes of a ping before its data, without a VLAN tag."""
_SIMPLE = r"\w[\w.-]{0,63}"


def next_checks(domain: Domain, nic: Nic, effective: Effective, target: str) -> Iterator[NextCheck]:
    """At most ten. ``target``: where the domain was read. Of an emulated NIC only the measurement:
    its model is what makes it slow. Nothing of one that does not start."""
    if not effective.starts:
        return
    family = system_of(domain).family
    if effective.model.effective in VIRTIO or nic.declared.type == "hostdev":
        yield from _in_guest(domain, effective, family)
        if domain.declared.is_definition and _type(nic) in _TAPS:
            yield from _on_host(nic, effective)
        yield _full_frame(nic, family)
    yield _measurement(domain, target, family)


def _in_guest(domain: Domain, effective: Effective, family: str | None) -> Iterator[NextCheck]:
    """NetKVM spreads load by RSS, up to ``*NumRssQueues`` (virtio-win, NetKVM/wlh/netkvm.inf)."""
    queues = effective.queues.effective
    wanted = "as many as the NIC has" if queues is None else str(queues)
    if family == WINDOWS:
        version = "Get-NetAdapter | Format-List Name, DriverVersion"
        yield NextCheck("guest", version, "NetKVM is a recent one of virtio-win")
        if queues != 1:
            look = f"RSS is enabled, NumberOfReceiveQueues is {wanted}"
            yield NextCheck("guest", "Get-NetAdapterRss", look)
    if family not in (LINUX, None):
        return
    if queues != 1:
        yield NextCheck("guest", "ethtool -l IFACE", f"Combined, in use, is {wanted}")
    yield NextCheck("guest", "ethtool -k IFACE", "checksumming, segmentation, GRO are on")
    if domain.state is None or domain.state.guest_kernel is None:
        yield NextCheck("guest", "uname -r; ethtool -i IFACE", "which driver, how old")


def _on_host(nic: Nic, effective: Effective) -> Iterator[NextCheck]:
    tap = _word(nic.target_dev, "TAP")
    uplink = _word(nic.source, "UPLINK") if _type(nic) == "direct" else "UPLINK"
    if effective.vhost.state == UNKNOWN and nic.mac is not None:
        command = f"vnicaudit explain {_LOCAL} --nic {shlex.quote(nic.mac)}"
        yield NextCheck("host", command, "as root on its host: vhost")
    elif effective.vhost.effective:
        command = "ps -eLo pcpu,psr,comm | grep vhost-"
        yield NextCheck("host", command, "no vhost thread fills its CPU")
    steering = f"grep . /sys/class/net/{tap}/queues/rx-*/rps_cpus"
    yield NextCheck("host", steering, "steering: CPUs per queue")
    yield NextCheck("host", f"ethtool -k {uplink}", "segmentation and GRO are on")
    if nic.path is None or None in (nic.path.tap, nic.path.uplink):
        is_bridge = nic.declared.type == "bridge" and nic.source is not None
        which = f"master {_word(nic.source, 'BRIDGE')}" if is_bridge else uplink
        yield NextCheck("path", f"ip link show {which}", "tap and uplink have the same MTU")


def _full_frame(nic: Nic, family: str | None) -> NextCheck:
    running = None if nic.running is None else nic.running.mtu
    size = (running or nic.declared.mtu or 1500) - _IP_AND_ICMP
    command = f"ping -f -l {size} PEER" if family == WINDOWS else f"ping -M do -s {size} PEER"
    return NextCheck("path", command, "in the guest: a full frame gets through")


def _measurement(domain: Domain, target: str, family: str | None) -> NextCheck:
    if family == WINDOWS:
        return NextCheck("measure", "iperf3 -c PEER -P 4", "in the guest; then with -R")
    end = "ssh://root@GUEST"
    name = domain.name if re.fullmatch(_SIMPLE, domain.name, re.ASCII) else domain.uuid
    has_agent = domain.live is not None and domain.live.state.agent is not False
    if has_agent and target.startswith(("qemu:", "qemu+")) and name is not None:
        end = f"agent://{name}"
        if target != _LOCAL:
            end += f"?connect={quote(target, safe=':/+@')}"
    command = f"vnicaudit bench run {shlex.quote(end + ',ssh://root@PEER')} --profile quick"
    return NextCheck("measure", command, "PEER: another machine")


def _type(nic: Nic) -> str:
    return nic.declared.actual_type or nic.declared.type


def _word(name: str | None, placeholder: str) -> str:
    """The name of an interface; the placeholder if there is none or it is odd."""
    return name if name is not None and re.fullmatch(_SIMPLE, name, re.ASCII) else placeholder
