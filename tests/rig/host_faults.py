"""Faults of a host that only a whole one can have: its kernel's own settings, adapters with several
queues, bonds, VLANs, tunnels, vhost workers. Planted in rounds, as a visit to an emulated host is
dear: those of a round do not touch each other."""

from dataclasses import dataclass

from tests.rig.host import CPUS, MANAGED, UPLINK, UPLINK_MAC

GUEST = "web"
TAP = "tap0"
Found = frozenset[tuple[str, str]]
"""Rule, and where below the host."""

# Its guest is a QEMU with vhost-net that is stopped before its first instruction.
CLEAN = f"""
modprobe vhost_net
ip link add br0 type bridge
ip tuntap add {TAP} mode tap
ip link set {TAP} master br0 up
ip link set {UPLINK} master br0 up
ip link set br0 up
qemu-system-x86_64 -name {GUEST},debug-threads=on -machine q35,accel=tcg -m 32 \
    -nodefaults -display none -S -pidfile /run/{GUEST}.pid -daemonize \
    -netdev tap,id=n0,ifname={TAP},script=no,downscript=no,vhost=on \
    -device virtio-net-pci,netdev=n0,host_mtu=1500,rx_queue_size=1024
"""

_FRAMES = """
import os, socket, struct
def frame(port):
    udp = struct.pack("!4H", port, 9, 8, 0)
    ip = bytes.fromhex("45000020000000004011f6c9c0000201c0000202")
    ends = b"\\xff" * 6 + bytes.fromhex("02005e100001")
    return ends + b"\\x08\\0" + ip + udp + bytes(22)
def send(device, cpu, frames):
    os.sched_setaffinity(0, [cpu])
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link:
        link.bind((device, 0))
        for number in range(frames):
            link.send(frame(1024 + number))
""".strip()
"""Frames that nobody takes, each of another flow: a hash of its ports says of which queue it is."""


def _send(*what: tuple[str, int, int]) -> str:
    """Lines of shell that send so many frames by a device from a CPU."""
    calls = "\n".join(f"send{each}" for each in what)
    return f"python3 - <<'END'\n{_FRAMES}\n{calls}\nEND"


_QUEUES = f"/sys/class/net/{UPLINK}/queues"
_FLOWS = f"/sys/class/net/{MANAGED}/queues/rx-0/rps_flow_cnt"
_ENTRIES = "/proc/sys/net/core/rps_sock_flow_entries"
_TASKS = f"/proc/$(cat /run/{GUEST}.pid)/task"


def _tunnel(name: str, kind: str, *more: str) -> str:
    """One in the guests' bridge, to a place that the default route leads to."""
    words = " ".join(("id", "7", "remote", "192.0.2.9", *more))
    return f"ip link add {name} type {kind} {words}; ip link set {name} mtu 1500 master br0 up"


def _irqs(cpu: str) -> str:
    """Every interrupt of the uplink's queues to a CPU, in words of shell, and those of the other
    adapter, which may be on any, away from CPU 1. An interrupt moves when the next one comes: those
    of transmit queues by frames from each CPU, those of receive queues by frames from the other
    adapter, which is in the same network."""
    lines = (_moved(MANAGED, "0,2-3"), _moved(UPLINK, cpu))
    return "\n".join(lines) + _send((MANAGED, 0, 64), *((UPLINK, cpu, 64) for cpu in range(CPUS)))


def _moved(link: str, cpus: str) -> str:
    return f"""
device=$(basename "$(readlink -f /sys/class/net/{link}/device)")
for name in /proc/irq/*/"$device"-*put.*; do echo {cpus} > "${{name%/*}}/smp_affinity_list"; done
"""


_OWN_CPU = '"${name##*.}"'
"""That of the queue's number, as the driver sets it."""


@dataclass(frozen=True)
class Plant:
    """``do`` and ``undo``: lines of shell. ``found``: what is to be found of it, and nothing else;
    empty for what looks like a fault and is none."""

    name: str
    do: str
    undo: str
    found: Found = frozenset()


def _plant(name: str, do: str, undo: str, *found: tuple[str, str]) -> Plant:
    return Plant(name, do, undo, frozenset(found))


