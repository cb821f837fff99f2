"""Recordings of visits: the sections that a host printed, as a file that is judged anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from vnicaudit import __version__
from vnicaudit.base.deadlines import timestamp
from vnicaudit.base.files import replaced
from vnicaudit.base.opening import read_regular
from vnicaudit.errors import TargetError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.host import HostRecording, Section
from vnicaudit.platforms.host.ovsdb import JsonTable
from vnicaudit.text.secrets import STARS, is_secret_name, masked_message

_BYTES = 64 * 2**20
_SECRET = re.compile(r"""(?:secret|tls-cipher|authz)[\w-]*,|.*"qom-type": ?"secret""")
"""A value of QEMU's ``-object`` that may hold a secret: the option's first word, or JSON."""
_FREE = frozenset({"-append", "-blockdev", "-drive", "-fw_cfg", "-iscsi", "-smbios"})
"""Options of QEMU with the keys of disks, and whatever their guest is told."""
_SHOWN = re.compile(
    r"(?<![^,{])(?:(?:if|type|manufacturer|product|family)=[\w. ()+-]{1,100}"
    r"|file=/[\w./+-]{1,400}|\"filename\": ?\"/[\w./+-]{1,400}\")(?=[,}]|$)"
)
"""What is kept of those: it tells who started the guest."""
_PAIR = re.compile(r'\["([\w.:-]{1,64})","(?:[^"\\]|\\.)*"\]')
"""A key with its value, as Open vSwitch's database prints maps."""

_IDS = "external_ids"
_KNOWN_IDS = frozenset({
    "attached-mac", "bridge-id", "hostname", "iface-id", "iface-status", "ovn-bridge",
    "ovn-bridge-mappings", "ovn-encap-ip", "ovn-encap-type", "ovn-remote", "rundir", "system-id",
    "vm-id", "vm-uuid",
})  # fmt: skip
"""Keys of that column with harmless values (ovs-vswitchd.conf.db(5), ovn-controller(8), Nova's
os-vif): anybody may put anything under others."""


def write_recording(path: str, place: str, sections: Sequence[Section]) -> None:
    """Write what a place printed, without what looks like a secret, so that nobody else can read
    it. Raises TargetError."""
    kept = tuple(replace(each, text=_masked(each.text)) for each in sections)
    recording = HostRecording(
        version=__version__, recorded=timestamp("seconds"), place=place, sections=kept
    )
    try:
        with replaced(path, private=True) as stream:
            stream.write(msgspec.json.format(msgspec.json.encode(recording)) + b"\n")
    except OSError as error:
        raise TargetError(f"cannot be written: {error.strerror}", file=path) from None


def read_recording(path: str) -> HostRecording:
    """A recording. Raises TargetError if it is none, OSError if it cannot be read."""
    data = read_regular(path, _BYTES + 1)
    if len(data) > _BYTES:
        raise TargetError(f"longer than {_BYTES >> 20} MiB", file=path)
    try:
        return json_as(data, HostRecording)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TargetError(f"not a whole recording of a host: {error}", file=path) from None


def _masked(text: str) -> str:
    return "\n".join(map(_masked_line, text.split("\n")))


def _masked_line(line: str) -> str:
    """A line; that of a process is a list of words with NULs between them."""
    if f'"{_IDS}"' in line:
        line = _known_ids(line)
    words = _PAIR.sub(_pair_shown, line).split("\0")
    for index, word in enumerate(words):
        option = f"-{words[index - 1].lstrip('-')}" if index else ""
        if option in _FREE:
            words[index] = ",".join(_SHOWN.findall(word)) or STARS
        elif option == "-object" and _SECRET.match(word) is not None:
            words[index] = STARS
        else:
            words[index] = masked_message(word)
    return "\0".join(words)


def _pair_shown(found: re.Match[str]) -> str:
    """A pair; without its key too if that is secret, so that the rest of its line is kept."""
    return f'["{STARS}","{STARS}"]' if is_secret_name(found[1]) else found[0]


def _known_ids(line: str) -> str:
    """A table of Open vSwitch's database with the known keys of that column alone."""
    try:
        table = json_as(line, JsonTable)
    except (msgspec.MsgspecError, RecursionError):
        return STARS  # cut off: nothing reads it either
    at = table.headings.index(_IDS) if _IDS in table.headings else -1
    for row in table.data:
        match row[at] if 0 <= at < len(row) else None:
            case ["map", list(pairs)]:
                row[at] = ["map", [each for each in pairs if _is_known(each)]]
            case _ if 0 <= at < len(row):
                row[at] = ["map", []]
    return msgspec.json.encode(table).decode()


def _is_known(pair: object) -> bool:
    match pair:
        case [str(key), str()]:
            return key in _KNOWN_IDS
        case _:
            return False
