"""A Nova that refuses its server groups (403) was read without a word, while a run has one member
of a group off at a time only as far as groups are known."""

import pytest

from tests.platforms.openstack.cloud import Asked, FakeCloud, Reply, reply
from tests.platforms.openstack.conftest import cloud, nowhere
from tests.platforms.openstack.entering import read, run

__all__ = ["cloud", "nowhere"]

GROUPS = "/compute/v2.1/os-server-groups"
WORDS = (
    "shown to an admin, but not to this user: server groups (so that apply and rollback "
    "may have several members of one off at a time)"
)


def refuse(cloud: FakeCloud, status: int) -> None:
    def intercept(asked: Asked) -> Reply | None:
        return reply(status, {}) if asked.path == GROUPS else None

    cloud.intercept = intercept


def test_a_note_says_so(cloud: FakeCloud) -> None:
    refuse(cloud, 403)
    reading = read("admin")
    list(reading.items)
    assert WORDS in reading.notes


def test_nothing_is_said_where_they_are_shown(cloud: FakeCloud) -> None:
    assert cloud.url
    reading = read("admin")
    list(reading.items)
    assert "server groups" not in "\n".join(reading.notes)


@pytest.mark.parametrize("words", [("audit", "--fail-on", "never"), ("plan",)])
def test_the_user_is_shown_it(
    cloud: FakeCloud, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    refuse(cloud, 403)
    run([*words, "openstack:admin"])
    assert WORDS in " ".join("".join(capsys.readouterr()).split())
