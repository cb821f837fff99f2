"""Fix a copy of every file in a folder, and check what came out.

    python -m tests.conformance.fix DIRECTORY [--include-unsafe] [--schema domain.rng]

Of each file that changed: it reads as before, only lines of what was to be changed differ,
libvirt's schema finds no more in it than before, and a second run changes nothing. Prints what was
fixed, what was refused and why; exit code 1 when a check fails.
"""

import argparse
import difflib
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.reading.files import read_stream
from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.run import AuditRun
from vnicaudit.audit.work import Assumptions, AuditWork
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.domain_xml.documents import documents
from vnicaudit.platforms.domain_xml.recognise import looks_like_xml
from vnicaudit.remedy.in_place import FileFixed, files_with_changes, fix_files

_TOUCHED = re.compile(
    rb"</?(model|driver|address|backend|host|guest|interface)\b"
    rb"|^\s*(--)?\w+\s*[=:]|model|networkInterfaceMultiqueue|preferred"
)
"""What a line that differs may be about."""

_FEW = 100_000
"""Lines; what is longer is not compared."""


class Result(NamedTuple):
    """What one folder came to."""

    files: int
    changed: int
    fixed: int
    refused: Counter[str]
    failures: list[str]


def fix_copy(folder: Path, *, include_unsafe: bool, schema: Path | None) -> Result:
    """Fix a copy of ``folder``, twice, and check each file that changed."""
    validator = None if schema is None else etree.RelaxNG(etree.parse(schema))
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name, "copy")
        shutil.copytree(folder, copy)
        first = fixed_files(copy, include_unsafe=include_unsafe)
        failures: list[str] = []
        for one in first:
            path = Path(one.path)
            if one.changes:
                before = (folder / path.relative_to(copy)).read_bytes()
                failures += wrong(path, before, path.read_bytes(), validator)
            elif path.read_bytes() != (folder / path.relative_to(copy)).read_bytes():
                failures.append(f"{path}: changed without saying so")
        for one in fixed_files(copy, include_unsafe=include_unsafe):
            if one.changes:
                failures.append(f"{one.path}: the second run fixed {one.changes} more")
        files = sum(path.is_file() for path in copy.rglob("*"))
    refused = Counter(
        f"{refused.finding.rule} {refused.reason}" for one in first for refused in one.refused
    )
    return Result(
        files,
        sum(bool(one.changes) for one in first),
        sum(one.changes for one in first),
        refused,
        failures,
    )


def fixed_files(folder: Path, *, include_unsafe: bool) -> list[FileFixed]:
    """Fix every file in a folder."""
    rules = rule_ids()
    work = AuditWork(
        rules, Assumptions(), Suppressor((), date.today(), rules), {}, every_platform()
    )
    paths = files_with_changes(AuditRun(work, RunOptions()).items([str(folder)]), work)
    return list(
        fix_files(paths, work, every_platform().writer, include_unsafe=include_unsafe, write=True)
    )


def wrong(
    path: Path, before: bytes, after: bytes, validator: etree.RelaxNG | None
) -> Iterator[str]:
    """What is wrong with what a file has become."""
    if _errors(before) != _errors(after):
        yield f"{path}: does not read as before: {_errors(after)}"
    for line in _differing(before, after):
        if not _TOUCHED.search(line.replace(b"\0", b"")):  # UTF-16
            yield f"{path}: another line differs: {line!r}"
    if validator is not None and looks_like_xml(after):
        new = _violations(after, validator) - _violations(before, validator)
        yield from (f"{path}: against the schema: {text}" for text in new)


def _errors(data: bytes) -> list[str]:
    return [
        item.message
        for item in read_stream(BytesIO(data), "x", every_platform().files)
        if isinstance(item, ReadError)
    ]


def _differing(before: bytes, after: bytes) -> Iterator[bytes]:
    old, new = before.split(b"\n"), after.split(b"\n")
    if len(old) > _FEW:
        return
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        if kind != "equal":
            yield from (line for line in (*old[i1:i2], *new[j1:j2]) if line.strip())


def _violations(data: bytes, validator: etree.RelaxNG) -> set[str]:
    """What the schema has against the documents, without lines."""
    found = set()
    for document in documents(data, "x"):
        if not validator.validate(document.root):
            found |= {entry.message for entry in validator.error_log}
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--include-unsafe", action="store_true")
    parser.add_argument("--schema", type=Path, help="libvirt's domain.rng")
    given = parser.parse_args(arguments)
    result = fix_copy(given.folder, include_unsafe=given.include_unsafe, schema=given.schema)
    print(f"{result.fixed} problems fixed in {result.changed} of {result.files} files")
    for reason, number in result.refused.most_common():
        print(f"{number:6} refused: {reason}")
    for failure in result.failures:
        print(f"FAILED {failure}")
    return 1 if result.failures else 0


if __name__ == "__main__":
    sys.exit(main())
