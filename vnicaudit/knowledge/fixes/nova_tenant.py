"""Procedure for a user of a cloud who does not operate it.

Sources: Nova 34.0.0, ``compute/api.py`` (``rebuild`` discards the stored properties of the image
and stores those of the new image; ``_initialize_instance_snapshot_metadata``),
``compute/manager.py`` (a server that was stopped is stopped again after a rebuild),
``rest_api_version_history.rst`` (2.93: a rebuild of a server with a volume overwrites that volume);
for the states ``compute/api.py`` again (``check_instance_state``: ``stop`` accepts ACTIVE and
ERROR, ``rebuild`` those and STOPPED; any other state is answered with 409).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from vnicaudit.base.shell import word
from vnicaudit.knowledge.fixes.nova_states import way_on
from vnicaudit.knowledge.fixes.wording import options
from vnicaudit.model.server import CloudServer, ServerConfig
from vnicaudit.text.cloud_names import client

TENANT = (
    "only an operator of the cloud can change what Nova keeps for a server: the route lists what "
    "to ask for, and what you can do yourself"
)

_WITHOUT = (
    "Or without the operator: rebuild it from a snapshot of itself. Its root disk will be that "
    "of the snapshot; an ephemeral or swap disk of its flavor is created empty:"
)
_ROOT_LOST = (
    "A rebuild from its original image would lose all data on its root disk; id, ports and "
    "addresses stay."
)
_VOLUME = (
    "Or without the operator: a new server created from the volume takes the volume's "
    "properties: {openstack} volume set {image_options} VOLUME"
)
_ANEW = (
    "Then delete the server, and create it with --volume VOLUME and --port for each of its "
    "ports. First make sure that these are not deleted with the server: the volume "
    "(delete_on_termination), and ports that Nova created."
)
_OVERWRITTEN = (
    "A rebuild (--reimage-boot-volume, microversion 2.93) would overwrite the volume: all data on "
    "it would be lost."
)
_FIRST = {
    "VERIFY_RESIZE": "Its resize or migration waits for confirmation: {way}",
    "ERROR": "It is in error: {way}",
    "SOFT_DELETED": "It is deleted: {way} brings it back",
}
"""Status -> the sentence around the command, if it needs more than the command."""
_LATER = "It is {status}: Nova can neither stop nor rebuild it; wait until it is ACTIVE"
_OFF = "SHUTOFF"


def tenant_procedure(
    config: ServerConfig, ref: CloudServer, properties: Mapping[str, str]
) -> Iterator[str]:
    """Commands and sentences: the request to the cloud's operator, and steps that need no
    operator."""
    id, wanted = word(ref.id), options(properties)
    openstack = client(ref.target)
    stop = [] if _is_off(config) else [f"{openstack} server stop {id}"]
    yield from _way_to_stoppable(config, ref)
    yield from stop
    yield (
        "Ask the operator of the cloud to run this on a controller, while the server is off: "
        f"nova-manage image_property set {id} {wanted}"
    )
    yield f"{openstack} server start {id}"
    if config.image_state == "volume":
        of_image = options(properties, "--image-property")
        yield _VOLUME.format(openstack=openstack, image_options=of_image)
        yield _ANEW
        yield _OVERWRITTEN
    else:
        yield from _snapshot(ref, wanted, stop)
    yield from _new_servers(config, ref, wanted)


def _is_off(config: ServerConfig) -> bool:
    """True if the server is off, or shelved without an image: unshelving recreates it from its
    volume, with the properties that Nova keeps for it."""
    shelved = config.status.startswith("SHELVED") and config.image_state == "volume"
    return config.status == _OFF or shelved


def _way_to_stoppable(config: ServerConfig, ref: CloudServer) -> Iterator[str]:
    """Sentences on how to bring the server into a state in which Nova can stop it."""
    status = config.status
    if status == "ACTIVE" or _is_off(config):
        return
    if way := way_on(status, ref.id, ref.target):
        yield _FIRST.get(status, "{way}").format(way=way)
    else:
        yield _LATER.format(status=status or "in an unknown state")


def _snapshot(ref: CloudServer, wanted: str, stop: Iterable[str]) -> Iterator[str]:
    id, image = word(ref.id), word(f"{ref.name.lstrip('-')}-vnic")
    openstack = client(ref.target)
    yield _WITHOUT
    yield from stop
    yield f"{openstack} server image create --wait --name {image} {id}"
    yield f"{openstack} image set {wanted} {image}"
    yield f"{openstack} server rebuild --wait --image {image} {id}"
    yield f"{openstack} server start {id}"
    yield _ROOT_LOST


def _new_servers(config: ServerConfig, ref: CloudServer, wanted: str) -> Iterator[str]:
    """Sentence on new servers: users correct their own image; any other is corrected by its
    owner."""
    image = config.image
    if image is None or image.id is None:
        return
    if image.owner == ref.project:
        yield f"For new servers: {client(ref.target)} image set {wanted} {word(image.id)}"
    else:
        yield (
            f"For new servers: ask the owner of the image {image.id} to set {wanted}, or make an "
            "image of your own that has it."
        )
