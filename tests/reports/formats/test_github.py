"""GitHub annotations: one line each."""

import msgspec

from tests.reports.samples import CLEAN, OK_END, WEB_01, finding, written
from vnicaudit.model.finding import Location, Ref


def test_a_clean_run_is_a_notice() -> None:
    assert written("github", stream=[CLEAN], end=OK_END) == (
        "::notice title=vnicaudit::No problems in 1 guest, 1 NIC\n"
    )


def test_a_name_cannot_start_a_command_of_its_own() -> None:
    evil = "a\n::set-output name=x::y\r%0A"
    problem = finding(
        about=Ref("domain", evil), location=Location("d", "d/a,b:c.xml", 2), message="m", fix=""
    )
    stream = [msgspec.structs.replace(WEB_01, subject=evil, findings=(problem,))]
    first = written("github", stream=stream).splitlines()[0]
    assert first == (
        "::error file=d/a%2Cb%3Ac.xml,line=2,title=VNIC001 legacy-emulated-nic::"
        "a\\n::set-output name=x::y\\r%250A: m"
    )
