"""Records with a name of a site in every text that they can have."""

import base64
import types
import typing
import zlib
from collections.abc import Iterator

import msgspec

from vnicaudit.model.fix import Advice
from vnicaudit.model.host import Cell
from vnicaudit.model.names import FixNames
from vnicaudit.model.nic import Resolved
from vnicaudit.reports.redaction import KINDS

NAME = "acme"
"""In every text, in whatever spelling."""
_FORMS = (
    "acme-{n}", "Acme Mail {n}", "the bridge acmebr{n} is down", "/srv/acme/{n}.xml", "acme{n}",
    "qemu+ssh://acme{n}/system", "acme-{n}.example.org", "ACME_{n}", "(acme) {n}",
)  # fmt: skip


class Planter:
    """Makes records; each text is another one."""

    def __init__(self, *, depth: int = 8) -> None:
        self._number = 0
        self._depth = depth

    def record(self, kind: type[msgspec.Struct], depth: int = 0) -> msgspec.Struct:
        """A record of that kind, filled."""
        hints = typing.get_type_hints(kind)
        keeps = {field for field, what in KINDS.get(kind, {}).items() if what == "keep"}
        values = {}
        for field in kind.__struct_fields__:
            hint = hints[field]
            kept = _kept(hint) if field in keeps else None
            values[field] = self.value(hint, depth + 1) if kept is None else kept
        return kind(**values)

    def value(self, hint: object, depth: int) -> object:
        """A value of a type, with a name in it where it can have one."""
        origin, inner = typing.get_origin(hint), typing.get_args(hint)
        if hint is str or isinstance(hint, typing.TypeVar):
            return self.text()
        if hint is FixNames:
            return FixNames(self.text(), self.text(), self.text())
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            return self.record(hint, depth)
        if origin is typing.Literal:
            return inner[0]
        if origin in (typing.Union, types.UnionType):
            return self.value(self._one_of(inner), depth)
        if origin is tuple:
            return self._several(inner, depth)
        if origin is dict:
            return {self.text(): self.value(inner[1], depth)}
        if isinstance(origin, type) and issubclass(origin, Resolved):
            return Resolved(self.value(inner[0], depth), None, self.text())
        return {bool: True, bytes: b"", float: 1.0}.get(typing.cast(type, hint), 1)

    def text(self) -> str:
        """A text with the name in it."""
        self._number += 1
        return _FORMS[self._number % len(_FORMS)].format(n=self._number)

    def _several(self, inner: tuple[object, ...], depth: int) -> tuple[object, ...]:
        if len(inner) == 2 and inner[1] is ...:
            return (self.value(inner[0], depth),) if depth < self._depth else ()
        return tuple(self.value(each, depth) for each in inner)

    def _one_of(self, inner: tuple[object, ...]) -> object:
        """The part that can hold most: a record (advice, of fixes), else text."""
        records = [each for each in inner if isinstance(each, type) and each is not type(None)]
        if Advice in records:
            return Advice
        structs = [each for each in records if issubclass(each, msgspec.Struct)]
        return next(iter([*structs, *inner]))


def _kept(hint: object) -> object:
    """A value of a field that identifies nothing; None: it has no text of its own."""
    if typing.get_origin(hint) is dict:
        return {"VNIC001": Cell(True, True) if Cell in typing.get_args(hint) else 1}
    if typing.get_origin(hint) is tuple:
        return ("VNIC001",)
    return "VNIC001" if hint is str or str in typing.get_args(hint) else None


def texts_of(value: object) -> Iterator[str]:
    """Every text in a record."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            yield from texts_of(getattr(value, field))
    elif isinstance(value, dict):
        yield from texts_of((*value, *value.values()))
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from texts_of(each)


def unpacked(text: str) -> str:
    """A report with what is compressed in it, in place of the compressed form: of a page its data.
    That form changes with each run, and spells a word of four letters in one of a hundred."""
    begin, end = '<script type="application/octet-stream" id="data">', "</script>"
    before, found, rest = text.partition(begin)
    if not found:
        return text
    packed, _, behind = rest.partition(end)
    data = zlib.decompress(base64.b64decode(packed), wbits=47)
    shown = data.decode("utf-8", "replace") + data.hex()  # addresses are bytes there
    return before + behind + shown
