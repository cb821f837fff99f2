"""Images, flavors and guests described in files in Git: shell, Ansible, Heat, Terraform.

Nothing is executed and nothing is rendered: a value that depends on a variable or a template is
kept and marked as not certain.

This module recognises files about images, flavors or libvirt guests; the reader for a format is
imported when a file has that format. Most files of a repository are something else, so a search for
words that such a file must contain comes first.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator

from vnicaudit.errors import TargetError
from vnicaudit.model.file_kind import Content, FileKind, Item
from vnicaudit.model.finding import AcceptingComment
from vnicaudit.text.beginning import PROMPT, is_script, like_hcl, like_yaml, quotes_others

_UTF16 = (BOM_UTF16_LE, BOM_UTF16_BE)
_WORDS = (
    b"openstack", b"glance", b"nova", b"os_image", b"OS::", b"libvirt_domain", b'"properties"',
    b'"flavor"', b'"binding_vif_type"', b"\nproperties:", b"Value",
)  # fmt: skip

_VERBS = re.compile(rb"(?:image|flavor)[ \t]{1,9}(?:create|set)\b|image-(?:create|update)\b")
_RESOURCE = re.compile(
    rb'^[ \t]*resource[ \t]+"?(?:openstack_images_image_v2|openstack_compute_flavor_v2)"?[ \t]',
    re.MULTILINE,
)
_GUEST = re.compile(rb'^[ \t]*resource[ \t]+"?libvirt_domain"?[ \t]', re.MULTILINE)
_INTERFACES = re.compile(rb'\binterfaces"?\s*[=:]')
_MODULE = re.compile(
    rb"^[ \t]*(?:-[ \t]+)?(?:(?:openstack\.cloud\.)(?:image|compute_flavor)|os_image"
    rb"|os_nova_flavor):[ \t]*(?:#[^\n]*)?\r?$",
    re.MULTILINE,
)
_TASK = re.compile(
    rb"^[ \t]*(?:-[ \t]+)?(?:ansible\.(?:builtin|legacy)\.)?(?:command|shell|raw):(?:[ \t]|\r?$)",
    re.MULTILINE,
)
_IMAGE_KEYS = (b'"container_format"', b'"disk_format"', b'"properties"', b'"status"')
_FLAVOR_KEYS = (b'"vcpus"', b'"ram"', b'"properties"', b'"rxtx_factor"')
_PORT_KEYS = (b'"binding_vif_type"', b'"mac_address"')
_IMAGE_YAML = (b"container_format: ", b"\ndisk_format: ", b"\nproperties:", b"\nstatus: ")
_FLAVOR_YAML = (b"\nproperties:", b"\nram: ", b"\nrxtx_factor: ", b"\nvcpus: ")
_TABLE = re.compile(rb"(?m)^[ \t]*\|[ \t]*(?:Field|Property)[ \t]*\|[ \t]*Value[ \t]*\|")
_SHOWN = re.compile(rf"\s*(?:{PROMPT}[^\n]*\n\s*)?(?:\+-|\|)".encode())
_ROWS = (b"| container_format ", b"| vcpus ", b"| flavor ", b"| binding_vif_type ")
"""Rows of the tables of an image, a flavor, a server and a port."""
_SERVER = re.compile(
    rb'"flavor"\s*:\s*(?:"[^"\n]{1,300} \([0-9a-f-]{32,36}\)"|\{[^{}]{0,2000}"original_name")'
)


def _is_terraform(head: bytes) -> bool:
    """True for Terraform's HCL with an image, a flavor, or a libvirt guest in the form that can be
    judged."""
    openstack = b"openstack_" in head
    guests = b"libvirt_domain" in head and _INTERFACES.search(head) is not None
    said = (openstack and _RESOURCE.search(head)) or (guests and _GUEST.search(head))
    return bool(said) and like_hcl(head)


def _is_heat(head: bytes) -> bool:
    """True for a Heat template with an image or a flavor in it."""
    if b"OS::Glance::" not in head and b"OS::Nova::Flavor" not in head:
        return False
    return like_yaml(head) and b"heat_template_version" in head


def _is_shell(head: bytes) -> bool:
    """True for a shell script, by its first line or first command, that creates or changes images
    or flavors."""
    return b"\0" not in head and is_script(head) and _has_commands(head)


def _has_commands(head: bytes) -> bool:
    """True if a text may contain a client's command that creates or changes an image or a
    flavor."""
    return (b"openstack" in head or b"glance" in head) and _VERBS.search(head) is not None


def _is_ansible(head: bytes) -> bool:
    """True for YAML with a task that creates an image or a flavor."""
    if not like_yaml(head):
        return False
    commands = _has_commands(head.replace(b",", b" ")) and _TASK.search(head) is not None
    return commands or _MODULE.search(head) is not None


def _is_client_json(head: bytes) -> bool:
    """True for one image, flavor, server or port that OpenStack's client printed as JSON or
    YAML."""
    if head.lstrip()[:1] != b"{":
        return all(key in head for key in _IMAGE_YAML) or all(key in head for key in _FLAVOR_YAML)
    if b'"builders"' in head:
        return False
    known = any(all(word in head for word in words) for words in (_IMAGE_KEYS, _FLAVOR_KEYS))
    known = known or all(word in head for word in _PORT_KEYS)
    return known or (b'"image"' in head and _SERVER.search(head) is not None)


def _is_client_table(head: bytes) -> bool:
    """True for a table of OpenStack's client with an image, a flavor, a server or a port."""
    return any(word in head for word in _ROWS) and _TABLE.search(head) is not None


