"""Which properties Nova keeps, and how surely that is known."""

from datetime import datetime, timedelta

import pytest

from tests.platforms.openstack.servers import around, image, kept, raw

CREATED = "2026-11-22T03:18:06Z"
FORM = "%Y-%m-%dT%H:%M:%SZ"
IMAGE = {"hw_vif_model": "rtl8139", "os_type": "linux"}


def before(seconds: int) -> str:
    return (datetime.strptime(CREATED, FORM) - timedelta(seconds=seconds)).strftime(FORM)


def test_what_nova_says_counts() -> None:
    found = kept(raw({"hw_vif_model": "virtio"}), around(image=image(**IMAGE)))
    assert (found.properties_source, found.stored_properties) == (
        "api",
        (("hw_vif_model", "virtio"),),
    )


def test_nova_may_say_that_it_keeps_nothing() -> None:
    found = kept(raw({}), around(image=image(**IMAGE)))
    assert (found.properties_source, found.stored_properties) == ("api", ())


def test_an_image_that_was_not_changed_since() -> None:
    found = kept(raw(), around(image=image(**IMAGE)))
    assert found.properties_source == "image"
    assert found.stored_properties == (("hw_vif_model", "rtl8139"), ("os_type", "linux"))


@pytest.mark.parametrize(("seconds", "known"), [(3600, True), (60, True), (59, False), (0, False),
                                                (-1, False), (-86400, False)])  # fmt: skip
def test_clocks_may_differ_by_a_minute(seconds: int, known: bool) -> None:
    found = kept(raw(), around(image=image(**IMAGE, updated_at=before(seconds))))
    assert found.properties_source == ("image" if known else "unseen")


@pytest.mark.parametrize(
    "updated", ["", "yesterday", "2026-01-01", "0001-01-01T00:00:00", "9" * 99]
)
def test_a_time_that_is_none(updated: str) -> None:
    assert (
        kept(raw(), around(image=image(**IMAGE, updated_at=updated))).properties_source == "unseen"
    )
    near = around(image=image(**IMAGE))
    assert kept(raw(created=updated), near).properties_source == "unseen"
    assert kept(raw(created=None), near).properties_source == "unseen"


def test_times_at_the_ends_of_time() -> None:
    late = around(image=image(**IMAGE, updated_at="9999-12-31T23:59:59Z"))
    assert kept(raw(created="0001-01-01T00:00:00Z"), late).properties_source == "unseen"
    early = around(image=image(**IMAGE, updated_at="0001-01-01T00:00:00Z"))
    assert kept(raw(created="9999-12-31T23:59:59Z"), early).properties_source == "image"


def test_a_rebuild_copies_anew_from_what_is_its_image_now() -> None:
    # rebuilt long after it was made; its image is another one, older than the server: what was
    # copied in between is what is in it
    server = raw(updated="2027-01-01T00:00:00Z")
    assert kept(server, around(image=image(**IMAGE))).properties_source == "image"
    # an image that was made (or changed) between the two may have been something else in between
    younger = image(**IMAGE, updated_at="2026-12-24T00:00:00Z")
    assert kept(server, around(image=younger)).properties_source == "unseen"


def test_only_what_bears_on_a_server_is_taken_from_an_image() -> None:
    said = {"owner_specified.openstack.md5": "x", "base_image_ref": "y", "architecture": "ppc64le",
            "trait:HW_CPU_X86_AVX": "required", "img_hv_type": "kvm"}  # fmt: skip
    names = [name for name, _value in kept(raw(), around(image=image(**said))).stored_properties]
    assert names == ["architecture", "img_hv_type", "trait:HW_CPU_X86_AVX"]


def test_values_are_cut_where_nova_cuts_them() -> None:
    found = kept(raw(), around(image=image(os_distro="u" * 300)))
    assert found.property("os_distro") == "u" * 255


def test_values_are_texts() -> None:
    assert kept(raw({"a": True, "b": None})).stored_properties == (("a", "True"), ("b", ""))


def test_no_image_that_is_seen() -> None:
    assert kept(raw()).properties_source == "unseen"
    assert kept(raw(image="")).image_state == "volume"
    assert kept(raw(image=None)).image_state == "unseen"
    assert kept(raw()).image_state == "unseen"
    assert kept(raw(), around(admin=True)).image_state == "gone"
    assert kept(raw(), around(image=image())).image_state == "there"


def test_an_admin_to_whom_not_all_images_came() -> None:
    near = around(admin=True)
    near.images.visible = None
    assert kept(raw(), near).image_state == "unseen"
