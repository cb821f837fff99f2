"""Words shared by reports for people: names, counts, what was not judged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from vnicaudit.base.wording import count
from vnicaudit.model.finding import (
    ALL_BUT_THE_MODEL,
    CONFIDENCES,
    EVERY_RULE,
    SEVERITIES,
    Confidence,
    Finding,
    Ref,
    Severity,
    name_of,
)
from vnicaudit.model.report import Audited, Coverage, DataPath, RunEnd, Summary, TargetResult
from vnicaudit.reports.totals import SCOPE_WORD, Tally

# Words shared by formats for people: names of NICs, counts, and the last line.


WORST_FIRST = tuple(reversed(SEVERITIES))
_BESIDE_DOMAINS = tuple(item for item in SCOPE_WORD.items() if item[0] not in ("domain", "mac"))


def is_hint(finding: Finding, fails: Confidence) -> bool:
    """True if a finding has less confidence than ``fails``, the confidence that fails the run."""
    return CONFIDENCES.index(finding.confidence) < CONFIDENCES.index(fails)


def level_of(finding: Finding, fails: Confidence) -> Severity:
    """The severity with which a finding is shown in other tools. A hint is at most ``low``, so that
    it neither blocks a merge nor looks as important as a finding that does."""
    if is_hint(finding, fails) and finding.severity != "info":
        return "low"
    return finding.severity


def part_label(ref: Ref) -> str:
    """``NIC 0 52:54:00:00:00:01``, with its target device if it has no MAC; ``link eth0``; empty if
    it is neither a NIC nor a link."""
    if ref.kind == "link":
        return f"link {ref.name}"
    if ref.kind != "nic":
        return ""
    words = [str(ref.index)] if ref.index is not None else []
    if ref.mac or ref.target_dev:
        words.append(ref.mac or ref.target_dev or "")
    return " ".join(["NIC", *words]) if words else ""


def name_and_id(name: str, identity: str) -> str:
    """``NAME (ID)``, as far as both are known and differ."""
    return f"{name} ({identity})" if name and identity and name != identity else name or identity


def subject_label(subject: str, ref: Ref) -> str:
    """``web-01, NIC 0 52:54:00:00:00:01``; only the subject if it is not about a NIC."""
    return ", ".join(filter(None, (subject, part_label(ref))))


def about_domain(audited: Audited) -> Iterator[str]:
    """Owner of a domain, its name in Nova if different, and its number of NICs."""
    yield name_of(audited.owner)
    if audited.server not in ("", audited.subject):
        yield f"server {audited.server}"
    yield count(audited.nics, "NIC")


def fix_label(finding: Finding) -> str:
    """``fix``, or ``fix (unsafe)`` where the proposed change may hurt the guest."""
    return "fix (unsafe)" if finding.change is not None and not finding.change.safe else "fix"


def message_of(finding: Finding) -> str:
    """The message, with the confidence unless that is high."""
    if finding.confidence == "high":
        return finding.message
    return f"{finding.message} (confidence: {finding.confidence})"


def notes_of(target: TargetResult) -> Iterator[str]:
    """Notes on a target: ``openstack:prod: only admins can see hosts``."""
    for note in target.notes:
        yield f"{target.target}: {note}"


def not_judged_sentence(targets: Iterable[TargetResult]) -> str:
    """``2 parts were not judged``; empty if all parts were."""
    parts = sum(target.not_judged_count for target in targets)
    return f"{count(parts, 'part')} {'was' if parts == 1 else 'were'} not judged" if parts else ""


def accepted_sentence(end: RunEnd) -> str:
    """How many findings are not shown and why, and how the baseline changed; else empty."""
    summary = end.summary
    parts = (
        (summary.suppressed, "suppressed"),
        (summary.baselined, "known from the baseline"),
        (summary.filtered, "left out by --level, --owner, --domain, --nic or confidence"),
        (summary.baseline_gone, "of the baseline gone"),
    )
    return ", ".join(f"{count(number, 'finding')} {word}" for number, word in parts if number)


def fixed_sentence(end: RunEnd) -> str:
    """How many problems were fixed in place; else empty."""
    summary = end.summary
    parts = []
    if summary.fixed:
        files = count(summary.fixed_files, "file")
        parts.append(f"Fixed {count(summary.fixed, 'problem')} in {files}")
    if summary.refused:
        parts.append(f"{summary.refused:,} could not be fixed in place")
    return ", ".join(parts)


def is_clean(tally: Tally, end: RunEnd) -> bool:
    """True if something was judged, nothing was found, and nothing failed."""
    judged = end.summary.domains or sum(tally.judged.values())
    found = end.summary.findings + end.summary.filtered
    return bool(judged) and not found and not any(_broken(tally, end))


def closing(tally: Tally, end: RunEnd) -> str:
    """The answer: ``9 of 17 NICs are slow. 3 problems in 2 of 12 guests (1 high, 2 low)``. It never
    says that all is well if something could not be read or judged."""
    broken = "; ".join(_broken(tally, end))
    part = coverage_sentence(end.coverage)
    unjudged = filter(None, (part, not_judged_sentence(end.targets), *_without_rules(tally)))
    problems = "; ".join((_closing(tally, end, broken), *unjudged))
    return ". ".join(filter(None, (slow_sentence(tally.paths), problems)))


def slow_sentence(paths: Counter[DataPath]) -> str:
    """``9 of 17 NICs are slow, 4 unknown``; empty if there are none."""
    total, slow, unknown = paths.total(), paths["slow"], paths["unknown"]
    nics = count(total, "NIC")
    if total and unknown == total:
        they = "it is" if total == 1 else "they are"
        return f"Of {nics} it is unknown whether {they} slow"
    if not total:
        return ""
    broken = paths["does not start"]
    start = "does not start" if broken == 1 else "do not start"
    if slow:
        parts = [f"{slow:,} of {nics} {'is' if slow == 1 else 'are'} slow"]
        parts += [f"{broken:,} {start}"] if broken else []
    elif broken:
        parts = [f"{broken:,} of {nics} {start}"]
    elif total == 1:
        parts = ["The NIC is not slow"]
    else:
        parts = [f"None of {nics} is {'known to be ' if unknown else ''}slow"]
    if unknown:
        parts.append(f"{unknown:,} unknown")
    return ", ".join(parts)


def coverage_sentence(coverage: Coverage | None) -> str:
    """``a sample of 5% of the hosts (seed 7), 50 of 1,000 hosts``, and the limit; empty if the
    whole fleet was audited, or the audit is not of a fleet."""
    if coverage is None or coverage.is_whole:
        return ""
    parts = []
    if coverage.is_sample:
        drawn = "NICs" if coverage.nic_share < 1 else "hosts"
        share = coverage.host_share * coverage.nic_share
        parts.append(f"a sample of {percent(share)} of the {drawn} (seed {coverage.seed})")
    if coverage.limit:
        parts.append(f"limit {coverage.limit!r}")
    hosts = f"{coverage.hosts:,} of {count(coverage.inventory, 'host')}"
    return ", ".join((*parts, hosts))


def percent(share: float) -> str:
    """``5%``, ``0.1%``."""
    return f"{share * 100:.4g}%"


def _without_rules(tally: Tally) -> Iterator[str]:
    """``2 guests and 1 NIC could not be judged (-v)``: they were read, but no rule was judged."""
    unknown: Counter[str] = Counter()
    for (rule, _needs, kind), number in tally.skipped.items():
        if rule == EVERY_RULE:
            unknown[kind] += number
    if unknown:
        kinds = " and ".join(count(number, kind) for kind, number in unknown.items())
        yield f"{kinds} could not be judged (-v)"


def _closing(tally: Tally, end: RunEnd, broken: str) -> str:
    but = f"; {broken}" if broken else ""
    if end.summary.findings:
        severities = ", ".join(
            f"{end.summary.by_severity[name]:,} {name}"
            for name in WORST_FIRST
            if end.summary.by_severity.get(name)
        )
        found = count(end.summary.findings, "problem")
        return f"{found} in {_affected(tally, end)} ({severities}){but}"
    if looked := _looked_at(tally, end):
        which = "No matching problems" if end.summary.filtered else "No problems"
        return f"{which} in {looked}{'; but ' if broken else ''}{broken}"
    if broken or not_judged_sentence(end.targets):
        return f"Nothing was judged{but}"
    files = sum(target.unrecognised_count for target in end.targets)
    looked_at = f" ({count(files, 'file')} looked at)" if files else ""
    return f"Nothing here defines a NIC{looked_at}"


def guests_read(summary: Summary) -> str:
    """``2 guests``, or ``2 guests (read 5 times)``."""
    guests = count(summary.domains, "guest")
    times = summary.domains + summary.read_again
    return f"{guests} (read {times:,} times)" if summary.read_again else guests


def _affected(tally: Tally, end: RunEnd) -> str:
    """Subjects with a finding, of how many: ``2 of 12 guests, nova.conf and 1 of 3 images``."""
    parts = []
    if number := tally.affected["domain"]:
        some = "" if end.summary.domains == 1 else f"{number:,} of "
        parts.append(some + guests_read(end.summary))
    if number := tally.affected["mac"]:
        parts.append(f"{count(number, 'NIC')} with the MAC address of another")
    for scope, word in _BESIDE_DOMAINS:
        number = tally.affected[scope]
        if number and tally.judged[scope] == 1:
            parts.append(tally.file if scope == "config" else count(1, word))
        elif number:
            parts.append(f"{number:,} of {count(tally.judged[scope], word)}")
    return joined(parts or [guests_read(end.summary)])


def joined(parts: Sequence[str]) -> str:
    """``a, b and c``."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def _looked_at(tally: Tally, end: RunEnd) -> str:
    parts = [guests_read(end.summary), count(end.summary.nics, "NIC")]
    return ", ".join((
        *(parts if end.summary.domains else ()),
        *(count(tally.judged[scope], word)
          for scope, word in _BESIDE_DOMAINS if tally.judged[scope]),
    ))  # fmt: skip


