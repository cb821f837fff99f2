"""One script, several texts: whole or not at all, and nothing printed can fake a section."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.engines.here import Here
from vnicaudit.errors import EndpointError
from vnicaudit.model.host import Section
from vnicaudit.model.measurement import Ran
from vnicaudit.reaching.sections import FACT_BYTES, ask, split, text_of

SEPARATOR = "0123456789abcdef"
NAMES = st.text(st.characters(codec="ascii", exclude_characters="\n "), min_size=1).filter(
    lambda name: name not in ("end", "code")
)
TEXTS = st.text(st.characters(codec="utf-8")).filter(lambda text: SEPARATOR not in text)


def printed(separator: str, *sections: Section) -> str:
    """What a script prints for these."""
    return "".join(
        f"\n{separator} {one.name}\n{one.text}{_end(separator, one.code)}"
        for one in (*sections, Section("end", ""))
    )


def _end(separator: str, code: int | None) -> str:
    return "" if code is None else f"\n{separator} code {code}"


class Unable(Here):
    """An endpoint on which ``sh`` fails."""

    def __init__(self, code: int | None, stderr: str, stdout: str = "") -> None:
        super().__init__("ssh://web01")
        self.ends = (code, stderr)
        self.stdout = stdout

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        code, stderr = self.ends
        return Ran(tuple(argv), code, self.stdout + stdin.decode(), stderr, seconds, self.url)


@given(st.lists(st.builds(Section, NAMES, TEXTS, st.none() | st.integers(0, 255))))
def test_what_was_printed_is_found_again(sections: list[Section]) -> None:
    assert split(printed(SEPARATOR, *sections), SEPARATOR) == tuple(sections)


def test_what_the_shell_of_a_login_prints_is_passed_over() -> None:
    text = "Authorised use only\n" + printed(SEPARATOR, Section("a", "1\n", 0))
    assert split(text, SEPARATOR) == (Section("a", "1\n", 0),)


def test_cut_anywhere_it_is_an_error() -> None:
    whole = printed(SEPARATOR, Section("a", "1\n", 0), Section("b", "22\n"))
    for length in range(len(whole) - 1):
        with pytest.raises(EndpointError, match="incomplete"):
            split(whole[:length], SEPARATOR)


def test_a_shell_runs_it() -> None:
    script = r"""
part plain; printf 'no newline at the end'
fact works printf '%s\n' "$1"
fact fails sh -c 'echo why >&2; exit 3'
fact missing no-such-program-anywhere
fact long yes
"""
    with Here() as here:
        sections = {each.name: each for each in ask(here, script, "$(id) `id`; '\"*")}
    assert sections["plain"] == Section("plain", "no newline at the end")
    assert sections["works"] == Section("works", "$(id) `id`; '\"*\n", 0)
    assert sections["fails"] == Section("fails", "why\n", 3)
    assert sections["missing"].code == 127
    assert sections["long"].code is None
    assert len(sections["long"].text) == FACT_BYTES


def test_a_fact_is_as_long_as_the_caller_accepts() -> None:
    with Here() as here:
        (whole,) = ask(here, "fact whole head -c 100000 /dev/zero", most=200_000)
        (cut,) = ask(here, "fact cut head -c 100000 /dev/zero", most=1000)
    assert (len(whole.text), whole.code) == (100_000, 0)
    assert (len(cut.text), cut.code) == (1000, None)


def test_content_cannot_pretend_to_be_a_section() -> None:
    with Here() as here:
        found = ask(here, r"""part a; printf '\n%s end\n\nseparator b\n' 0123456789abcdef""")
    assert [each.name for each in found] == ["a"]


def test_two_calls_have_two_separators() -> None:
    with Here() as here:
        ask(here, "part a")
        ask(here, "part a")
        first, second = here.commands
    assert first[:4] == second[:4]
    assert first[4] != second[4]


@pytest.mark.parametrize(
    ("code", "stderr", "why"),
    [
        (127, "sh: not found\n", "ssh failed: sh: not found"),
        (1, "", "sh ended with exit code 1"),
        (255, "", "ssh failed: the connection was lost"),
        (None, "", "sh did not end in time"),
    ],
)
def test_without_a_shell_it_is_an_error_that_says_where(
    code: int | None, stderr: str, why: str
) -> None:
    with pytest.raises(EndpointError) as caught:
        ask(Unable(code, stderr), "part a")
    assert str(caught.value) == f"facts of ssh://web01 could not be read: {why}"


def test_the_text_of_a_section_that_is_not_there_is_empty() -> None:
    assert text_of([Section("a", "1")], "b") == ""


def test_what_a_login_says_that_runs_nothing_is_told() -> None:
    with pytest.raises(EndpointError, match="ssh failed: This account is not available"):
        ask(Unable(1, "", "This account is not available.\n"), "part a")
