"""Convert the NICs of the definitions below some folders, in memory, and check the text.

    python -m tests.conformance.rewrite DIRECTORY... [--schema domain.rng]

Every emulated NIC is made virtio, and every NIC vDPA and vhost-user, by the changes that a plan
would make, whatever the guest can drive. Of each result: it is well-formed and reads as what it is
to be; libvirt's schema finds no more in it than before; the same changes once more change nothing;
nothing but those NICs differs, and in them nothing but what was changed; each NIC's old text put
back gives the old bytes; a NIC standing alone is what it is in its definition. Prints counts and
each failure; exit code 1 when there is one.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from tests.conformance.goals import GOALS, Goal, Made, changes_to, is_wanted
from vnicaudit.errors import OwnedElsewhereError, RefusedError, TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import VIRTIO, Change
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.domain_xml.recognise import looks_like_xml, spans
from vnicaudit.platforms.domain_xml.source import for_attach, interface_of, with_interface
from vnicaudit.platforms.domain_xml.write import edits_for, rewritten
from vnicaudit.text.edits import applied

_HEAD = 64 * 1024
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)


class Conversion(NamedTuple):
    """What a definition was, what it has become, and by which changes of which NICs."""

    goal: Goal
    before: bytes
    after: bytes
    made: tuple[Made, ...]


class Result(NamedTuple):
    """What the folders came to: counts, and what is wrong."""

    counts: Counter[str]
    failures: list[str]


def check(folders: Iterable[Path], schema: etree.RelaxNG | None) -> Result:
    """Convert the NICs below the folders, and check each result."""
    result = Result(Counter(), [])
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            for number, data in enumerate(definitions(path.read_bytes()), 1):
                result.counts["definitions"] += 1
                for goal in GOALS:
                    _check_one(f"{path}[{number}]", data, goal, schema, result)
    return result


def definitions(data: bytes) -> Iterator[bytes]:
    """Each document of a file that describes a domain."""
    if not looks_like_xml(data[:_HEAD]):
        return
    whole = _parsed(data) is not None
    parts = (data,) if whole else (data[one.start : one.end] for one in spans(data))
    yield from (part for part in parts if _read(part) is not None)


def _check_one(
    name: str, data: bytes, goal: Goal, schema: etree.RelaxNG | None, result: Result
) -> None:
    try:
        found = conversion(data, goal)
    except OwnedElsewhereError:
        result.counts["refused, as somebody else's"] += 1
        return
    except RefusedError as error:
        result.failures.append(f"{name}: to {goal.name}: refused: {error}")
        return
    if found.made:
        result.counts[f"definitions rewritten to {goal.name}"] += 1
        if schema is not None and not _violations(data, schema):
            result.counts[f"of them valid by the schema, to begin with ({goal.name})"] += 1
        result.counts[f"NICs rewritten to {goal.name}"] += len(found.made)
        wrong = problems(found, schema)
        result.failures.extend(f"{name}: to {goal.name}: {text}" for text in wrong)


def conversion(data: bytes, goal: Goal) -> Conversion:
    """The NICs of a definition converted. Raises RefusedError where that is refused."""
    domain, made, after = _read(data), [], data
    for nic in () if domain is None else domain.nics:
        if domain is not None and is_wanted(goal, nic, domain):
            rewritten(data, nic.location.xpath or "", ())
            number = int((nic.location.xpath or "").rpartition("[")[2].rstrip("]"))
            changes = changes_to(goal, nic, domain, _interface(_tree(data), number))
            made.append(Made(number, nic, changes))
            after = rewritten(after, nic.location.xpath or "", changes)
    return Conversion(goal, data, after, tuple(made))


def problems(done: Conversion, schema: etree.RelaxNG | None) -> list[str]:
    """What is wrong with what a definition has become."""
    domain = _read(done.after)
    if domain is None or _parsed(done.after) is None:
        return ["the result is not well-formed"]
    return [
        *_misread(done, domain),
        *_different(done),
        *_twice(done),
        *_undone(done),
        *(text for one in done.made for text in _alone(done.after, one.number)),
        *([] if schema is None else _invalid(done, schema)),
    ]


def _misread(done: Conversion, domain: Domain) -> Iterator[str]:
    for number, old, _changes in done.made:
        nic = domain.nics[old.index]
        model = old.declared.model if old.declared.model in VIRTIO else "virtio"
        kind, source = done.goal.type or old.declared.type, done.goal.path or old.source
        read = (nic.declared.model, nic.declared.type, nic.source, nic.mac, nic.alias)
        wanted = (model, kind, source, old.mac, old.alias)
        if read != wanted:
            yield f"NIC {number} reads as {read}, not {wanted}"


def _different(done: Conversion) -> Iterator[str]:
    old, new = _tree(done.before), _tree(done.after)
    for number, _nic, changes in done.made:
        touched = {part for change in changes for part in _touched(change)}
        before, after = (_parts(_interface(root, number), touched) for root in (old, new))
        if before != after:
            yield f"something else of NIC {number} differs: {before} {after}"
    for root in (old, new):
        for number, _nic, _changes in done.made:
            _interface(root, number).clear(keep_tail=True)
    if _canonical(old) != _canonical(new):
        yield "something beside the NICs differs"


def _touched(change: Change) -> tuple[str, ...]:
    """Children, and attributes of the interface, that a change may change."""
    several = {"address_type": ("address", "rom", "acpi"), "rom": ("rom", "acpi")}
    own = {
        "type": "@type", "trust_guest_rx_filters": "@trustGuestRxFilters", "device": "source",
        "source_type": "source", "source_path": "source", "source_mode": "source",
        "port_forward": "portForward",
    }  # fmt: skip
    return several.get(change.field, (own.get(change.field, change.field),))


def _parts(interface: etree._Element, touched: set[str]) -> list[object]:
    """What an interface consists of, in order, without what was touched."""
    text = [interface.text, *(node.tail for node in interface)]
    return [
        sorted(pair for pair in interface.items() if f"@{pair[0]}" not in touched),
        [_canonical(node) for node in interface if node.tag not in touched],
        "".join("".join((part or "").split()) for part in text),
    ]


def _twice(done: Conversion) -> Iterator[str]:
    if conversion(done.after, done.goal).made:
        yield "there are NICs to be converted in the result"
    for number, nic, changes in done.made:
        again = done.after
        # the removal of a source would take what the next changes have made
        for change in (change for change in changes if change.field != "source"):
            try:
                again = rewritten(again, nic.location.xpath or "", [change])
            except RefusedError as error:
                if change.new is not None:
                    yield f"NIC {number}: {change.field} once more is refused: {error}"
        if again != done.after:
            yield f"NIC {number}: the same changes once more give another text"


def _undone(done: Conversion) -> Iterator[str]:
    back = done.after
    for number, nic, changes in done.made:
        back = with_interface(back, number, interface_of(done.before, number))
        one_by_one = done.before
        for change in changes:
            one_by_one = applied(one_by_one, edits_for(one_by_one, nic.location, change))
        if interface_of(one_by_one, number) != interface_of(done.after, number):
            yield f"NIC {number}: one change after another gives another text"
    if back != done.before:
        yield "putting the old NICs back does not give the old bytes"


def _alone(after: bytes, number: int) -> Iterator[str]:
    if b"encoding=" in after[:100]:
        return  # definitions of libvirt, to which NICs are attached, are UTF-8
    alone = _parsed(for_attach(after, number))
    if alone is None or _canonical(alone) != _canonical(_interface(_tree(after), number)):
        yield f"NIC {number} standing alone is another"


def _invalid(done: Conversion, schema: etree.RelaxNG) -> Iterator[str]:
    new = _violations(done.after, schema)
    for text in sorted(new - _violations(done.before, schema)) if new else ():
        yield f"against the schema: {text}"


def _violations(data: bytes, schema: etree.RelaxNG) -> set[str]:
    """What the schema has against a definition, without lines."""
    if schema.validate(_tree(data)):
        return set()
    return {entry.message for entry in schema.error_log}


def _read(data: bytes) -> Domain | None:
    """The domain, where there is one and no other."""
    try:
        found = list(read_bytes(data, target="x", file="x"))
    except TargetError:
        return None
    return found[0] if len(found) == 1 else None


def _canonical(node: etree._Element) -> str:
    if not isinstance(node.tag, str):  # a comment, an instruction
        return f"{type(node).__name__}: {node.text!r}"
    text = etree.canonicalize(
        etree.tostring(node, encoding="unicode", with_tail=False), with_comments=True
    )
    return str(text)


def _parsed(data: bytes) -> etree._Element | None:
    try:
        return etree.fromstring(data, _PARSER)
    except (etree.XMLSyntaxError, ValueError):
        return None


def _tree(data: bytes) -> etree._Element:
    return etree.fromstring(data, _PARSER)


def _interface(root: etree._Element, number: int) -> etree._Element:
    return root.findall("devices[1]/interface")[number - 1]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--schema", type=Path, help="libvirt's domain.rng")
    given = parser.parse_args(arguments)
    schema = None if given.schema is None else etree.RelaxNG(etree.parse(given.schema))
    result = check(given.folders, schema)
    for what, number in result.counts.items():
        print(f"{number:6} {what}")
    for failure in result.failures:
        print(f"FAILED {failure}")
    print(f"{len(result.failures):6} failures")
    return 1 if result.failures else 0


if __name__ == "__main__":
    sys.exit(main())
