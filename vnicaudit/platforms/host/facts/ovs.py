"""Open vSwitch: its tables, its polling threads and its counters; and the vDPA devices of a host.

Sources: ovs-vswitchd.conf.db(5), ovs-appctl(8), lib/dpif-netdev.c, lib/dpctl.c, lib/coverage.c of
Open vSwitch (d6a632a; forms of 2.13 to 3.5 were recorded), sos/report/plugins/openvswitch.py of sos
(5c7e63e), drivers/vdpa/vdpa_user of Linux. A replaced datapath, a command that this version lacks
and a daemon that does not answer are errors in words: what has not the form of an answer is none.
"""

from __future__ import annotations

import re

import msgspec

from vnicaudit.knowledge.host_scripts import FIND_OVS
from vnicaudit.knowledge.ovs_ports import SEGMENTATION_EVENTS
from vnicaudit.model.decoding import json_as
from vnicaudit.model.host import Version
from vnicaudit.model.host_facts import Counters, Lookups, Ovs, OvsPort, Pmd, PmdQueue
from vnicaudit.platforms.host.ovsdb import Row, Value, bridges_shown, rows_of, value_of
from vnicaudit.platforms.host.readings import HostCommand, HostFact, HostReadings, number_in

_WHERE = rf"""
{FIND_OVS}
[ "$ovs" = none ] && [ ! -e /proc/1/comm ] || fact ovs printf '%s' "where: $ovs"
"""
"""Where processes are hidden, it is unknown whether there is one."""

_COLUMNS = "_uuid,name,type,error,link_state,mtu,mtu_request,options,status"
_SOS = "sos_commands/openvswitch/*"


def _appctl(command: str, sos: str, *, is_counter: bool = False) -> HostCommand:
    return HostCommand(f"${{ovs}}ovs-appctl {command}", (f"{_SOS}ovs-appctl_{sos}",), is_counter)


TABLES = HostCommand(
    "${ovs}ovs-vsctl -t 5 --format=json -- list Open_vSwitch"
    " -- --columns=name,datapath_type,ports list Bridge"
    f" -- --columns={_COLUMNS} list Interface -- show"
)
STATISTICS = HostCommand(
    "${ovs}ovs-vsctl -t 5 --format=json --columns=name,statistics list Interface", is_counter=True
)
OF_SOS = tuple(
    HostCommand(f"ovs-vsctl {command}", (f"{_SOS}ovs-vsctl_-t_5_{sos}",), is_run=False)
    for command, sos in (
        ("list Open_vSwitch", "list_Open_vSwitch"),
        ("list Bridge", "list_bridge"),
        ("list Interface", "list_interface"),
        ("show", "show"),
    )
)
OTHER_CONFIG = HostCommand(
    "ovs-vsctl get Open_vSwitch . other_config",
    (f"{_SOS}ovs-vsctl_-t_5_get_Open_vSwitch_._other_config",),
    is_run=False,
)
VERSION = _appctl("version", "version")
QUEUES = _appctl("dpif-netdev/pmd-rxq-show", "dpif-netdev.pmd-rxq-show")
SLEEP = _appctl("dpif-netdev/pmd-sleep-show", "dpif-netdev.pmd-sleep-show")
COVERAGE = _appctl("coverage/show", "coverage.show", is_counter=True)
DATAPATHS = _appctl("dpctl/show", "dpctl.show_-s_system_*", is_counter=True)
_VDPA_NODES = "/sys/bus/vdpa/devices/*/vhost-vdpa-*"

