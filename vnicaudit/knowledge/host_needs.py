"""The facts of a host that rules of scopes ``host`` and ``link`` need, and what would tell each;
and words for guests and their taps in messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from vnicaudit.base import wording
from vnicaudit.knowledge.host_cpus import interrupts_of, near, serves_on
from vnicaudit.knowledge.host_setting_values import change_of
from vnicaudit.knowledge.host_settings import HostSetting
from vnicaudit.model.host_facts import HostFacts, HostLink
from vnicaudit.model.rule import Fact, HostSubject, Judge, LinkSubject, Problem, VisitedHost

_SHOWN = 3
DROPS_PERCENT = 0.1
LEAST_DROPS = 100
"""Our own thresholds for taps."""


def guests_named(names: Sequence[str]) -> str:
    """Guests in a sentence: the first three by name, the rest counted."""
    shown = ", ".join(names[:_SHOWN])
    more = len(names) - _SHOWN
    return shown if more <= 0 else f"{shown} and {more} more"


counted = wording.count
"""For rules, which do not import the room of that function."""


def visited_host(
    check: Callable[[VisitedHost], Iterable[Problem]],
    *,
    applies: Callable[[VisitedHost], bool] = lambda _subject: True,
    needs: tuple[Fact[VisitedHost], ...] = (),
) -> Judge[VisitedHost]:
    """The judge of hosts that were visited. Of others it says nothing, not even that it was
    skipped."""

    def is_judged(subject: HostSubject) -> bool:
        return isinstance(subject, VisitedHost) and applies(subject)

    return Judge("host", is_judged, check, needs)


def host_fact(known: Callable[[HostFacts], bool], tell: str) -> Fact[VisitedHost | LinkSubject]:
    """A fact of a visited host."""
    return Fact(lambda subject: known(subject.facts), tell, live=True)


def link_fact(known: Callable[[HostLink], bool], tell: str) -> Fact[LinkSubject]:
    """A fact of one of its links."""
    return Fact(lambda subject: known(subject.link), tell, live=True)


LINK_FEATURES = link_fact(
    lambda link: link.features is not None,
    "the link's offloads (ethtool -k on the host, with ethtool installed)",
)
LINK_WINDOW = link_fact(
    lambda link: link.growth is not None,
    "a window: two readings of the host's counters (on a live host: --window 2)",
)
LINK_COUNTERS = link_fact(
    lambda link: link.counters is not None,
    "the link's counters (ip -s link)",
)
LINK_RING = link_fact(
    lambda link: "rx" in (link.rings or {}),
    "the size of its receive ring (ethtool -g on the host, with ethtool installed)",
)
LINK_QUEUES = link_fact(
    lambda link: link.rx_queues is not None,
    "the number of its receive queues (/sys/class/net/*/queues, ethtool -l)",
)
LINK_SPEED = link_fact(
    lambda link: link.speed is not None or link.driver == "virtio_net",
    "the speed of the link, which must be up (ethtool)",
)


def runs_guests(subject: VisitedHost) -> bool:
    """True for a host that runs guests, or is set up to."""
    return bool(subject.facts.hypervisor) or bool(subject.guests)


def is_tap_of_running_guest(subject: LinkSubject) -> bool:
    """True for a tap that is up and open, and has a running guest."""
    link = subject.link
    is_open = link.kind == "tun" and bool(link.up) and link.carrier is not False
    return is_open and link.name in subject.host.taps


def tap_drops(
    link: HostLink, percent: float = DROPS_PERCENT, least: int = LEAST_DROPS
) -> str | None:
    """The packets that a tap dropped because its guest did not take them, in words; None if they
    are few, and no more come.

    The kernel counts them as ``tx_dropped`` when the tap's queue is full (``tun_net_xmit``,
    drivers/net/tun.c), and also while nobody has the tap open: only their share tells something.
    """
    counters, growth = link.counters or {}, link.growth or {}
    dropped, passed = counters.get("tx_dropped", 0), counters.get("tx_packets", 0)
    if growth.get("tx_dropped"):
        if not growth.get("tx_packets"):
            return None  # it takes nothing at all: it is paused, or has not booted
        return f"{growth['tx_dropped']} packets within the window ({dropped} in all)"
    share = 100 * dropped / (dropped + passed) if dropped else 0.0
    if dropped >= least and share >= percent:
        return f"{dropped} packets ({share:.1f} % of those for its guest)"
    return None


def offloads_off(
    subject: LinkSubject, names: Sequence[str], link: str, safe: str
) -> Iterator[Problem]:
    """One problem for each of these offloads that is off on a link, as it is called in a sentence,
    and that its driver would let be on by itself."""
    for name in names:
        feature = subject.link.feature(name)
        if feature is None or feature.on or feature.fixed or feature.requested:
            continue
        setting = HostSetting("feature", subject.link.name, name)
        yield Problem(
            f"{name} is off on {link}, which carries {guests_named(subject.carries)}",
            field=name,
            change=change_of(subject.facts, setting, "on", safe),
        )


# CPUs, and how packets are steered to them.


LOG = host_fact(
    lambda facts: facts.log is not None,
    "the kernel's log (journalctl -k, or /var/log/kern.log; as root)",
)
SHARES = host_fact(
    lambda facts: bool(facts.cpus.share),
    "how each CPU spent a window: two readings of /proc/stat (on a live host: --window 2)",
)
SOFTNET_WINDOW = host_fact(
    lambda facts: facts.cpus.softnet_growth is not None,
    "a window: two readings of /proc/net/softnet_stat (on a live host: --window 2)",
)
NOT_A_CONTAINER = host_fact(
    lambda facts: not facts.container,
    "the host itself: in a container the counters of CPUs are its own, those of packets the host's",
)
INTERRUPTS = host_fact(
    lambda facts: facts.cpus.interrupts is not None,
    "interrupts and their CPUs (/proc/interrupts, /proc/irq/*/effective_affinity_list)",
)
IRQBALANCE = host_fact(
    lambda facts: facts.cpus.irqbalance is not None,
    "whether irqbalance runs (the list of processes)",
)
ONLINE = host_fact(lambda facts: facts.cpus.online is not None, "which CPUs are online (lscpu)")


LINK_MASKS = link_fact(
    lambda link: link.queues is not None and all(one.cpus is not None for one in link.queues),
    "the masks of the link's queues (/sys/class/net/*/queues, which a sosreport does not have)",
)


def _has_interrupts(subject: LinkSubject) -> bool:
    found = interrupts_of(subject.facts, subject.link)
    return bool(found) and all(serves_on(one) or one.total == 0 for one in found)


LINK_INTERRUPTS: Fact[LinkSubject] = Fact(
    _has_interrupts,
    "the link's interrupts and their CPUs (/proc/interrupts, /proc/irq/*/effective_affinity_list)",
    live=True,
)
LINK_NODE: Fact[LinkSubject] = Fact(
    lambda subject: near(subject.facts, subject.link) is not None,
    "the CPUs of the link's NUMA node (device/numa_node, lscpu)",
    live=True,
)


# Open vSwitch.


def has_ovs(subject: VisitedHost) -> bool:
    """True for a host on which Open vSwitch is, also if it did not answer."""
    return subject.facts.has_ovs is not False


def has_dpdk(subject: VisitedHost) -> bool:
    """True for one whose Open vSwitch uses DPDK, or may."""
    ovs = subject.ovs
    return has_ovs(subject) and (ovs.dpdk is not False or bool(ovs.pmds))


OVS_CONFIG = host_fact(
    lambda facts: facts.ovs.other_config is not None,
    "Open vSwitch's configuration (ovs-vsctl list Open_vSwitch, as root)",
)
OVS_PORTS = host_fact(
    lambda facts: facts.ovs.ports is not None,
    "Open vSwitch's ports (ovs-vsctl list Interface, as root)",
)
OVS_PMDS = host_fact(
    lambda facts: facts.ovs.pmds is not None,
    "the PMDs of Open vSwitch (ovs-appctl dpif-netdev/pmd-rxq-show, as root)",
)
