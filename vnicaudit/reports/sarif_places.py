"""The place of a finding in SARIF's terms: a line of a file, and the NIC of a domain."""

from __future__ import annotations

import os
from urllib.parse import quote

from vnicaudit.model.finding import Finding
from vnicaudit.model.location import Location
from vnicaudit.model.refs import Ref, nic_index
from vnicaudit.reports.safe import safe
from vnicaudit.reports.subjects import kind_of
from vnicaudit.text.edits import Replacement


def location_of(finding: Finding) -> dict[str, object]:
    """The file and line if known, and the domain, NIC and element by name."""
    place = finding.location
    names = _logical(finding.about)
    if place.xpath is not None:
        names.append({"fullyQualifiedName": place.xpath, "kind": "element"})
    location: dict[str, object] = {}
    if place.file is not None:
        location["physicalLocation"] = artifact(place.file, place.line, place.column)
    if names or not location:
        location["logicalLocations"] = names or [_target(place)]
    return location


def locations_in(ref: Ref) -> list[dict[str, object]]:
    """A location by name only; empty if there is no name."""
    names = _logical(ref)
    return [{"logicalLocations": names}] if names else []


def artifact(file: str, line: int | None, column: int | None = None) -> dict[str, object]:
    """A ``physicalLocation``. A relative path stays relative. Bytes of a name that are not allowed
    in a URI are percent-encoded, whether UTF-8 or not."""
    path = quote(os.fsencode(_encodable(file)))
    uri = f"file://{path}" if file.startswith("/") else path
    place: dict[str, object] = {"artifactLocation": {"uri": uri}}
    if line is not None:
        place["region"] = {"startLine": line} | ({} if column is None else {"startColumn": column})
    return place


def replacement(one: Replacement) -> dict[str, object]:
    """A ``replacement``: an empty region inserts, empty content deletes."""
    region = {
        "startLine": one.start.line,
        "startColumn": one.start.column,
        "endLine": one.end.line,
        "endColumn": one.end.column,
    }
    content = {"insertedContent": {"text": one.new}} if one.new else {}
    return {"deletedRegion": region, **content}


def _logical(ref: Ref) -> list[dict[str, object]]:
    if ref.name is None:
        return []
    name, index = safe(ref.name), nic_index(ref)
    if index is None:
        return [{"name": name, "fullyQualifiedName": name, "kind": kind_of(ref)}]
    nic = f"NIC {index}"
    return [{"name": nic, "fullyQualifiedName": f"{name}/{nic}", "kind": "nic"}]


def _target(place: Location) -> dict[str, object]:
    return {"fullyQualifiedName": safe(place.target), "kind": "target"}


def _encodable(file: str) -> str:
    """A path from the file system unchanged; lone surrogates that no file name can contain are
    escaped."""
    try:
        os.fsencode(file)
    except UnicodeEncodeError:
        return safe(file)
    return file
