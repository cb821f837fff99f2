"""What a cloud did not show is not taken for absent, or for clean."""

import pytest

from tests.platforms.openstack.cloud import Asked, FakeCloud, Reply, reply
from tests.platforms.openstack.conftest import cloud, nowhere
from tests.platforms.openstack.entering import connect, read, run
from tests.regressions.cloud.test_reading_is_patient_and_careful import SERVERS, everything, once
from vnicaudit.errors import TargetError

__all__ = ["cloud", "nowhere"]


# Servers of a cell that is down: an audit was clean with exit code 0, a plan had not a word of
# them, and of a Nova before 31 they were asked for in a way in which it leaves them out.


SAID = (
    "servers: 2 could not be read, because their cell is down and Nova reports little more "
    "than their id"
)


@pytest.fixture
def down(cloud: FakeCloud) -> FakeCloud:
    """One server is well, and two are those of a cell that is down, as Nova answers then."""
    cloud.admin.images = []
    well = next(each for each in cloud.admin.servers if each["name"] == "rd-none")
    kept = ("tenant_id", "created", "links")
    cloud.admin.servers = [
        well,
        *(
            {"id": f"00000000-0000-4000-8000-{number:012d}", "status": "UNKNOWN"}
            | {name: well[name] for name in kept}
            for number in range(2)
        ),
    ]
    return cloud


@pytest.mark.usefixtures("down")
@pytest.mark.parametrize("command", ["audit", "plan", "nics"])
def test_a_cell_that_is_down_is_an_error(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "openstack:admin"]) == 4
    said = capsys.readouterr()
    assert SAID in " ".join((said.out + said.err).split())


@pytest.mark.parametrize(
    ("highest", "asked"),
    [("2.104", "2.98"), ("2.96", "2.69"), ("2.69", "2.69"), ("2.65", "2.47"), ("2.38", "2.38")],
)
def test_nova_is_asked_such_that_it_leaves_none_out(
    cloud: FakeCloud, highest: str, asked: str
) -> None:
    cloud.highest = highest
    everything("admin")
    assert {each.microversion for each in cloud.asked if each.path == SERVERS} == {asked}


# A service that did not answer for a moment when it was asked which versions it has was taken for
# one that has none: Nova seemed to be of no known release, rules were skipped and the exit code
# was that of a whole reading. A login that failed once lost the whole cloud.


NOVA = "/compute/"
CUT = Reply(200, b'{"versions": [', (("Content-Length", "1000"), ("Connection", "close")))
AWAY = reply(503, {}, Retry_After="0")


@pytest.mark.parametrize("answer", [AWAY, reply(429, {})], ids=["503", "429"])
def test_a_nova_that_was_away_for_a_moment_is_no_nova_without_microversions(
    cloud: FakeCloud, answer: Reply
) -> None:
    cloud.intercept = once(NOVA, answer)
    assert connect("admin", deadline=30).endpoint("compute").microversion == (2, 104)


@pytest.mark.parametrize("answer", [AWAY, CUT], ids=["503", "cut"])
def test_a_nova_that_stays_away_is_an_error(cloud: FakeCloud, answer: Reply) -> None:
    cloud.intercept = lambda asked: answer if asked.path == NOVA else None
    with pytest.raises(TargetError, match="the compute service"):
        next(read("admin").items)


def test_a_glance_that_stays_away_is_named_as_that(cloud: FakeCloud) -> None:
    cloud.intercept = lambda asked: AWAY if asked.path in ("/image", "/image/") else None
    _servers, errors = everything("admin")
    assert len(errors) == 1
    assert errors[0].startswith("the image service cannot be reached: ")
    assert errors[0].endswith(" answers 503")


def test_a_login_that_fails_once_loses_no_cloud(cloud: FakeCloud) -> None:
    whole = everything("admin")
    left = [AWAY]
    cloud.intercept = lambda asked: left.pop() if asked.method == "POST" and left else None
    assert everything("admin") == whole


# A Nova that refuses its server groups (403) was read without a word, while a run has one member
# of a group off at a time only as far as groups are known.


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


@pytest.mark.parametrize("words", [("audit", "--level", "never"), ("plan",)])
def test_the_user_is_shown_it(
    cloud: FakeCloud, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    refuse(cloud, 403)
    run([*words, "openstack:admin"])
    assert WORDS in " ".join("".join(capsys.readouterr()).split())
