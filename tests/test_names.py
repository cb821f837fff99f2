"""Names say what they stand for, and docstrings stand alone: what was put right stays so."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import vnicaudit

PACKAGE = Path(vnicaudit.__file__).parent

PRONOUNS = (
    "said asked given found left made kept lost wanted shown meant seen taken noted same who whose "
    "whom what which how why where when ended begun chosen tried judged named one ones other "
    "others all it its these those this that"
)
"""Alone they name nothing: what was said, by whom; what is left, of what?"""
STILL_CALLED_SO = """ audit/accepting/suppressions.py:judged bench/engines/_dnsperf/text.py:lost
bench/engines/_iperf3/flows.py:lost bench/engines/_rr/report.py:lost bench/guards/ping.py:lost
bench/facts/nic_bytes.py:named bench/guards/path_mtu.py:why bench/guards/ping.py:why
bench/judging/failures.py:all bench/judging/sides.py:why bench/judging/stopping.py:why
bench/trials/cost.py:_one bench/trials/guest_by_guest.py:_begun bench/trials/shadow_notes.py:all
bench/trials/single_flip.py:ended knowledge/nova_conf/resolve.py:why model/definition_refusal.py:why
model/fix.py:where model/fleet.py:chosen model/measurement.py:named model/report.py:named
model/subject.py:others platforms/libvirt/workers.py:ended platforms/openstack/listing.py:_Named
platforms/qemu/words.py:all remedy/applying/clouds/server.py:_when
remedy/applying/domains/guarded_trial.py:ended remedy/applying/journal/notes.py:all
remedy/applying/journal/past_run.py:ended remedy/applying/journal/past_run.py:begun
remedy/applying/runner.py:Ended remedy/guest/batch.py:wanted remedy/reading.py:judged
remedy/trial.py:ended
reports/bench/verdict/block.py:why reports/bench/verdict/block.py:_why
reports/runs/verification.py:Seen reports/wrap.py:shown audit/judging/descriptions.py:named
rule_cases/servers.py:kept """
"""There may be fewer, and no more."""
LEANS_ON_A_NAME = re.compile(r"(What|Whether|The same|Its|All of it)\b")


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text("utf-8"))


def names_in(file: str, tree: ast.Module) -> Iterator[str]:
    """The names of a module, its functions and classes, and the fields of these."""
    yield Path(file).stem
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            for entry in node.body:
                if isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name):
                    yield entry.target.id


def test_nothing_is_called_after_a_pronoun() -> None:
    found = {
        f"{file}:{name}"
        for file, tree in trees()
        for name in names_in(file, tree)
        if name.strip("_").lower() in PRONOUNS.split()
    }
    new = found - set(STILL_CALLED_SO.split())
    assert not new


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, list[str]] = {}
    for file, tree in trees():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(file)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_docstrings_stand_alone() -> None:
    found = [
        f"{file}:{getattr(node, 'lineno', 1)}"
        for file, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and LEANS_ON_A_NAME.match(ast.get_docstring(node) or "")
    ]
    assert not found
