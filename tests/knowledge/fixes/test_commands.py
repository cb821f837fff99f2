"""Commands that somebody will copy."""

from vnicaudit.knowledge.fixes.wording import options


def test_what_is_copied_into_a_shell_is_quoted() -> None:
    assert options({"hw_vif_model": "virtio", "a": "$(reboot)"}) == (
        "--property hw_vif_model=virtio --property 'a=$(reboot)'"
    )


def test_of_a_volume_it_is_the_properties_of_its_image_that_are_set() -> None:
    found = options({"hw_vif_model": "virtio", "a": "b"}, "--image-property")
    assert found == "--image-property hw_vif_model=virtio --image-property a=b"