def _broken(tally: Tally, end: RunEnd) -> Iterator[str]:
    crashed = sum(tally.crashed.values())
    if crashed:
        yield f"{count(len(tally.crashed), 'rule')} crashed ({count(crashed, 'time')})"
    failed = sum(target.status != "ok" for target in end.targets)
    if failed:
        total = count(len(end.targets), "target")
        yield f"{failed:,} of {total} could not be read in full"


# Words for what an audit could not read or not judge.


_PLACES = 3
"""Places that are named of files with the same message."""
_REASONS = 5
"""Maximum reasons shown for subjects for which no rule was judged."""


class Unread(msgspec.Struct, frozen=True):
    """Something that could not be read. ``place``: ``file:line`` if known, else the target."""

    place: str
    message: str
    file: str | None = None
    line: int | None = None


def unread_of(target: TargetResult) -> Iterator[Unread]:
    """Everything of a target that could not be read, as far as it was recorded."""
    named = target.name or target.target
    for error in target.errors:
        of_host = target.name and target.status == "failed"
        place = named if of_host or error.file is None else error.file
        shown = place if error.line is None else f"{place}:{error.line}"
        yield Unread(shown, error.message, error.file, error.line)
    if target.errors and target.unread > len(target.errors):
        yield Unread(named, f"{target.unread - len(target.errors):,} more were not read")
    if target.status != "ok" and not target.errors:
        yield Unread(named, target.error or "could not be read")


