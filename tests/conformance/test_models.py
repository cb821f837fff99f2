"""What libvirt 9.0 and QEMU 7.2 did with every model, and what is said of it."""

from tests.conformance.models import errors, rows, starts


def test_no_model_that_starts_is_said_not_to() -> None:
    assert [row for row in rows() if row.fate == "starts" and not starts(row)] == []


def test_a_model_that_does_not_start_is_said_not_to() -> None:
    assert [row for row in rows() if row.fate != "starts" and starts(row)] == []


def test_the_rules_agree() -> None:
    assert [row for row in rows() if bool(errors(row)) == (row.fate == "starts")] == []


def test_every_fate_is_there() -> None:
    fates = [row.fate for row in rows()]
    assert len(fates) > 700
    assert all(fates.count(fate) > 20 for fate in ("starts", "fails", "refused"))
