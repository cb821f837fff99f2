"""Findings about comments of a file that describes several things: they belong to the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vnicaudit.model.finding import INVALID_SUPPRESSION
from vnicaudit.model.names import file_title
from vnicaudit.model.owner import SETTINGS
from vnicaudit.model.refs import ConfigRef
from vnicaudit.model.report import Audited

if TYPE_CHECKING:
    from vnicaudit.audit.work import Product
    from vnicaudit.model.finding import Finding
    from vnicaudit.model.location import Location

_FILES = ("config", "site")
"""Scopes in which the file itself is judged."""


def with_files_apart(products: Iterable[Product]) -> Iterator[Product]:
    """The products, without the findings that are about a file; those follow as one judgement for
    each file. A comment is reported as invalid once: it may be in doubt again among NICs or nodes
    that are compared when everything has been read."""
    waiting: Audited | None = None
    refused: set[Location] = set()
    for product in products:
        if not isinstance(product, Audited):
            yield product
            continue
        product = _without_refused(product, refused)
        if waiting is not None and _file_of(product) not in (None, waiting.file):
            yield waiting
            waiting = None
        of_file = tuple(filter(_is_of_file, product.findings))
        if not of_file or product.scope in _FILES:
            yield product
            continue
        own = tuple(one for one in product.findings if not _is_of_file(one))
        yield replace(product, findings=own)
        waiting = _of_file(product, (*(waiting.findings if waiting else ()), *of_file))
    if waiting is not None:
        yield waiting


def _without_refused(audited: Audited, refused: set[Location]) -> Audited:
    """The judgement without findings on comments that were reported as invalid before; those that
    are reported now are noted."""
    places = {
        one.location for one in (*audited.findings, *audited.baselined) if is_refused_comment(one)
    }
    again = places & refused
    refused |= places
    if not again:
        return audited
    return replace(
        audited,
        findings=tuple(one for one in audited.findings if not _is_again(one, again)),
        baselined=tuple(one for one in audited.baselined if not _is_again(one, again)),
    )


def is_refused_comment(finding: Finding) -> bool:
    """True for the finding that a comment is invalid. Other invalid suppressions have a place
    within a document, and a comment only a line."""
    return finding.rule == INVALID_SUPPRESSION and finding.location.xpath is None


def _is_again(finding: Finding, places: set[Location]) -> bool:
    return is_refused_comment(finding) and finding.location in places


def _of_file(audited: Audited, findings: tuple[Finding, ...]) -> Audited:
    file = findings[0].location.file or audited.target
    name = file_title(file)
    return Audited(
        audited.target, name, owner=SETTINGS, scope="config", findings=findings, file=file
    )


def _file_of(audited: Audited) -> str | None:
    """The file of a judgement, as far as the judgement names it."""
    if audited.file is not None or not audited.findings:
        return audited.file
    return audited.findings[0].location.file


def _is_of_file(finding: Finding) -> bool:
    return finding.owner == SETTINGS and isinstance(finding.about, ConfigRef)
