"""Files of an advice, for whoever applies them: nothing is applied here.

Only what is advised is written: where it depends, the fact that decides is to be measured first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from vnicaudit.advise.manifest_files import (
    FOR_VMS,
    IF_CREATED,
    MakeFile,
    ManifestFile,
    affinity,
    is_openshift,
    joined,
    makers_of,
)
from vnicaudit.advise.network_facts import NetworkFacts, check_network
from vnicaudit.errors import UsageError
from vnicaudit.knowledge.attachments import AttachmentRow, attachment_table
from vnicaudit.knowledge.fixes.host_owners import owners_way
from vnicaudit.knowledge.flow_steering import ENTRIES, MODERATE, MOST_ENTRIES, rfs_entries
from vnicaudit.knowledge.host_settings import HostSetting
from vnicaudit.model.advice import FlowAdvice, NetworkAdvice
from vnicaudit.model.host_facts import HostFacts, SettingOwner
from vnicaudit.model.plan import OwnerFile
from vnicaudit.model.scenario import AttachmentKind, FlowNetwork, Scenario

_RFS_FILE = "nodes-rfs.yaml"
_SHOWN = 3
_MOST_QUEUES = 2048
"""The API server takes no object that is much larger than theirs (etcd: 1.5 MiB)."""
_RFS_ELSEWHERE = (
    "flow {}: RFS is set by a MachineConfig on OpenShift only (platform.openshift): "
    "`vnicaudit host rfs --connections N --queues N` has the commands for other nodes"
)
_NONE: dict[AttachmentKind, str] = {
    "default": "the default network needs no object",
    "vhost-vdpa": "KubeVirt has no interface of that kind",
}
_FOR_VMS = "{} is written for virtual machines only: pods would have no address there"


class UnwrittenFile(msgspec.Struct, frozen=True):
    """A file that is not written, since nobody said these facts (by their names in a scenario), or
    since it does not go together with others (``clash``)."""

    flow: str
    file: str
    facts: tuple[str, ...] = ()
    clash: str = ""


class Manifests(msgspec.Struct, frozen=True):
    """Files of an advice. ``notes``: why a flow has none for something."""

    files: tuple[OwnerFile, ...] = ()
    unwritten: tuple[UnwrittenFile, ...] = ()
    notes: tuple[str, ...] = ()


def manifests_for(scenario: Scenario, advice: NetworkAdvice) -> Manifests:
    """The files of what is advised. Raises UsageError for a name that no object, or no device, can
    have, and for two objects of one name."""
    unwritten: list[UnwrittenFile] = []
    notes: list[str] = []
    wanted: list[tuple[FlowAdvice, list[ManifestFile]]] = []
    steered: list[tuple[NetworkFacts, FlowAdvice]] = []
    for flow, each in zip(scenario.flows, advice.flows, strict=True):
        facts = NetworkFacts(flow, scenario.platform)
        check_network(flow.name, flow.network or FlowNetwork())
        notes += _notes(facts, each)
        for makers in (_attaching(facts, each), _placing(each)):
            files = [_file_by(make, NetworkFacts(flow, scenario.platform)) for make in makers]
            unwritten += (UnwrittenFile(flow.name, one.name, one.missing)
                          for one in files if one.missing)  # fmt: skip
            wanted.append((each, [one for one in files if not one.missing]))
        if each.rfs in ("on", "off") and is_openshift(scenario.platform):
            steered.append((facts, each))
    made = [*_together(wanted), *_steering(steered)]
    written = (one for one in made if isinstance(one, OwnerFile))
    unwritten += (one for one in made if isinstance(one, UnwrittenFile))
    return Manifests((*written,), (*unwritten,), (*notes,))


def _notes(facts: NetworkFacts, advice: FlowAdvice) -> Iterator[str]:
    """Reasons why something is not written for a flow."""
    if advice.answer != "advised":
        yield f"flow {advice.flow}: no attachment is decided, so none is written"
    for attachment in _decided(advice):
        if attachment in _NONE:
            yield f"flow {advice.flow}: {_NONE[attachment]}"
        elif attachment in FOR_VMS and not facts.is_of_vm:
            yield f"flow {advice.flow}: {_FOR_VMS.format(attachment)}"
    if advice.rfs == "on" and not is_openshift(facts.platform):
        yield _RFS_ELSEWHERE.format(advice.flow)


def _decided(advice: FlowAdvice) -> tuple[AttachmentKind, ...]:
    return advice.attachments if advice.answer == "advised" else ()


def _file_by(make: MakeFile, facts: NetworkFacts) -> ManifestFile:
    """A file, with what it lacks."""
    return make(facts)._replace(missing=facts.missing)


def _attaching(facts: NetworkFacts, advice: FlowAdvice) -> Iterator[MakeFile]:
    """Makers of the files of a flow's attachment."""
    for attachment in _decided(advice):
        if attachment not in FOR_VMS or facts.is_of_vm:
            yield from makers_of(attachment, for_vm=facts.is_of_vm)


