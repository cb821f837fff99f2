"""What nova-manage says, and what it means."""

from collections.abc import Sequence

import pytest

from tests.rows import rows
from vnicaudit.errors import ActionError, RefusedError
from vnicaudit.remedy.applying.clouds.nova_manage import (
    HalfSetError,
    Manage,
    NotSetError,
    check_words,
)
from vnicaudit.remedy.hypervisor import CommandOutput

SERVER = "00000000-0000-4000-8000-000000000001"


class Answering:
    """Says the same each time."""

    def __init__(self, said: CommandOutput) -> None:
        self.said = said
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, arguments: Sequence[str]) -> CommandOutput:
        self.asked.append(tuple(arguments))
        return self.said


def test_set_is_one_call() -> None:
    run = Answering(CommandOutput(0))
    Manage(run).set_properties(
        SERVER, {"hw_vif_model": "virtio", "hw_vif_multiqueue_enabled": "true"}
    )
    assert run.asked == [
        ("image_property", "set", SERVER, "--property", "hw_vif_model=virtio",
         "--property", "hw_vif_multiqueue_enabled=true"),
    ]  # fmt: skip


@rows
def test_set_ends_badly(code: int, text: str, error: str, words: str) -> None:
    with pytest.raises(ActionError) as raised:
        Manage(Answering(CommandOutput(code, text, error))).set_properties(
            SERVER, {"hw_vif_model": "virtio"}
        )
    assert words in str(raised.value)
    assert isinstance(raised.value, NotSetError) is (code not in (1, 77, 255))
    assert isinstance(raised.value, HalfSetError) is (code == 1)


def test_a_connection_that_is_lost_is_no_end() -> None:
    """kubectl ends with 1 then, as nova-manage does."""
    lost = CommandOutput(1, "", "error: unexpected EOF")
    with pytest.raises(ActionError) as raised:
        Manage(Answering(lost)).set_properties(SERVER, {"hw_vif_model": "virtio"})
    assert type(raised.value) is ActionError


def test_what_it_says_is_cut() -> None:
    with pytest.raises(ActionError) as raised:
        Manage(Answering(CommandOutput(1, "x" * 10_000))).set_properties(
            SERVER, {"hw_vif_model": "virtio"}
        )
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize(
    ("said", "value"),
    [
        (CommandOutput(0, "rtl8139\n"), "rtl8139"),
        (CommandOutput(0, "Defaulted container nova-api\nrtl8139\n"), "rtl8139"),
        (CommandOutput(0, "\n"), None),
        (CommandOutput(3, "Image property hw_vif_model not found for instance 1.\n"), None),
    ],
)
def test_show(said: CommandOutput, value: str | None) -> None:
    run = Answering(said)
    manage = Manage(run)
    assert manage.show(SERVER, "hw_vif_model") == value
    assert manage.proven
    assert run.asked == [("image_property", "show", SERVER, "hw_vif_model")]


def test_show_ends_badly() -> None:
    manage = Manage(Answering(CommandOutput(2, "Instance 1 has no mapping to a cell.")))
    with pytest.raises(ActionError, match="is it the controller of another cloud"):
        manage.show(SERVER, "hw_vif_model")
    assert not manage.proven


@pytest.mark.parametrize(
    ("text", "release"),
    [("34.0.0\n", 34), ("25.2.1-13.el9\n", 25), ("WARNING: x\n29.0.3\n", 29), ("unknown\n", None)],
)
def test_which_release_is_asked_once(text: str, release: int | None) -> None:
    run = Answering(CommandOutput(0, text))
    manage = Manage(run)
    assert [manage.release(), manage.release()] == [release, release]
    assert run.asked == [("version",)]


def test_one_that_does_not_run_is_asked_again() -> None:
    run = Answering(CommandOutput(127, "", "not found"))
    manage = Manage(run)
    for _time in range(2):
        with pytest.raises(ActionError, match="nova-manage version ended with 127"):
            manage.release()
    assert len(run.asked) == 2


def test_nobody_said_where_it_is() -> None:
    with pytest.raises(ActionError, match="this needs nova-manage"):
        Manage(None).release()


@rows
def test_words_that_would_be_taken_for_others(
    server: str, properties: dict[str, str | None], words: str
) -> None:
    with pytest.raises(RefusedError, match=words):
        check_words(server, properties)