_OPTIONS = frozenset({
    "n_rxq", "n_txq", "n_rxq_desc", "n_txq_desc", "numa_id", "peer", "remote_ip", "local_ip",
    "dst_port", "key", "csum", "dpdk-devargs", "vhost-server-path", "vhost-max-queue-pairs",
    "tx-retries-max",
})  # fmt: skip
"""Options of interfaces that are kept: others may be secrets (``psk`` of tunnels)."""
_NAMES = frozenset({"bridges", "name"})
"""Columns of which each row has one; an error in words has none."""
_COUNTERS = re.compile(r"[rt]x_(?:packets|bytes|dropped|errors)|ovs_.{1,60}_drops")
"""Counters that are kept: DPDK has dozens for each queue."""
_REFRESH_SECONDS = 5
"""After which Open vSwitch updates the statistics in its database (stats-update-interval)."""

_TELLS, _TELLS_EACH = Version(3, 1), Version(3, 2)
"""Since when PMDs sleep, for as long as ``pmd-maxsleep`` says, and since when ``pmd-sleep-show``
tells it of each (NEWS)."""
_THREAD = re.compile(r"pmd thread numa_id (-?\d{1,9}) core_id (\d{1,9}):")
_ISOLATED = re.compile(r"  isolated ?: (true|false)")
_QUEUE = re.compile(
    r"  port: (\S.{0,63}?) +queue-id: +(\d{1,9})(?: +\((enabled|disabled)\))?"
    r"(?: +pmd usage: +(?:(\d{1,9}) %|NOT AVAIL))? *"
)
_OVERHEAD = re.compile(r"  overhead: +(\d{1,9}) %")
_SLEEP = re.compile(r"  max sleep: +(\d{1,9}) us")
_EVENT = re.compile(
    r"(\w{1,64}) +[\d.]{1,24}/sec +([\d.]{1,24})/sec +[\d.]{1,24}/sec +total: (\d{1,24})"
)
_LOOKUPS = re.compile(r" *lookups: hit:(\d{1,24}) missed:\d{1,24} lost:(\d{1,24})")
_VERSION = re.compile(r"(?:Open vSwitch\) )?(\d{1,4}\.\d{1,4}(?:\.\d{1,4})?)")


def read(readings: HostReadings) -> dict[str, object]:
    """Open vSwitch and the vDPA devices, as far as they answered."""
    nodes = (path.split("/") for path in readings.texts(_VDPA_NODES))
    fields: dict[str, object] = {"vdpa": {parts[5]: f"/dev/{parts[6]}" for parts in nodes}}
    texts = [readings.output(each.name) for each in (TABLES, *OF_SOS)]
    rows = [row for text in texts if text for row in rows_of(text) if _NAMES & row.keys()]
    alone = value_of(readings.output(OTHER_CONFIG.name) or "")
    root = next((row for row in rows if "bridges" in row), {})
    if isinstance(alone, dict):
        root.setdefault("other_config", alone)
    datapaths, lookups = (replied(each, DATAPATHS) for each in (readings, readings.later()))
    where = readings.output("ovs")
    seen = lookups_in(datapaths)
    if rows or root or seen:
        fields["has_ovs"] = True
        ovs = _ovs(root, rows, bridges_shown("\n".join(text or "" for text in texts)), readings)
        fields["ovs"] = msgspec.structs.replace(
            ovs, lookups=seen, lookups_growth=_grown(readings, seen, lookups_in(lookups))
        )
    elif where is not None:
        fields["has_ovs"] = where.strip() != "where: none"
    return fields


def _ovs(root: Row, rows: list[Row], bridge_of: dict[str, str], readings: HostReadings) -> Ovs:
    config = _map(root.get("other_config"))
    later = readings.later()
    first, second = (coverage_in(replied(each, COVERAGE)) for each in (readings, later))
    initialized = root.get("dpdk_initialized")
    asked = None if config is None else config.get("dpdk-init", "false").lower() in ("true", "try")
    version = _version(_text(root.get("ovs_version")) or replied(readings, VERSION) or "")
    pmds = pmds_in(replied(readings, QUEUES), replied(readings, SLEEP))
    if pmds and config is not None and version is not None and _TELLS <= version < _TELLS_EACH:
        longest = number_in(config.get("pmd-maxsleep", "0"))
        pmds = tuple(msgspec.structs.replace(pmd, sleeps=longest) for pmd in pmds)
    return Ovs(
        version=version,
        dpdk=asked if not asked or initialized is None else initialized == "true",
        other_config=config,
        bridges=_bridges(rows),
        ports=_ports(rows, bridge_of, readings),
        pmds=pmds,
        coverage=None if first is None else first[0],
        coverage_rates=None if first is None else first[1],
        coverage_growth=(
            None if readings.window is None or first is None or second is None
            else {name: count - first[0].get(name, 0) for name, count in second[0].items()
                  if count >= first[0].get(name, 0)}
        ),
    )  # fmt: skip


