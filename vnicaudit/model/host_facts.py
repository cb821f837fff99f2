"""Facts of one host that decide how fast its guests' NICs are: links, CPUs, Open vSwitch, IBM Z.

They are read in one visit (:mod:`vnicaudit.platforms.host`), from a live host, a recording of one
or a sosreport, and judged by the rules of scopes ``host`` and ``link``. They are no part of
:class:`~vnicaudit.model.host.HostConfig`, on which remembered verdicts on NICs depend.

None: this source cannot tell. An empty text, tuple or dict: it was read, and there is none.
Counters are totals since the host (or the device) was started; ``growth`` is their increase within
the window of the reading, and None without a window.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Literal

import msgspec

from vnicaudit.model.host import Version

Cpus = tuple[int, ...]
"""Numbers of CPUs, in ascending order."""
Counters = dict[str, int]


class _Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record of this module: fields are named, and those without a value are left out of JSON."""


# Links: adapters, taps, bridges, and what connects them.


class Feature(_Record, frozen=True):
    """One line of ``ethtool -k``."""

    on: bool
    fixed: bool = False
    """The driver does not let it be changed."""
    requested: bool | None = None
    """The state asked for, if it differs from ``on``."""


class Amount(_Record, frozen=True):
    """A setting of a device: what it is, and its maximum (``ethtool -g``, ``-l``)."""

    now: int
    most: int | None = None


class Queue(_Record, frozen=True):
    """One receive or transmit queue in sysfs: ``rx-0``. ``cpus``: the mask of RPS (rx) or XPS
    (tx)."""

    name: str
    cpus: Cpus | None = None
    flows: int | None = None
    """``rps_flow_cnt`` of a receive queue."""


class HostRoute(_Record, frozen=True):
    """A route of the main table: packets to that ``network`` leave by ``device``, with an ``mtu``
    of its own if it has one."""

    network: str
    """With its length: ``10.0.0.0/24``."""
    device: str
    mtu: int | None = None


class Tunnel(_Record, frozen=True):
    """A VXLAN, Geneve or GRE link. ``remote``: address of the other end, or the group; empty: none
    is set. ``device``: the link by which it is sent, with the ``mtu`` of that way."""

    remote: str = ""
    device: str | None = None
    mtu: int | None = None
    external: bool = False
    """Each packet names its remote (``external``), as Open vSwitch's ports do."""


class Qeth(_Record, frozen=True):
    """A device of IBM Z's qeth driver: OSA or HiperSockets (sysfs, ccwgroup/drivers/qeth)."""

    device: str
    """Its number on the bus: ``0.0.f500``."""
    card_type: str | None = None
    layer2: bool | None = None
    buffers: int | None = None
    buffer_bytes: int | None = None
    """``inbuf_size``."""
    bridge_state: str | None = None
    vnicc: dict[str, str] = {}
    """VNIC characteristics: ``flooding``, ``learning``…, as sysfs prints them."""

    @property
    def is_hipersockets(self) -> bool | None:
        """True for HiperSockets, False for an OSA card."""
        return None if self.card_type is None else "hiper" in self.card_type.lower()

    @property
    def is_osa(self) -> bool:
        """True for an OSA card, which has ``OSD_10GIG`` and the like as its type; a network of z/VM
        has ``Virt.NIC QDIO``."""
        return self.card_type is not None and self.card_type.startswith("OSD_")