def _placing(advice: FlowAdvice) -> list[MakeFile]:
    """The maker of the file of a flow's placement."""
    if advice.placement not in ("same-node", "apart"):
        return []
    return [partial(affinity, together=advice.placement == "same-node")]


def _together(
    wanted: Sequence[tuple[FlowAdvice, Sequence[ManifestFile]]],
) -> Iterator[OwnerFile | UnwrittenFile]:
    """The files of all flows: they share what is on nodes, and the patch of a workload. None of
    those that want one thing in two ways is written. Raises UsageError."""
    made: dict[str, list[tuple[ManifestFile, FlowAdvice]]] = {}
    claims = ((each.flow, one) for each, files in wanted for file in files for one in file.claims)
    clashes = _clashes(claims)
    for advice, files in wanted:
        things = (thing for file in files for thing, _use in file.claims)
        clash = next((clashes[thing] for thing in things if thing in clashes), "")
        for file in files:
            if clash:
                yield UnwrittenFile(advice.flow, file.name, clash=clash)
            else:
                made.setdefault(file.place or file.name, []).append((file, advice))
    for several in made.values():
        file = _one_of([one for one, _advice in several])
        yield OwnerFile(file.name, _text(file, [advice for _file, advice in several]))


def _clashes(claims: Iterable[tuple[str, tuple[str, str]]]) -> dict[str, str]:
    """Things that flows want in several ways -> these ways."""
    uses: dict[str, dict[str, str]] = {}
    for flow, (thing, use) in claims:
        uses.setdefault(thing, {}).setdefault(use, flow)
    ways = {thing: [f"{use} (flow {by[use]})" for use in by] for thing, by in uses.items()}
    return {
        thing: f"{thing} can be only one of: {', '.join(words[:_SHOWN])}"
        for thing, words in ways.items()
        if len(words) > 1
    }


def _one_of(files: Sequence[ManifestFile]) -> ManifestFile:
    """Those of several flows in one."""
    first = files[0]
    if first.first:
        return first._replace(document=joined([one.document for one in files]))
    if any(one.document != first.document for one in files):
        raise UsageError(
            f"two objects would be in {first.name}: give them names in [flow.network] that differ "
            "in more than signs and capital letters"
        )
    return first


def _text(file: ManifestFile, reasons: Sequence[FlowAdvice]) -> str:
    comments = [
        *_origin(reasons, file.matter),
        *([f"Mind: {file.mind}."] if file.mind else ()),
        *([f"First: {file.first}"] if file.first else ()),
        f"Apply: {file.apply.format(file=file.name)}",
        f"Undo: {file.undo.format(file=file.name)}",
    ]
    return yaml_text(file.document, comments)


def _origin(reasons: Sequence[FlowAdvice], matter: str) -> Iterator[str]:
    """For whom it is, and which rows of the decision table say so, by their sources."""
    table = attachment_table().row
    for each in reasons:
        what = ", ".join(_decided(each)) or "no attachment is decided"
        yield f"Written by vnicaudit advise network for flow {each.flow} ({what})"
        rows: dict[str, list[str]] = {}
        for row in each.rows:
            if not row.beaten_by and _says(table[row.row], matter, each.attachments):
                rows.setdefault(row.source, []).append(row.row)
        yield from (f"{', '.join(ids)}: {source}" for source, ids in rows.items())


def _says(row: AttachmentRow, matter: str, attachments: tuple[AttachmentKind, ...]) -> bool:
    """True for a row that says what is written."""
    if row.kind not in ("hard", "decides", "tunes"):
        return False
    if matter != "attachment":
        return bool(row.rfs if matter == "rfs" else row.placement)
    given = (*row.gives, *(one for case in row.cases for one in case.gives or ()))
    return any(one in attachments for one in given)


