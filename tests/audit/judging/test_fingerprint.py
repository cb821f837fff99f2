"""What a finding is known again by."""

import pytest

from vnicaudit.audit.judging.judgement import identity_parts
from vnicaudit.model.domain import Domain, DomainConfig, FromManifest, Marked
from vnicaudit.model.finding import Location
from vnicaudit.model.nic import Nic, NicConfig

HERE = Location("t", "/a/ps.txt")
MAC = "52:54:00:00:00:01"


@pytest.mark.parametrize(
    ("known_by", "part"),
    [
        (None, f"/{MAC}"),
        (Marked("#2"), f"#2/{MAC}"),
        (FromManifest("/a/preference.yaml"), f"/{MAC}"),
    ],
)
def test_a_domain_without_uuid_is_told_apart_by_its_mark(
    known_by: Marked | FromManifest | None, part: str
) -> None:
    """As it was in reports of earlier versions: a baseline names it."""
    nic = Nic(0, NicConfig(), HERE, mac=MAC)
    domain = Domain("a", DomainConfig(), HERE, (nic,), known_by=known_by)
    assert identity_parts(domain, nic) == ("/a/ps.txt", part)
