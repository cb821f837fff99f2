"""Releases of Nova (the major number) since which a server can be changed, and stays so."""

from __future__ import annotations

from vnicaudit.model.server import ServerConfig

IMAGE_PROPERTY = 25
"""Yoga: ``nova-manage image_property`` shows and sets what Nova keeps for a server (its release
notes). From then on it keeps what it chose for itself as well (``hw_vif_model`` and others)."""

LASTING = 30
"""Dalmatian: what ``image_property set`` sets survives a resize and a cold migration, since it
changes the request specification too (Launchpad bug 2078999, put right by 2a1fad4145)."""

VIF_MODELS_SINCE = {"igb": 31, "vmxnet3": 22, "e1000e": 19}
"""Models that Nova's libvirt driver has not always had (``SUPPORTED_VIF_MODELS``, and
``is_vif_model_valid_for_virt`` before it, in ``virt/libvirt/vif.py`` of 15.1.5 to 34.0.0). Before
31 Nova did not know the word ``igb`` at all (``network/model.py``)."""
VIF_WORDS_SINCE = {"igb": 31, "lan9118": 16}
"""Words for ``hw_vif_model`` that Nova has not always known (same sources): before, it refuses the
image."""


def lacks_vif_model(model: str, newest: int | None) -> bool:
    """True where the libvirt driver of a Nova, at most as new as ``newest``, surely lacks that
    model; False where the release is not known (None)."""
    return newest is not None and newest < VIF_MODELS_SINCE.get(model, 0)


def may_have_overrides(server: ServerConfig) -> bool:
    """True where Nova may keep other properties for a server than those that are known from its
    image alone: what it chose itself (``_register_undefined_instance_details`` in
    nova/virt/libvirt/driver.py) or what ``nova-manage image_property`` has set; both since 25.0."""
    newest = None if server.nova is None else server.nova.newest
    return server.properties_source == "image" and (newest is None or newest >= IMAGE_PROPERTY)