def _steering(
    flows: Sequence[tuple[NetworkFacts, FlowAdvice]],
) -> Iterator[OwnerFile | UnwrittenFile]:
    """RFS on nodes, unless a flow lacks a fact, or flows differ on a NIC. Raises UsageError."""
    steered = [one for one in flows if one[1].rfs == "on"]
    waiting = [UnwrittenFile(each.flow, _RFS_FILE, facts.steering()) for facts, each in steered]
    claims: list[tuple[str, tuple[str, str]]] = []
    for facts, each in flows:
        device = facts.or_else("device", "")
        claims += [(each.flow, (f"RFS of NIC {device}", each.rfs))] * bool(device)
    for facts, each in steered:
        claim = f"NIC {facts.text('device')}", f"{facts.number('rx_queues')} receive queues"
        claims.append((each.flow, claim))
    clash = next(iter(_clashes(claims).values()), "")
    if any(one.facts for one in waiting):
        yield from (one for one in waiting if one.facts)
    elif clash:
        yield from (UnwrittenFile(each.flow, _RFS_FILE, clash=clash) for _, each in steered)
    elif steered:
        yield _machine_config(steered)


def _machine_config(steered: Sequence[tuple[NetworkFacts, FlowAdvice]]) -> OwnerFile:
    """RFS on nodes, whose table is one for all connections: those of all flows, and as many as the
    kernel's documentation has for a moderately loaded server."""
    connections = sum(facts.flow.connections or 0 for facts, _advice in steered)
    entries = rfs_entries(min(max(MODERATE, connections), MOST_ENTRIES))
    settings = {HostSetting("sysctl", name=ENTRIES): str(entries)}
    queues_of: dict[str, int] = {}
    for facts, _advice in steered:
        queues_of[facts.text("device")] = facts.number("rx_queues")
    if sum(queues_of.values()) > _MOST_QUEUES:
        raise UsageError(f"{_RFS_FILE}: more than {_MOST_QUEUES} receive queues in one object")
    for device, queues in queues_of.items():
        share = str(rfs_entries(entries, queues))
        for number in range(queues):
            settings[HostSetting("rps-flows", device, f"rx-{number}")] = share
    owner = SettingOwner(name="machine-config", evidence="")
    way = [*owners_way(owner, settings, HostFacts())]
    (sentence,) = (one for one in way if isinstance(one, str))
    (file,) = (one for one in way if isinstance(one, OwnerFile))
    comments = [
        *_origin([advice for _facts, advice in steered], "rfs"),
        f"Mind: it is sized for {entries} connections of a node at a time.",
        f"Apply: {sentence.replace(file.name, _RFS_FILE).replace(' apply ', ' create ')}",
        f"Undo: {IF_CREATED}: oc delete -f {_RFS_FILE}; its nodes are restarted once more.",
    ]
    # one of `vnicaudit plan --patches` may be there by the name of its own
    text = file.text.replace("name: 99-vnicaudit-host", "name: 99-vnicaudit-rfs", 1)
    return OwnerFile(_RFS_FILE, f"{comment_lines(comments)}{text}")


# Objects as YAML: every text in quotes, so that one that looks like something else (``on``, a
# number, a line break) stays a text for readers of YAML 1.1 and 1.2; long JSON as a block.


_PLAIN_KEY = re.compile(r"(?!(?i:yes|off|true|false|null)$)[A-Za-z][A-Za-z-]{2,60}")


def yaml_text(document: Mapping[str, object], comments: Iterable[str]) -> str:
    """An object below comments, each in a line of its own."""
    return comment_lines(comments) + "".join(f"{line}\n" for line in _mapping(document, ""))


def comment_lines(comments: Iterable[str]) -> str:
    """Comments, each in a line of its own whatever is in it."""
    return "".join(f"# {' '.join(comment.split())}\n" for comment in comments)


def _mapping(parts: Mapping[str, object], indent: str) -> Iterator[str]:
    for key, part in parts.items():
        shown = key if _PLAIN_KEY.fullmatch(key) else json.dumps(key)
        yield from _part(f"{indent}{shown}:", part, indent)


def _part(begins: str, part: object, indent: str) -> Iterator[str]:
    if isinstance(part, Mapping) and part:
        yield begins
        yield from _mapping(part, f"{indent}  ")
    elif isinstance(part, Sequence) and not isinstance(part, str) and _all_mappings(part):
        yield begins
        for each in part:
            first, *others = _mapping(each, f"{indent}  ")
            yield f"{indent}- {first.lstrip()}"
            yield from others
    elif isinstance(part, str) and "\n" in part:
        yield f"{begins} |-"
        yield from (f"{indent}  {line}" for line in part.split("\n"))
    else:
        yield f"{begins} {json.dumps(part)}"


def _all_mappings(parts: Sequence[object]) -> bool:
    return bool(parts) and all(isinstance(each, Mapping) and each for each in parts)
