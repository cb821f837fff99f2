"""A service that did not answer for a moment when it was asked which versions it has was taken for
one that has none: Nova seemed to be of no known release, rules were skipped and the exit code was
that of a whole reading. A login that failed once lost the whole cloud."""

import pytest

from tests.platforms.openstack.cloud import FakeCloud, Reply, reply
from tests.platforms.openstack.conftest import cloud, nowhere
from tests.platforms.openstack.entering import connect, read
from tests.regressions.cloud.test_reading_is_patient_and_careful import everything, once
from vnicaudit.errors import TargetError

__all__ = ["cloud", "nowhere"]

NOVA = "/compute/"
CUT = Reply(200, b'{"versions": [', (("Content-Length", "1000"), ("Connection", "close")))
AWAY = reply(503, {}, Retry_After="0")


@pytest.mark.parametrize("answer", [AWAY, CUT, reply(429, {})], ids=["503", "cut", "429"])
def test_a_nova_that_was_away_for_a_moment_is_no_nova_without_microversions(
    cloud: FakeCloud, answer: Reply
) -> None:
    cloud.intercept = once(NOVA, answer)
    assert connect("admin", deadline=30).endpoint("compute").microversion == (2, 104)


@pytest.mark.parametrize("answer", [AWAY, CUT], ids=["503", "cut"])
def test_a_nova_that_stays_away_is_an_error(cloud: FakeCloud, answer: Reply) -> None:
    cloud.intercept = lambda asked: answer if asked.path == NOVA else None
    with pytest.raises(TargetError, match="the compute service"):
        read("admin")


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