_FORMATS: dict[str, Callable[[bytes], bool]] = {
    "terraform": _is_terraform,
    "heat": _is_heat,
    "shell": _is_shell,
    "ansible": _is_ansible,
    "client_json": _is_client_json,
    "client_table": _is_client_table,
}


def _formats_of(head: bytes) -> list[str]:
    """The formats of a file, without byte order mark; it may contain documents of several."""
    if quotes_others(head):
        return []
    head = head.lstrip()
    return [name for name, is_one in _FORMATS.items() if is_one(head)]


def looks_like(head: bytes) -> bool:
    """True if a file that begins with ``head`` has one of these formats and mentions an image, a
    flavor or a guest. Such a file in UTF-16 counts as well: :func:`read` refuses it."""
    if head.startswith(_UTF16):
        head = head.decode("utf-16", "replace").encode()
    head = head.removeprefix(BOM_UTF8)
    return any(word in head for word in _WORDS) and bool(_formats_of(head))


def _is_no_page(head: bytes) -> bool:
    """False for documentation that shows a table of OpenStack's client: nothing else is in it, and
    the table does not begin it."""
    return _formats_of(head.removeprefix(BOM_UTF8)) != ["client_table"] or bool(_SHOWN.match(head))


def read(data: bytes, *, target: str, file: str) -> Iterator[Item]:
    """The descriptions and domains in a file, format by format. Raises TargetError if the file is
    broken, after all readable formats."""
    if data.startswith(_UTF16):
        raise TargetError("UTF-16 is not supported; save it as UTF-8", file=file)
    data = data.removeprefix(BOM_UTF8)
    failed: TargetError | None = None
    for name in _formats_of(data):
        try:
            yield from _reader(name)(data, target=target, file=file)
        except TargetError as error:
            failed = failed or error
    if failed is not None:
        raise failed


def _reader(name: str) -> Callable[..., Iterator[Item]]:
    if name == "terraform":
        from vnicaudit.platforms.infra_code import terraform

        return terraform.read
    if name == "shell":
        from vnicaudit.platforms.infra_code import shell

        return shell.read
    from vnicaudit.platforms.infra_code import yaml_formats

    return {
        "heat": yaml_formats.read_heat,
        "ansible": yaml_formats.read_ansible,
        "client_json": yaml_formats.read_client_json,
        "client_table": yaml_formats.read_client_table,
    }[name]


def _read_content(content: Content) -> Iterator[Item]:
    return read(content.data, target=content.target, file=content.path)


def _comments(content: Content) -> tuple[AcceptingComment, ...]:
    """The comments of a file that accept findings; empty if it cannot be read. Those in shell
    scripts are ignored, because they cannot be told apart from texts and input for other
    programs."""
    data = content.data.removeprefix(BOM_UTF8)
    if like_hcl(data):
        if not _is_terraform(data):
            return ()
        from vnicaudit.platforms.infra_code.hcl import hcl_comments as comments
    elif is_script(data) or not like_yaml(data):
        return ()
    else:
        from vnicaudit.text.yaml_nodes import yaml_comments as comments
    return tuple(AcceptingComment(content.path, *one) for one in comments(data, content.path))


INFRA_CODE = FileKind(
    "image or flavor definition",
    "image, flavor or guest of libvirt",
    "code",
    looks_like,
    _read_content,
    comments=_comments,
    among_others=_is_no_page,
    forms="shell, Ansible, Heat, Terraform, openstack's tables, JSON and YAML",
)