def not_judged_of(target: TargetResult) -> Iterator[Unread]:
    """Parts of a target's files that were not judged, as far as they were recorded."""
    for part in target.not_judged:
        place = f"{part.file}:{part.line}" if part.line else part.file
        yield Unread(place, part.message, part.file, part.line or None)
    if (more := target.not_judged_count - len(target.not_judged)) > 0:
        yield Unread(target.target, f"{more:,} more parts were not judged")


def gathered(parts: Iterable[Unread]) -> Iterator[str]:
    """A line for each message, with the places that it is about: ``3 files (a.yml:3, b.pp:9 and 1
    more) hold a nova.conf …``."""
    by_message: dict[str, list[Unread]] = {}
    for part in parts:
        by_message.setdefault(part.message, []).append(part)
    for message, equal in by_message.items():
        first = equal[0]
        files = {one.file or one.place: one.place for one in reversed(equal)}  # -> its first place
        number = len(files)
        if len(equal) == 1:
            yield f"{first.place}: {message}"
        elif number == 1:
            yield f"{first.place} and {count(len(equal) - 1, 'more time')} in this file: {message}"
        else:
            places = ", ".join([*reversed(files.values())][:_PLACES])
            more = f" and {number - _PLACES:,} more" if number > _PLACES else ""
            plural, is_verb = re.subn(r"^(also )?(hold|name)s ", r"\1\2 ", message)
            yield f"{number:,} files ({places}{more}){' ' if is_verb else ': '}{plural}"


