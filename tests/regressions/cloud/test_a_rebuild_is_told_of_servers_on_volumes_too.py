"""VNIC064's page said that a server which is booted from a volume cannot get another model by a
rebuild. Nova makes what it keeps for it anew as well (``_reset_image_metadata``), and since
microversion 2.93 of any image.
"""

from inspect import getdoc

from vnicaudit.audit.judging.catalogue import shipped_catalogue


def test_the_page_says_what_a_rebuild_does_to_a_volume() -> None:
    said = " ".join((getdoc(shipped_catalogue().module("VNIC064")) or "").split())
    assert "cannot get another model by a rebuild" not in said
    assert "A rebuild copies the properties again for such a server, too" in said
    assert "2.93" in said