class HostLink(_Record, frozen=True):
    """One network interface of the host."""

    name: str
    kind: str | None = None
    """As the kernel calls it: ``tun``, ``bridge``, ``veth``, ``bond``, ``vlan``, ``macvtap``,
    ``vxlan``, ``geneve``, ``openvswitch``…; empty for an adapter, and where there is none."""
    mac: str | None = None
    """The permanent address, which a member of a bond keeps; else the present one."""
    address: str | None = None
    """The present address, where it is another one than the permanent."""
    driver: str | None = None
    physical: bool | None = None
    """It has a device on a bus: an adapter, also a virtio one."""
    up: bool | None = None
    """It is administratively up."""
    carrier: bool | None = None
    mtu: int | None = None
    max_mtu: int | None = None
    queue_length: int | None = None
    """``txqueuelen``."""
    master: str | None = None
    """The bridge, bond or datapath it is a port of."""
    lower: str | None = None
    """The link below a VLAN or macvtap."""
    speed: int | None = None
    """Mb/s."""
    node: int | None = None
    """The NUMA node of its device; -1: the firmware names none."""
    rx_queues: int | None = None
    """In use; None also where only the number that could be used is known. Of the transmit queues
    nothing is judged."""
    features: dict[str, Feature] | None = None
    """By the names of ``ethtool -k``: ``tcp-segmentation-offload``."""
    private_flags: dict[str, bool] | None = None
    rings: dict[str, Amount] | None = None
    """``rx`` and ``tx``, in descriptors."""
    channels: dict[str, Amount] | None = None
    """``rx``, ``tx``, ``combined``."""
    queues: tuple[Queue, ...] | None = None
    counters: Counters | None = None
    """``rx_packets``, ``rx_bytes``, ``rx_dropped``, ``rx_errors``, ``rx_missed``, ``rx_over``,
    ``rx_fifo``, ``rx_no_buffer`` and the same of ``tx_``, as seen from the link: packets to a guest
    are its tap's ``tx_``."""
    growth: Counters | None = None
    tunnel: Tunnel | None = None
    static_macs: int | None = None
    """Number of unicast addresses that it takes besides its own (``bridge fdb add … self``); asked
    for on IBM Z only."""
    qeth: Qeth | None = None

    def feature(self, name: str) -> Feature | None:
        """A feature by ethtool's name; None: unknown."""
        return None if self.features is None else self.features.get(name)

    def rps_queues(self) -> tuple[Queue, ...] | None:
        """Receive queues; None: not seen."""
        if self.queues is None:
            return None
        return tuple(queue for queue in self.queues if queue.name.startswith("rx-"))


# CPUs, and who uses which.


class CpuShare(_Record, frozen=True):
    """How one CPU spent the window, in percent of it."""

    idle: float
    softirq: float
    steal: float | None = None
    """None: the counter is absurd, or the view of a container."""


class Softnet(_Record, frozen=True):
    """/proc/net/softnet_stat, of all CPUs: packets dropped because the backlog was full, and times
    that the budget ended with packets left (``squeezed``)."""

    dropped: int
    squeezed: int


class Interrupt(_Record, frozen=True):
    """One interrupt of a network adapter, or of a virtio device."""

    number: str
    device: str
    """Action as /proc/interrupts prints it: ``mlx5_comp3@pci:0000:3b:00.0``, ``eth0-TxRx-1``."""
    link: str | None = None
    """The link it belongs to."""
    allowed: Cpus | None = None
    effective: Cpus | None = None
    total: int | None = None
    growth: int | None = None


class CpuFacts(_Record, frozen=True):
    """CPUs of the host, and how they are divided."""

    online: Cpus | None = None
    isolated: Cpus | None = None
    """/sys/devices/system/cpu/isolated: out of the scheduler's domains."""
    nohz_full: Cpus | None = None
    cores: tuple[Cpus, ...] | None = None
    """The threads of each core."""
    nodes: dict[int, Cpus] | None = None
    governors: dict[str, Cpus] | None = None
    """cpufreq's governor -> CPUs; empty without cpufreq."""
    scaling_driver: str | None = None
    command_line: dict[str, str] | None = None
    """Parameters of the kernel's command line that divide CPUs: ``isolcpus``, ``nohz_full``,
    ``rcu_nocbs``, ``irqaffinity``, ``systemd.cpu_affinity``, ``tuned.non_isolcpus``."""
    services: Cpus | None = None
    """CPUs on which system services may run (effective affinity of PID 1, or CPUAffinity=)."""
    services_by: str = ""
    """What says so."""
    share: dict[int, CpuShare] | None = None
    """Per CPU, within the window; None without one."""
    softnet_growth: Softnet | None = None
    net_rx_growth: dict[int, int] | None = None
    """Per CPU: receive softirqs."""
    interrupts: tuple[Interrupt, ...] | None = None
    irqbalance: bool | None = None
    """It runs."""
    irqbalance_banned: Cpus | None = None
    nova_dedicated: Cpus | None = None
    nova_shared: Cpus | None = None
    nova_ratio: float | None = None
    """``cpu_allocation_ratio``, where it is set."""
    kubelet_reserved: Cpus | None = None
    kubelet_strict: bool | None = None
    """``strict-cpu-reservation``."""


