"""Elements of secret names that are never closed, each with another name, were looked for to the
end of the text one by one: 16,000 of them took a second, and four times as long for twice as many.
"""

from collections.abc import Callable

import pytest

from tests.regressions.hostile_input.growth import MOST, TIMES, cost, ratio
from vnicaudit.text.secrets import masked, masked_message

SIZE = 4_000
LITTLE = 0.15
"""Seconds for the larger text: twice what it takes where nothing grows with the square."""

EACH_ANOTHER = {
    "elements": lambda number: f"<password{number}>x",
    "elements of namespaces": lambda number: f"<a{number}:password{number}>x",
    "brackets": lambda number: f"password{number}: {{\n",
    "here-documents": lambda number: f"password = f(<<A{number}\n",
    "here-documents in brackets": lambda number: f"secret{number}: [\n<<A{number}\nA{number}\n",
}
PIECES = (
    "<password>x", "<password ", "<password a='", "<password><![CDATA[x]]></password>",
    "password: {", "a: {password: [", "{password: [{", "password: [\n}", "password: {\"",
    "password: {'", "password=f(", "password = f(<<A\n", "password: {\"\\\"", "password: [[]",
    "password: '\n", "password: \"\n", "\"password\":\n\"", "password: \"\\\n", "password: ''",
    "password='\n'", "password: \"\\\"", "password: \"a\"b\"c", "password: '''", ",password: ",
    "{ password :  !a &b ", "{password: $", "[password:   a\n", "name: a_password, value: ",
    "value: a, name: ", "value: \"", "value: 'aaa", "value:", "value: a,  ", "value:\t a\t,\n",
    "kind:\n", "kind: ! ", "password: !a ", "password\n\n", "password:\n ", "a:\\/\\/", "a://x:y@",
    "-----BEGIN PRIVATE KEY-----\n", "password = <<A\n", "{{", "password: {{ a ", "\n", "a\t\n",
    "curl -u a:", "sshpass -p ", "echo a | chpasswd ", "chpasswd <<A\n", "set-user-password a ",
    "? password\n", "variable \"password\" {", "a?sig=", "\"auths\": {", "mysql -p",
)  # fmt: skip


def _linear(call: Callable[[str], str], small: str, large: str) -> None:
    if cost(lambda: call(large), 1) < LITTLE:
        return
    grown = ratio(call, small, large, tries=8)
    assert grown <= MOST, f"{large[:40]!r} grows by {grown:.0f}"


@pytest.mark.parametrize("kind", EACH_ANOTHER)
def test_names_that_all_differ_cost_no_more_than_their_length(kind: str) -> None:
    make = EACH_ANOTHER[kind]
    small, large = (
        "".join(map(make, range(10_000, 10_000 + number)))
        for number in (SIZE // 2, SIZE // 2 * TIMES)
    )
    _linear(masked, small, large)


@pytest.mark.parametrize(
    "before", ["", "kind: Secret\na: {password: ", 'password: "', "<password>"]
)
def test_pieces_over_and_over_cost_no_more_than_their_length(before: str) -> None:
    for piece in PIECES:
        small, large = (
            before + piece * (size // len(piece)) for size in (SIZE // 2, SIZE // 2 * TIMES)
        )
        for call in (masked, masked_message):
            _linear(call, small, large)
