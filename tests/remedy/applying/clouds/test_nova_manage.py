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
USAGE = (
    "usage: nova-manage [-h] [--config-dir DIR] ...\nnova-manage: error: argument category: "
    "invalid choice: 'image_property'\n"
)


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


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (CommandOutput(1, "Unexpected error, see nova-manage.log for the full trace: x"),
         (
             "ended with 1 (an unexpected error: see nova-manage.log on the controller): "
             "Unexpected error, see nova-manage.log for the full trace: x"
         )),
        (CommandOutput(2, "Instance 1 could not be found."),
         (
             "ended with 2 (it does not know this server: is it the controller of another "
             "cloud?): Instance 1 could not be found."
         )),
        (CommandOutput(3, "Instance 1 in vm_state active."),
         (
             "ended with 3 (Nova accepts no change in the server's current state: it must be "
             "stopped or shelved): Instance 1 in vm_state"
         )),
        (CommandOutput(4), "ended with 4 (a property without a value)"),
        (CommandOutput(5), "ended with 5 (it does not know this property)"),
        (CommandOutput(6, "Field value x is invalid"),
         "ended with 6 (not a valid value for the property): Field value x is invalid"),
        (CommandOutput(77), "ended with 77"),
        (CommandOutput(127, "", "sh: nova-manage: not found"),
         (
             "ended with 127 (command not found there: name it with "
             "VNICAUDIT_NOVA_MANAGE_COMMAND): sh: nova-manage: not found"
         )),
        (CommandOutput(255, "An error has occurred:\nTraceback"),
         "ended with 255 (it crashed, or the "
         "connection to where it runs was lost): An error has occurred: Traceback"),
        (CommandOutput(2, "", USAGE),
         "this nova-manage has no image_property command: it is older than Nova 25"),
    ],
)  # fmt: skip
def test_set_ends_badly(said: CommandOutput, words: str) -> None:
    with pytest.raises(ActionError) as raised:
        Manage(Answering(said)).set_properties(SERVER, {"hw_vif_model": "virtio"})
    assert words in str(raised.value)
    assert isinstance(raised.value, NotSetError) is (said.code not in (1, 77, 255))
    assert isinstance(raised.value, HalfSetError) is (said.code == 1)


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