class Thread(_Record, frozen=True):
    """One thread of QEMU, or of what serves it: ``role`` vcpu, emulator, iothread or vhost."""

    role: Literal["vcpu", "emulator", "iothread", "vhost"]
    cpus: Cpus | None = None
    """On which it may run."""
    name: str = ""


class QemuProcess(_Record, frozen=True):
    """A running QEMU as the host sees it. ``guest``: the name of its domain."""

    pid: int
    guest: str | None = None
    threads: tuple[Thread, ...] = ()


# Open vSwitch.


class OvsPort(_Record, frozen=True):
    """One interface of Open vSwitch, with the bridge that has it."""

    name: str
    type: str = ""
    """``dpdk``, ``dpdkvhostuserclient``, ``internal``, ``vxlan``…; empty: a system device."""
    bridge: str | None = None
    error: str = ""
    up: bool | None = None
    """Its link_state."""
    mtu: int | None = None
    mtu_request: int | None = None
    options: dict[str, str] = {}
    status: dict[str, str] = {}
    counters: Counters = {}
    growth: Counters | None = None


class PmdQueue(_Record, frozen=True):
    """One receive queue that a PMD polls. ``usage``: percent of the PMD's time; None: not
    available."""

    port: str
    queue: int
    enabled: bool = True
    usage: float | None = None


class Pmd(_Record, frozen=True):
    """One polling thread of the userspace datapath."""

    core: int
    node: int | None = None
    isolated: bool = False
    queues: tuple[PmdQueue, ...] = ()
    busy: float | None = None
    """Percent of the window, or of the time that OVS measures, with packets."""
    sleeps: int | None = None
    """Maximum time it sleeps without packets, in µs; 0: it never sleeps."""


class Lookups(_Record, frozen=True):
    """Flow lookups of the kernel datapath."""

    hit: int
    lost_upcalls: int


class Ovs(_Record, frozen=True):
    """Open vSwitch of this host."""

    version: Version | None = None
    dpdk: bool | None = None
    """DPDK is asked for (``dpdk-init``) and initialized."""
    other_config: dict[str, str] | None = None
    bridges: dict[str, str] | None = None
    """Bridge -> datapath_type; empty text: system."""
    ports: tuple[OvsPort, ...] | None = None
    pmds: tuple[Pmd, ...] | None = None
    """None: the userspace datapath was not asked, or did not answer; empty: it has none."""
    coverage: Counters | None = None
    """Events of ``coverage/show``; one that never happened is missing."""
    coverage_growth: Counters | None = None
    coverage_rates: dict[str, float] | None = None
    """The same: events per second over the last minute, as OVS prints them."""
    lookups: Lookups | None = None
    lookups_growth: Lookups | None = None


# IBM Z, the kernel's log, and the rest.


class ZFacts(_Record, frozen=True):
    """/proc/sysinfo of IBM Z. ``level``: ``LPAR``, or what runs this system (``KVM in LPAR``,
    ``z/VM 6.1.0``)."""

    level: str | None = None
    shared: bool | None = None
    capped: bool | None = None
    """Its share of CPUs is limited."""
    hypervisors: tuple[str, ...] = ()
    """``Control Program`` of each level, from the outermost."""


class KernelLog(_Record, frozen=True):
    """Messages of the kernel's log within seven days before its last one."""

    over_mtu: dict[str, int] = {}
    """Device -> number of messages ``dropped over-mtu packet``."""
    conntrack_full: bool = False
    """It has ``nf_conntrack: table full, dropping packet``."""


class HugePages(_Record, frozen=True):
    """Huge pages of one size (KiB) on one node."""

    node: int
    size: int
    total: int
    free: int


class SettingOwner(_Record, frozen=True):
    """A program that sets this host's settings, and the file or process that shows it.

    ``name``: ``performance-profile``, ``machine-config``, ``nmstate``, ``os-net-config``,
    ``tripleo``, ``kolla``, ``openstack-ansible``, ``juju``, ``tuned``, ``cloud-init``, ``netplan``,
    ``network-manager``, ``networkd``, ``ifupdown``, ``ifcfg``, ``wicked``, ``zdev``. ``sets``: the
    settings (sysctl keys, ``features``, ``links``, patterns of files in sysfs, attributes of qeth
    devices as ``0.0.f500:buffer_count``) that it names; empty: it may set any.
    """

    name: str
    evidence: str
    sets: tuple[str, ...] = ()