def calls_sentence(target: TargetResult) -> str:
    """``openstack:prod: 14 API calls (compute 5, network 4)``, the most frequent first; empty if no
    calls were counted."""
    if not target.calls:
        return ""
    services = sorted(target.calls.items(), key=lambda item: (-item[1], item[0]))
    parts = ", ".join(f"{service} {number:,}" for service, number in services)
    return f"{target.target}: {count(sum(target.calls.values()), 'API call')} ({parts})"


def skip_sentences(tally: Tally) -> Iterator[str]:
    """``VNIC020 was not judged for 24 NICs: needs …``. Rules that lack the same thing for as many
    NICs share a sentence; the most frequent comes first."""
    groups: dict[tuple[int, str, str], list[str]] = {}
    for (rule, needs, kind), number in tally.skipped.items():
        if rule != EVERY_RULE:
            groups.setdefault((number, needs, kind), []).append(rule)
    yield from _without_any_rule(tally)
    for (number, needs, kind), rules in sorted(
        groups.items(), key=lambda group: (-group[0][0], sorted(group[1]))
    ):
        where = f"not judged for {count(number, kind)}"
        if rules == [ALL_BUT_THE_MODEL]:
            yield f"Only the model was judged for {count(number, kind)}: the rest needs {needs}"
        elif len(rules) == 1:
            yield f"{rules[0]} was {where}: needs {needs}"
        else:
            yield f"{', '.join(sorted(rules))} were {where}: need {needs}"


def _without_any_rule(tally: Tally) -> Iterator[str]:
    """``No rule was judged for 5 domains: needs … (3 domains); … (2 domains)``, in one sentence."""
    found = [(needs, kind, number) for (rule, needs, kind), number in tally.skipped.items()
             if rule == EVERY_RULE]  # fmt: skip
    if not found:
        return
    kinds: Counter[str] = Counter()
    for _needs, kind, number in found:
        kinds[kind] += number
    total = ", ".join(count(number, kind) for kind, number in kinds.most_common())
    if len(found) == 1:
        yield f"No rule was judged for {total}: needs {found[0][0]}"
        return
    found.sort(key=lambda one: -one[2])
    reasons = [f"{needs} ({count(number, kind)})" for needs, kind, number in found[:_REASONS]]
    if (more := len(found) - _REASONS) > 0:
        reasons.append(f"{count(more, 'other thing')} (the JSON report has each)")
    yield f"No rule was judged for {total}: needs {'; '.join(reasons)}"
