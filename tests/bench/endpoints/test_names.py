"""Host names in the place of addresses."""

import pytest

from vnicaudit.bench.endpoints.addresses import is_host_name, resolved_at
from vnicaudit.errors import EndpointError, UsageError
from vnicaudit.model.measurement import Ran


@pytest.mark.parametrize("text", ["web01", "web01.example.org", "a.b.", "x_1.lab", "1.lab", "7up"])
def test_a_name(text: str) -> None:
    assert is_host_name(text)


@pytest.mark.parametrize(
    "text",
    ["", ".", "192.0.2.1", "192.0.2", "2001:db8::1", "-a", "a-", "a b", "a..b", "ä", "a" * 254],
)
def test_what_is_no_name(text: str) -> None:
    assert not is_host_name(text)


class Resolver:
    """An endpoint whose ``getent`` prints that."""

    url = "ssh://gen1"

    def __init__(self, stdout: str, code: int = 0, stderr: str = "") -> None:
        self._said = code, stdout, stderr

    def run(self, argv: tuple[str, ...], *, seconds: float) -> Ran:
        assert (argv[:2], seconds > 0) == (("getent", "ahosts"), True)
        return Ran(argv, *self._said)


def resolved(stdout: str, code: int = 0, stderr: str = "") -> str:
    return resolved_at(Resolver(stdout, code, stderr), "web01")  # type: ignore[arg-type]


# glibc 2.36; musl's prints STREAM alone
BOTH = """\
2001:db8::7     STREAM web01.example.org
2001:db8::7     DGRAM
192.0.2.7       STREAM
192.0.2.7       DGRAM
"""


def test_ipv4_before_ipv6() -> None:
    assert resolved(BOTH) == "192.0.2.7"
    assert resolved(BOTH.partition("192")[0]) == "2001:db8::7"


def test_several_are_listed() -> None:
    with pytest.raises(UsageError, match=r"\(192\.0\.2\.7, 192\.0\.2\.8\)"):
        resolved(BOTH + "192.0.2.8 STREAM\n")


def test_none() -> None:
    for code, stdout in ((2, ""), (0, "\nno address here\n"), (127, BOTH)):
        with pytest.raises(EndpointError) as error:
            resolved(stdout, code, "getent: not found\n" if code == 127 else "")
        assert str(error.value).startswith("ssh://gen1 cannot resolve 'web01'")
        assert ("not found" in str(error.value)) == (code == 127)


def test_a_name_of_the_peer_itself() -> None:
    with pytest.raises(UsageError, match=r"'web01' is 127\.0\.1\.1, which is that end itself"):
        resolved("127.0.1.1 STREAM web01\n")
