"""Places by URL."""

from contextlib import closing

import pytest

from vnicaudit.errors import EndpointError, UsageError
from vnicaudit.model.host import Section
from vnicaudit.reaching.opening import open_place
from vnicaudit.reaching.sections import ask


def test_a_program_runs_there_word_for_word() -> None:
    with closing(open_place("local")) as here:
        ran = here.run(
            ["sh", "-c", 'printf "<%s>" "$@"; echo err >&2; exit 3', "sh", "a b", "$x"], seconds=20
        )
    assert (ran.code, ran.stdout, ran.stderr) == (3, "<a b><$x>", "err\n")
    assert ran.endpoint == "local"


def test_facts_are_read_there_in_one_round_trip() -> None:
    with closing(open_place("local")) as here:
        found = ask(here, 'fact a printf %s "$1"; fact b false', "it")
    assert found == (Section("a", "it", 0), Section("b", "", 1))


def test_what_fails_there_is_named_by_its_url() -> None:
    with closing(open_place("local")) as here, pytest.raises(EndpointError) as error:
        here.run(["no-such-program"], seconds=20)
    assert str(error.value) == "local: no-such-program is not installed on this machine"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("agent://web01", "invalid endpoint 'agent://web01'; supported forms: docker://"),
        ("local?address=192.0.2.1", "local?address=192.0.2.1: local:// has no option 'address'"),
        ("ssh://-oProxyCommand=reboot", "ssh://-oProxyCommand=reboot: not an endpoint"),
    ],
)
def test_what_is_no_place_is_refused(url: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        open_place(url)
    assert str(error.value).startswith(message)
