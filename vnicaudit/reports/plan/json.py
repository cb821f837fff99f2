"""``vnicaudit.plan/1``: the file to review, edit and apply."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.finding import Change
from vnicaudit.model.plan import PLAN_SCHEMA, Plan
from vnicaudit.reports.encode import encode
from vnicaudit.reports.json_faults import malformed, mismatch
from vnicaudit.reports.plan.plan_file import FilePlan, read_plan, written_plan
from vnicaudit.reports.report_file import FileNicRef

MAX_BYTES = 256 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_WANTED = "a plan is needed, as `vnicaudit plan -o FILE` writes it"
_VERSIONED = re.compile(r"vnicaudit\.plan/\w+")

_Keys = dict[str, msgspec.Raw]


def to_json(plan: Plan) -> bytes:
    """The file: ``schema`` first, then the fields in the order of the records, indented, so that it
    can be read, edited and compared line by line. Bytes of a path that are not UTF-8 cannot be
    written in JSON and become visible escapes."""
    ordered = {"schema": PLAN_SCHEMA, **msgspec.to_builtins(written_plan(plan))}
    return f"{msgspec.json.format(encode(ordered), indent=2)}\n".encode()


def from_json(data: bytes, name: str) -> Plan:
    """The plan in a file's content; ``name`` is used in messages.

    It is enough to read ``MAX_BYTES`` plus one byte of the file. Raises UsageError, with the place
    in the file, for anything that is not a plan of this version: an unknown field, two steps with
    the same id, a file that is cut off.
    """
    if len(data) > MAX_BYTES:
        raise UsageError(f"{name}: larger than {MAX_BYTES >> 20} MiB: not a plan")
    data = data.removeprefix(_BOM)
    if not data.strip():
        raise UsageError(f"{name}: empty: not a plan")
    try:
        return _plan(data, name)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: not a plan: {mismatch(error)}") from None
    except msgspec.DecodeError as error:
        wanted = "" if data.lstrip().startswith(b"{") else f"; {_WANTED}"
        raise UsageError(malformed(data, name, error) + wanted) from None
    except UnicodeDecodeError:
        raise UsageError(f"{name}: not UTF-8: not a plan") from None
    except RecursionError:
        raise UsageError(f"{name}: nested too deeply: not a plan") from None


def _plan(data: bytes, name: str) -> Plan:
    schema = json_as(data, _SchemaHead).schema
    if schema != PLAN_SCHEMA:
        raise UsageError(f"{name}: {_other_schema(schema)}")
    plan = json_as(data, FilePlan)
    number = next((n for n, step in enumerate(plan.steps) if "\0" in (step.file or "")), None)
    if number is not None:
        raise UsageError(f"{name}: not a plan: steps[{number}].file: a file name with a zero byte")
    unknown = next(_unknown(json_as(data, _Inner)), None)
    if unknown:
        raise UsageError(f"{name}: not a plan: {unknown}")
    twice = [step for step, number in Counter(one.id for one in plan.steps).items() if number > 1]
    if twice:
        raise UsageError(f"{name}: more than one step has the id {twice[0]!r}")
    return read_plan(plan, name)


class _SchemaHead(msgspec.Struct):
    schema: str


class _InnerStep(msgspec.Struct):
    nic: _Keys
    changes: tuple[_Keys, ...]


class _InnerNotPlanned(msgspec.Struct):
    nic: _Keys


class _Inner(msgspec.Struct):
    """The records of a plan that are used in reports too. Reports may get new fields, so these
    records ignore unknown ones; in a plan, unknown fields are checked separately."""

    steps: tuple[_InnerStep, ...]
    not_planned: tuple[_InnerNotPlanned, ...] = ()


def _unknown(plan: _Inner) -> Iterator[str]:
    for number, step in enumerate(plan.steps):
        yield from _foreign(step.nic, FileNicRef, f"steps[{number}].nic")
        for at, change in enumerate(step.changes):
            yield from _foreign(change, Change, f"steps[{number}].changes[{at}]")
    for number, left in enumerate(plan.not_planned):
        yield from _foreign(left.nic, FileNicRef, f"not_planned[{number}].nic")


def _foreign(given: Mapping[str, object], record: type[msgspec.Struct], path: str) -> Iterator[str]:
    for key in given:
        if key not in record.__struct_fields__:
            # in the words that msgspec uses for the other records
            yield f"{path}: Object contains unknown field `{key}`"


def _other_schema(schema: str) -> str:
    if _VERSIONED.fullmatch(schema):
        return (
            f"a plan of another version, {schema}; this vnicaudit reads {PLAN_SCHEMA}: plan again"
        )
    return f"not a plan: its schema is {schema!r}; a plan is {PLAN_SCHEMA}"
