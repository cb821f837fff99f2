"""The text of a network's CNI configuration as it was meant, where that is known."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from vnicaudit.model.cluster import OVN, Attachment

OLD_TYPES = {"cnv-bridge": "bridge", "cnv-tuning": "tuning"}
"""OpenShift Virtualization's older names of CNI plugins."""


def corrected(network: Attachment) -> Attachment | None:
    """A network with the configuration that was meant; None if that is not known, or cannot be
    written by replacing single words of the text."""
    try:
        data = msgspec.json.decode(network.config)
    except (msgspec.DecodeError, RecursionError):  # also of NaN, which others read
        return None
    if network.fault:
        return None
    text, plugins = network.config, []
    several = data.get("plugins")
    objects = [each for each in ([data] if several is None else several) if isinstance(each, dict)]
    for old, written in zip(network.plugins, objects, strict=True):
        words = {"type": OLD_TYPES.get(old.type or "", old.type)}
        if old.type == OVN and old.settings.get("netAttachDefName"):
            words["netAttachDefName"] = network.path
        for key, new in words.items():
            if written.get(key) not in (None, new):
                text = text.replace(_word(written[key]), _word(new))
                written[key] = new
        settings = {
            key: written[key] if key in words else old.settings[key] for key in old.settings
        }
        plugins.append(replace(old, type=words["type"], settings=settings))
    if text == network.config or msgspec.json.decode(text) != data:
        return None
    return replace(network, config=text, plugins=tuple(plugins))


def _word(value: object) -> str:
    return msgspec.json.encode(value).decode()