def _bridges(rows: list[Row]) -> dict[str, str] | None:
    found = {
        _text(row["name"]): _text(row["datapath_type"])
        for row in rows
        if {"name", "datapath_type"} <= row.keys()
    }
    return found if found or _has_none(rows) else None


def _has_none(rows: list[Row]) -> bool:
    """True if the database says that there is no bridge."""
    return any("bridges" in row and not row["bridges"] for row in rows)


def _ports(
    rows: list[Row], bridge_of: dict[str, str], readings: HostReadings
) -> tuple[OvsPort, ...] | None:
    found = [row for row in rows if "name" in row and "error" in row]
    if not found and not _has_none(rows):
        return None
    first = _statistics(rows) | _statistics(rows_of(readings.output(STATISTICS.name) or ""))
    second = _statistics(rows_of(readings.later().output(STATISTICS.name) or ""))
    window = readings.window or 0
    is_new = window > _REFRESH_SECONDS or any(first.get(name) != second[name] for name in second)
    ports: dict[str, OvsPort] = {}
    for row in found:
        name, state = _text(row["name"]), _text(row.get("link_state"))
        before, after = first.get(name), second.get(name)
        ports[name] = OvsPort(
            name=name,
            type=_text(row.get("type")),
            bridge=bridge_of.get(name),
            error=_text(row["error"]),
            up=None if not state else state == "up",
            mtu=_number(row.get("mtu")),
            mtu_request=_number(row.get("mtu_request")),
            options={k: v for k, v in (_map(row.get("options")) or {}).items() if k in _OPTIONS},
            status=_map(row.get("status")) or {},
            counters=before or {},
            growth=(
                {key: count - before.get(key, 0) for key, count in after.items()}
                if before is not None and after is not None and is_new and window
                else None
            ),
        )
    return tuple(ports.values())


def _statistics(rows: list[Row]) -> dict[str, Counters]:
    """Interface -> its counters."""
    found: dict[str, Counters] = {}
    for row in rows:
        if "name" in row and (values := _map(row.get("statistics"))) is not None:
            numbers = {k: _number(v) for k, v in values.items() if _COUNTERS.fullmatch(k)}
            found[_text(row["name"])] = {k: v for k, v in numbers.items() if v is not None}
    return found


def pmds_in(queues: str | None, sleep: str | None) -> tuple[Pmd, ...] | None:
    """The polling threads of ``pmd-rxq-show``, with their sleep of ``pmd-sleep-show``."""
    if queues is None or ("pmd thread " not in queues and not queues.startswith("Displaying ")):
        return None
    sleeps = {
        core: int(match[1])
        for _node, core, lines in _threads(sleep or "")
        for line in lines
        if (match := _SLEEP.fullmatch(line))
    }
    return tuple(
        _pmd(node, core, lines, sleeps.get(core)) for node, core, lines in _threads(queues)
    )


