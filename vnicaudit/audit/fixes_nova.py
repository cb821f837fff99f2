"""A change in model terms -> what to do in OpenStack, whose definitions are Nova's.

Sources: Nova 34.0.0, ``cmd/manage.py`` (``image_property set`` takes one server that is stopped or
shelved, since 25.0), ``virt/libvirt/vif.py`` (SUPPORTED_VIF_MODELS), ``conf/libvirt.py``.
"""

from __future__ import annotations

import re

from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change
from vnicaudit.model.nova_releases import IMAGE_PROPERTY
from vnicaudit.model.openstack import Image
from vnicaudit.model.server import PROPERTY_OF, ServerConfig
from vnicaudit.text.cloud_names import naming_cloud
from vnicaudit.text.shell import word

_MODELS = frozenset({
    "virtio", "ne2k_pci", "pcnet", "rtl8139", "e1000", "e1000e", "spapr-vlan", "vmxnet3", "igb",
})  # fmt: skip
"""``hw_vif_model`` for KVM."""

_OPTION = ("rx_queue_size", "tx_queue_size")
_RINGS = ("256", "512", "1024")
"""The choices of both options: nova-compute fails on another value."""

_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,63}")
"""What may stand in a command that somebody will copy, where it needs no quotes and is no option:
an id comes from outside."""

_UUID, _IMAGE = re.compile(r"\bUUID\b"), re.compile(r"\bIMAGE\b")
"""What stands for a server and its image in words that know neither."""

_SET_ON_IMAGE = re.compile(r"\bSet (hw_\w+)=(\w+) on the image\b")
"""How rules say what to do to an image, wherever it is defined."""

_REBOOT = "then hard-reboot the server."


def grows(change: Change) -> bool:
    """Whether a change of queues asks for more of them."""
    return change.new is not None and int(change.old or 1) < int(change.new)


def nova_text(change: Change) -> str:
    """What to do about a guest of Nova's that was found in libvirt, or in a file."""
    if (text := _elsewhere(change)) is not None:
        return text
    setting = _setting(change)
    return (
        f"openstack image set --property {setting} IMAGE for new servers; for this one: "
        f"stop it, nova-manage image_property set UUID --property {setting}, start it."
    )


def server_text(change: Change, domain: Domain, hint: str) -> str:
    """The same for a server of which its cloud was read: by commands for it, the rule's own words
    to Nova (``hint``), and why the change is unsafe where it is."""
    text = _elsewhere(change)
    if text is None:
        text = _commands(_setting(change), domain)
    else:
        text = text.replace(_REBOOT, "then openstack server reboot --hard UUID.")
    unsafe = f"Unsafe: {change.reason}." if not change.safe and change.reason else ""
    return " ".join(part for part in (text, hint, unsafe) if part)


def _elsewhere(change: Change) -> str | None:
    """What to do where no image property does it; None where one does."""
    if change.field in _OPTION:
        return _option(change)
    if change.field == "queues" and not grows(change):
        return (
            "The definition is Nova's: lower [libvirt] max_queues in nova.conf of the compute "
            f"node, {_REBOOT}"
        )
    if change.field not in PROPERTY_OF or (change.field == "model" and change.new not in _MODELS):
        return (
            "The definition is Nova's, and it has no setting for this: change the image, flavor "
            f"or nova.conf it comes from, {_REBOOT}"
        )
    return None


def _setting(change: Change) -> str:
    """``property=value``; nova-manage can set a property and not remove one, so off is
    ``false``."""
    name = PROPERTY_OF[change.field]
    if change.field == "model":
        return f"{name}={change.new or ''}"
    on = change.field == "queues" or change.new == "on"
    return f"{name}={'true' if on else 'false'}"


def _option(change: Change) -> str:
    if change.new is None or change.old not in (None, *_RINGS):
        return _not_of_nova(change)
    return (
        f"The definition is Nova's: set [libvirt] {change.field} = {change.new} in nova.conf of "
        f"the compute nodes, {_REBOOT}"
    )


def _not_of_nova(change: Change) -> str:
    """A ring Nova does not write: a size it does not take, or for transmission on a tap."""
    return (
        f"Nova never writes this {change.field}: it was put there behind Nova's back. The next "
        "hard reboot (openstack server reboot --hard) writes the definition anew."
    )


def _commands(setting: str, domain: Domain) -> str:
    kept = domain.declared.server
    image = "" if kept is None else _image(setting, kept)
    nova = None if kept is None else kept.nova
    oldest, newest = (None, None) if nova is None else (nova.oldest, nova.newest)
    if newest is not None and newest < IMAGE_PROPERTY:
        return (
            f"This Nova ({newest}.0 or older) cannot change it for a server that exists: only "
            f"servers made anew get what their image says.{image}"
        )
    surely = oldest is not None and oldest >= IMAGE_PROPERTY
    since = "" if surely else f" (Nova {IMAGE_PROPERTY}.0 or later)"
    return (
        f"openstack server stop UUID; on a controller{since} nova-manage "
        f"image_property set UUID --property {setting}; openstack server start UUID. Or vnicaudit "
        f"plan {word(_cloud(domain))}.{image}"
    )


def _image(setting: str, kept: ServerConfig) -> str:
    """What to do for servers to come; nothing where there is no image, or it is right already."""
    name, _, value = setting.partition("=")
    if kept.image_state in ("gone", "volume"):
        return ""
    if kept.image is not None and kept.image.known(name) == value:
        return ""
    return f" For new servers: openstack image set --property {setting} IMAGE."


def _cloud(domain: Domain) -> str:
    """Its cloud as the user named it."""
    return (domain.cloud and domain.cloud.target) or "openstack:CLOUD"


def naming_server(text: str, domain: Domain) -> str:
    """Words for a server with its id and that of its image in them, as far as they are known."""
    if domain.cloud is not None:
        text = naming_cloud(_named(text, _UUID, domain.cloud.id), domain.cloud.target)
    kept = domain.declared.server
    return text if kept is None or kept.image is None else naming_image(text, kept.image)


def naming_image(text: str, image: Image) -> str:
    """Words for an image with its id in them, where it has one."""
    return _named(text, _IMAGE, image.id)


def image_text(text: str, image: Image, target: str) -> str:
    """Words of a rule for an image of a cloud: what sets a property, as the command that does it to
    this image; where its id is none that may stand in one, as they are."""
    if image.id is None or not _ID.fullmatch(image.id):
        return text
    command = r"openstack image set --property \1=\2 IMAGE"
    return naming_cloud(naming_image(_SET_ON_IMAGE.sub(command, text), image), target)


def _named(text: str, placeholder: re.Pattern[str], name: str | None) -> str:
    return placeholder.sub(name, text) if name is not None and _ID.fullmatch(name) else text