FOUND_AND_MENDED = (
    _plant(
        "RFS has flows on the adapter, and no entries on the host",
        f"echo 4096 > {_FLOWS}",
        f"echo 0 > {_FLOWS}",
        ("VNIC050", "rps_sock_flow_entries"),
    ),
    _plant(
        "segmentation is off on the uplink",
        f"ethtool -K {UPLINK} tso off",
        f"ethtool -K {UPLINK} tso on",
        ("VNIC051", f"{UPLINK}/tcp-segmentation-offload"),
    ),
    _plant(
        "RPS beside a queue for each CPU",
        f"for queue in {_QUEUES}/rx-*; do echo f > $queue/rps_cpus; done",
        f"for queue in {_QUEUES}/rx-*; do echo 0 > $queue/rps_cpus; done",
        ("VNIC107", UPLINK),
    ),
    _plant(
        "the guest's tap is narrower than the guest",
        f"ip link set {TAP} mtu 1400",
        f"ip link set {TAP} mtu 1500",
        ("VNIC048", TAP),
    ),
    _plant(
        "the kernel dropped packets that were too long for a port",
        "for n in $(seq 10); do\n"
        f"echo '<4>{TAP}: dropped over-mtu packet: 1514 > 1400' > /dev/kmsg; done",
        "journalctl --quiet --rotate --vacuum-time=1s; dmesg -C",
        ("VNIC100", TAP),
    ),
    _plant(
        "bridged frames pass packet filters, and no rule needs it",
        "modprobe -a nf_tables br_netfilter",
        "rmmod br_netfilter",  # modprobe would take the module of bridges, and them, along
        ("VNIC127", "net.bridge.bridge-nf-call-iptables"),
    ),
)
_LINK_FILE = "/etc/systemd/network/10-uplink.link"
KEPT = _plant(
    "a .link file that gives the uplink one queue and another address, and RFS without entries",
    f"""cat > {_LINK_FILE} <<'END'
[Match]
PermanentMACAddress={UPLINK_MAC}
[Link]
NamePolicy=keep kernel database onboard slot path
MACAddress=52:54:00:aa:aa:aa
CombinedChannels=1
END
sync""",
    f"rm -f {_LINK_FILE}; sync",
    ("VNIC050", "rps_sock_flow_entries"),
    ("VNIC119", UPLINK),
)
"""In effect after the next boot, with the flows of the adapter once more."""
FLOWS = f"echo 4096 > {_FLOWS}"
FEWER_QUEUES = _plant(
    "two queues, and all interrupts on another CPU than the driver's",
    f"ethtool -L {UPLINK} combined 2\n" + _moved(UPLINK, "3"),
    f"ethtool -L {UPLINK} combined {CPUS}\n" + _moved(UPLINK, _OWN_CPU),
)
INTERRUPTS = (
    _plant(
        "interrupts of all queues on one CPU",
        _irqs("0"),
        _irqs(_OWN_CPU),
        ("VNIC114", f"{UPLINK}/cpu0"),
    ),
)
ONLY_FOUND = (
    _plant(
        "RFS has entries on the host, and no flows on the adapter",
        f"echo 32768 > {_ENTRIES}",
        f"echo 0 > {_ENTRIES}",
        ("VNIC050", f"{MANAGED}/rps_flow_cnt"),
    ),
    _plant(
        "a VLAN on a bond is narrower than the guest",
        f"ip link add bond0 type bond\nip link set {UPLINK} nomaster down\n"
        f"ip link set {UPLINK} master bond0\nip link set bond0 up\n"
        "ip link add link bond0 name bond0.7 type vlan id 7\n"
        "ip link set bond0.7 mtu 1450 master br0 up",
        f"ip link del bond0.7\nip link del bond0\nip link set {UPLINK} master br0 up",
        ("VNIC048", "bond0.7"),
    ),
    _plant(
        "guests' packets do not fit into VXLAN",
        _tunnel("vx0", "vxlan", "dstport", "4789"),
        "ip link del vx0",
        ("VNIC101", "vx0"),
        ("VNIC119", MANAGED),
    ),
    _plant(
        "guests' packets do not fit into Geneve",
        _tunnel("gnv0", "geneve"),
        "ip link del gnv0",
        ("VNIC101", "gnv0"),
    ),
    _plant(
        "one queue of four, on a host with four CPUs",
        f"ethtool -L {UPLINK} combined 1",
        f"ethtool -L {UPLINK} combined 4",
        ("VNIC119", UPLINK),
        ("VNIC050", f"{UPLINK}/rps_flow_cnt"),  # now RFS would serve it, too
    ),
    _plant(
        "a vhost worker and its guest's vCPU on one CPU",
        f"for task in {_TASKS}/*; do taskset -pc 1 ${{task##*/}}; done",
        f"for task in {_TASKS}/*; do taskset -pc 0-3 ${{task##*/}}; done",
        ("VNIC121", GUEST),
    ),
    _plant(
        "packets of an adapter are steered onto the CPU of a pinned vCPU",
        f"echo 2 > /sys/class/net/{MANAGED}/queues/rx-0/rps_cpus",
        f"echo 0 > /sys/class/net/{MANAGED}/queues/rx-0/rps_cpus",
        ("VNIC109", MANAGED),
        ("VNIC115", f"{MANAGED}/rps"),
    ),
    _plant(
        "interrupts of an adapter on the CPU of a pinned vCPU",
        _irqs("1"),
        _irqs(_OWN_CPU),
        ("VNIC143", UPLINK),
    ),
    _plant(
        "a tap that nobody opened is narrow, and steering is on at a tap",
        f"ip tuntap add tap9 mode tap\nip link set tap9 mtu 600 master br0 up\n"
        f"echo 4 > /sys/class/net/{TAP}/queues/rx-0/rps_cpus",
        f"ip link del tap9\necho 0 > /sys/class/net/{TAP}/queues/rx-0/rps_cpus",
    ),
    _plant(
        "a short queue of a tap that drops, which nothing undoes",
        f"ip link set {TAP} txqueuelen 50\n" + _send((TAP, 0, 500)),
        f"ip link set {TAP} txqueuelen 1000",
        ("VNIC116", TAP),
        ("VNIC117", TAP),
    ),
)
"""The last ones: counters stay as they are."""