class HostFacts(_Record, frozen=True, dict=True):
    """Everything that was read of one host."""

    source: Literal["live", "recording", "sosreport"] = "live"
    arch: str | None = None
    kernel: str | None = None
    machine: str | None = None
    """Digest of /etc/machine-id: the same after a reboot, another one on another host."""
    container: str = ""
    """Kind of container from which it was read: the view of a host that such a place has is not
    that of the host. Empty: none."""
    window: float | None = None
    """Seconds between the two readings of counters; None: they were read once."""
    hypervisor: bool | None = None
    """It runs, or is set up to run, guests."""
    links: tuple[HostLink, ...] | None = None
    routes: tuple[HostRoute, ...] | None = None
    managed_by: tuple[str, ...] | None = None
    """Devices of the routes to whoever logged in to read this; empty: nobody did by ssh. Read only
    where settings are changed."""
    cpus: CpuFacts = CpuFacts()
    processes: tuple[QemuProcess, ...] | None = None
    ovs: Ovs = Ovs()
    """Empty: unknown, or there is no Open vSwitch (``has_ovs`` tells)."""
    has_ovs: bool | None = None
    vdpa: dict[str, str] | None = None
    """Device on the vDPA bus -> the path that a NIC names."""
    z: ZFacts | None = None
    """None on other architectures."""
    log: KernelLog | None = None
    sysctls: dict[str, str] | None = None
    """By name: ``net.core.rps_sock_flow_entries``. One that this kernel, or this network namespace,
    does not have is missing: unknown, never 0."""
    modules: dict[str, str] | None = None
    """Modules of the kernel that guests' NICs need -> ``loaded``, ``not loaded``. One that this
    kernel does not have is missing."""
    migration_cost: int | None = None
    """``sched_migration_cost_ns``, from /proc/sys or debugfs."""
    memory_available: int | None = None
    """KiB, as the kernel estimates it (``MemAvailable``)."""
    huge_pages: tuple[HugePages, ...] | None = None
    bridge_rules: bool | None = None
    """Something on this host (Docker, kube-proxy, hybrid plugging, a rule) needs
    ``bridge-nf-call-iptables``."""
    tuned_profile: str | None = None
    own_files: dict[str, dict[str, str]] | None = None
    """Folders of /etc that are there, in which files keep settings -> name of each file that
    vnicaudit wrote there -> its text."""
    owners: tuple[SettingOwner, ...] = ()

    def link(self, name: str | None) -> HostLink | None:
        """A link by its name."""
        return self._links.get(name or "")

    @cached_property
    def _links(self) -> dict[str, HostLink]:
        return {link.name: link for link in reversed(self.links or ())}

    @cached_property
    def ovs_ports(self) -> dict[str, OvsPort]:
        """The ports of Open vSwitch, by name."""
        return {port.name: port for port in reversed(self.ovs.ports or ())}

    @cached_property
    def interrupts(self) -> dict[str, Interrupt]:
        """Interrupts of adapters, by number."""
        return {one.number: one for one in self.cpus.interrupts or ()}

    def sysctl(self, name: str) -> int | None:
        """A numeric setting of the kernel; None: unknown."""
        text = (self.sysctls or {}).get(name, "")
        return int(text) if re.fullmatch(r"-?[0-9]{1,19}", text) else None


# What guests use of their host, for the rules that join the two.


class NicOnHost(_Record, frozen=True):
    """A running guest's NIC at its host: the tap (``device``) or the socket (of vDPA: the character
    device) that it names."""

    device: str | None = None
    socket: str | None = None
    model: str = ""
    """Effective; empty: unknown."""
    mtu: int | None = None
    is_path_judged: bool = False
    """Its tap and the uplinks of its bridge are judged with the NIC itself."""


class HostGuest(_Record, frozen=True):
    """A guest of the host, as far as host rules need it. Where its threads may run is in
    :class:`QemuProcess`."""

    name: str
    running: bool | None = None
    paused: bool = False
    """It is known to stand still, though it runs."""
    vcpus: int | None = None
    huge_kib: int | None = None
    """Memory of huge pages that it needs to start, in KiB; None: none, or unknown."""
    nics: tuple[NicOnHost, ...] = ()
