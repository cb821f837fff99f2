"""A plan as text for review, and as ``vnicaudit.plan/1``, the file to review, edit and apply. Its
records are those of :mod:`vnicaudit.model.plan`.
"""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import json_as, malformed, mismatch
from vnicaudit.model.plan import PLAN_SCHEMA, Plan
from vnicaudit.reports.safe import encode

MAX_BYTES = 256 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_WANTED = "a plan is needed, as `vnicaudit plan -o FILE` writes it"
_VERSIONED = re.compile(r"vnicaudit\.plan/\w+")


class _SchemaHead(msgspec.Struct):
    schema: str


def to_json(plan: Plan) -> bytes:
    """The file, indented, so that it can be read, edited and compared line by line. Bytes of a path
    that are not UTF-8 cannot be written in JSON and become visible escapes."""
    return f"{msgspec.json.format(encode(plan), indent=2)}\n".encode()


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
        data.decode()  # versions of msgspec tell it in different ways
        schema = json_as(data, _SchemaHead).schema
        if schema != PLAN_SCHEMA:
            raise UsageError(f"{name}: {_other_schema(schema)}")
        plan = json_as(data, Plan)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: not a plan: {mismatch(error)}") from None
    except msgspec.DecodeError as error:
        wanted = "" if data.lstrip().startswith(b"{") else f"; {_WANTED}"
        raise UsageError(malformed(data, name, error) + wanted) from None
    except UnicodeDecodeError:
        raise UsageError(f"{name}: not UTF-8: not a plan") from None
    except RecursionError:
        raise UsageError(f"{name}: nested too deeply: not a plan") from None
    twice = [step for step, number in Counter(one.id for one in plan.steps).items() if number > 1]
    if twice:
        raise UsageError(f"{name}: more than one step has the id {twice[0]!r}")
    return plan


def _other_schema(schema: str) -> str:
    if _VERSIONED.fullmatch(schema):
        return (
            f"a plan of another version, {schema}; this vnicaudit reads {PLAN_SCHEMA}: plan again"
        )
    return f"not a plan: its schema is {schema!r}; a plan is {PLAN_SCHEMA}"