def _pmd(node: int, core: int, lines: list[str], sleeps: int | None) -> Pmd:
    polled, isolated, overhead = [], False, 0.0
    for line in lines:
        if match := _QUEUE.fullmatch(line):
            usage = None if match[4] is None else float(match[4])
            polled.append(
                PmdQueue(
                    port=match[1], queue=int(match[2]), enabled=match[3] != "disabled", usage=usage
                )
            )
        elif match := _OVERHEAD.fullmatch(line):
            overhead = float(match[1])
        elif match := _ISOLATED.fullmatch(line):
            isolated = match[1] == "true"
    used = [queue.usage for queue in polled if queue.usage is not None]
    return Pmd(
        core=core,
        node=node,
        isolated=isolated,
        queues=tuple(polled),
        busy=sum(used) + overhead if len(used) == len(polled) else None,
        sleeps=sleeps,
    )


def _threads(text: str) -> list[tuple[int, int, list[str]]]:
    """NUMA node, CPU and lines of each polling thread."""
    threads: list[tuple[int, int, list[str]]] = []
    for line in text.splitlines():
        if match := _THREAD.fullmatch(line):
            threads.append((int(match[1]), int(match[2]), []))
        elif threads:
            threads[-1][2].append(line)
    return threads


def coverage_in(text: str | None) -> tuple[Counters, dict[str, float]] | None:
    """Totals and rates over the last minute (``coverage/show``), of the events that are judged."""
    if text is None or not text.startswith("Event coverage"):
        return None
    events = [
        match
        for line in text.splitlines()
        if (match := _EVENT.fullmatch(line)) and match[1] in SEGMENTATION_EVENTS
    ]
    rates = {match[1]: _rate(match[2]) for match in events}
    return {match[1]: int(match[3]) for match in events}, rates


def lookups_in(text: str | None) -> Lookups | None:
    """Lookups of the kernel's datapaths (``dpctl/show``), added up."""
    found: list[tuple[int, ...]] = []
    is_kernel = True
    for line in (text or "").splitlines():
        if line[:1].strip() and line.endswith(":"):
            is_kernel = line.startswith("system@")
        elif is_kernel and (match := _LOOKUPS.fullmatch(line)):
            found.append(tuple(map(int, match.groups())))
    if not found:
        return None
    hit, lost = (sum(each) for each in zip(*found, strict=True))
    return Lookups(hit=hit, lost_upcalls=lost)


def _grown(readings: HostReadings, first: Lookups | None, second: Lookups | None) -> Lookups | None:
    if readings.window is None or first is None or second is None or second.hit < first.hit:
        return None
    lost = second.lost_upcalls - first.lost_upcalls
    return Lookups(hit=second.hit - first.hit, lost_upcalls=lost)


class _Reply(msgspec.Struct, frozen=True):
    """A reply that ``ovs-appctl -f json`` put into JSON."""

    reply: str


def replied(readings: HostReadings, command: HostCommand) -> str | None:
    """The text with which the daemon answered, also if JSON was asked for."""
    text = readings.output(command.name)
    if text is None:  # a sosreport has one file for each datapath
        text = "\n".join(readings.outputs(command.name).values()) or None
    if text is None or not text.startswith('{"'):
        return text
    try:
        return json_as(text, _Reply).reply
    except (msgspec.MsgspecError, RecursionError):
        return None


def _map(value: Value | None) -> dict[str, str] | None:
    return value if isinstance(value, dict) else None


def _text(value: Value | None) -> str:
    """An atom; empty for an empty set."""
    return value if isinstance(value, str) else ""


def _number(value: Value | None) -> int | None:
    return number_in(_text(value))


def _rate(text: str) -> float:
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else 0.0


def _version(text: str) -> Version | None:
    match = _VERSION.search(text)
    return Version.parse(match[1]) if match else None


FACT = HostFact(
    "ovs",
    read,
    present=(_VDPA_NODES,),
    commands=(TABLES, STATISTICS, *OF_SOS, OTHER_CONFIG, VERSION, QUEUES, SLEEP, COVERAGE,
              DATAPATHS),
    script=_WHERE,
)  # fmt: skip
CONFIGURATION = HostFact("ovs", read, commands=(TABLES,), script=_WHERE)
"""Its tables alone."""
