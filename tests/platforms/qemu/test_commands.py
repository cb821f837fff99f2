"""Command lines in text that is made to take long, and where a listing ends."""

from vnicaudit.platforms.qemu.commands import commands

REAL = "qemu-system-x86_64 -m 512 -device e1000\n"


def test_a_program_on_a_continued_line_is_an_argument() -> None:
    """Quadratic time would be hours here (measured: 17 s for 4000 lines)."""
    found = list(commands("kvm x \\\n" * 100_000 + "\n" + REAL))
    assert [(command.program, command.line) for command in found] == [
        ("qemu-system-x86_64", 100_002)
    ]


def test_quotation_marks_that_are_never_closed() -> None:
    """Each line would be read up to the end of the text (measured: 3 s for 4000 lines)."""
    found = list(commands("kvm \\''\n" * 100_000 + REAL))
    assert [(command.program, command.line) for command in found] == [
        ("qemu-system-x86_64", 100_001)
    ]


def test_a_command_behind_another_on_a_line_that_continues() -> None:
    (found,) = commands("kvm stop; \\\n" + REAL)
    assert (found.program, found.line) == ("qemu-system-x86_64", 2)


def test_a_quotation_mark_in_prose_does_not_hide_what_follows() -> None:
    (found,) = commands("kvm isn't loaded\n" + REAL)
    assert (found.program, found.line) == ("qemu-system-x86_64", 2)


def test_a_listing_ends_at_an_empty_line_or_a_fence() -> None:
    listing = f"PID CMD\n7 {REAL}"
    assert [command.pid for command in commands(listing + f"8 {REAL}")] == [7, 8]
    for end in ("\n", " \n", "```\n"):
        found = list(commands(listing + end + REAL))
        assert [(command.pid, command.complete) for command in found] == [(7, False), (None, False)]


def test_each_listing_has_columns_of_its_own() -> None:
    text = f"PID CMD\n7 {REAL}\nUSER PID CMD\nroot 8 {REAL}PID CMD\n9 {REAL}"
    assert [command.pid for command in commands(text)] == [7, 8, 9]
