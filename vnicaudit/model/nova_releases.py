"""Releases of Nova (the major number) since which a server can be changed, and stays so."""

from __future__ import annotations

IMAGE_PROPERTY = 25
"""Yoga: ``nova-manage image_property`` shows and sets what Nova keeps for a server (its release
notes). From then on it keeps what it chose for itself as well (``hw_vif_model`` and others)."""

LASTING = 30
"""Dalmatian: what ``image_property set`` sets survives a resize and a cold migration, since it
changes the request specification too (Launchpad bug 2078999, put right by 2a1fad4145)."""
