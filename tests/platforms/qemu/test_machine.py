"""Arguments -> facts of the machine."""

import shlex

from tests.rows import rows, rows_of_tuples
from vnicaudit.platforms.qemu import build as machine
from vnicaudit.platforms.qemu.arguments import Arguments, parse


def _arguments(line: str) -> Arguments:
    return parse(shlex.split(line))


@rows
def test_name(line: str, name: str | None) -> None:
    assert machine.guest_name(_arguments(line)) == name


@rows
def test_architecture(program: str, line: str, arch: str | None) -> None:
    assert machine.architecture(program, _arguments(line)) == arch


@rows
def test_accelerator(program: str, line: str, kind: str | None) -> None:
    assert machine.accelerator(program, _arguments(line)) == kind


@rows_of_tuples
def test_vcpus(line: str, vcpus: tuple[int, int]) -> None:
    assert machine.vcpus(_arguments(line)) == vcpus


@rows
def test_owner(line: str, owner: str) -> None:
    assert machine.owner(_arguments(line)) == owner


@rows
def test_shared_memory(line: str, shared: bool) -> None:
    assert machine.shared_memory(_arguments(line)) is shared


@rows
def test_virtio_disk(line: str, disk: bool) -> None:
    assert machine.has_virtio_disk(_arguments(line)) is disk


@rows
def test_windows_hint(line: str, windows: bool) -> None:
    assert machine.windows_hint(_arguments(line)) is windows


@rows
def test_session(line: str, session: bool | None) -> None:
    assert machine.session(_arguments(line)) is session
