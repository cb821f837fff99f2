"""Recognise a Nova configuration by its content, or else by its name and place; and, by its name, a
copy of one that was made by a package, an editor or an operator, and that no service reads.

oslo.config reads the files that it is given, by default ``nova.conf`` and ``nova-compute.conf``,
and those in a ``nova.conf.d`` that end in ``.conf`` and do not begin with a dot (``_ConfigDirOpt``,
measured with 10.7). Source of the names of copies: rpm's and dpkg's conffile handling
(``.rpmsave``, ``.rpmnew``, ``.rpmorig``; ``.dpkg-old``, ``.dpkg-dist``, ``.dpkg-new``), ucf(1),
patch(1) (``.orig``), Ansible's ``backup: true`` (``nova.conf.4711.2026-11-22@10:00:00~``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from heapq import merge

UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of texts that Nova cannot read."""

_INDENT = 2
"""Maximum number of blanks before an option, or before one that is commented out."""

_OWN = frozenset({
    "compute_driver", "dhcpbridge_flagfile", "osapi_compute_workers", "vif_plugging_is_fatal",
    "vif_plugging_timeout", "force_raw_images", "allow_resize_to_same_host", "instances_path",
    "instance_usage_audit_period", "reserved_host_memory_mb", "reserved_huge_pages",
    "default_schedule_zone", "internal_service_availability_zone", "metadata_workers",
    "resume_guests_state_on_host_boot", "libvirt_use_virtio_for_bridges", "libvirt_vif_driver",
    "osapi_compute_listen", "novncproxy_base_url", "use_neutron", "linuxnet_interface_driver",
    "pci_passthrough_whitelist", "pci_alias",
})  # fmt: skip
"""Options of [DEFAULT] that Nova has, or had, but other services do not (Ceilometer has a
``libvirt_type``)."""

_OWN_LIBVIRT = frozenset({
    "virt_type", "cpu_mode", "cpu_models", "cpu_model", "images_type", "images_rbd_pool",
    "use_virtio_for_bridges", "rx_queue_size", "tx_queue_size", "max_queues", "hw_machine_type",
    "disk_cachemodes", "inject_password", "inject_key", "inject_partition", "num_pcie_ports",
    "live_migration_uri", "live_migration_inbound_addr", "live_migration_tunnelled",
    "live_migration_permit_post_copy", "file_backed_memory", "swtpm_enabled", "rbd_secret_uuid",
    "volume_use_multipath", "snapshot_image_format", "disk_prefix", "vif_driver",
})  # fmt: skip
"""Options of [libvirt] in nova.conf."""

_OWN_PCI = frozenset({"device_spec", "passthrough_whitelist", "report_in_placement"})
"""Options of [pci] in nova.conf."""

SECTIONS = (b"[DEFAULT]", b"[libvirt]", b"[pci]")
"""Quick check: most files of a folder contain none of these."""
_SECTION = re.compile(rb"^[ \t]*\[(?:DEFAULT|libvirt|pci)\][ \t]*\r?$", re.MULTILINE)
_QUOTED_SECTION = re.compile(rb"\[(?:DEFAULT|libvirt|pci)\](?:\\r)?\\n")
_OPTIONS = re.compile(rb"[ \t]*(?:[#;\[]|\{[%{#]|[\w.-]{1,100}[ \t]*[=:]|\r?(?=\n|\Z))")
"""A line of a configuration: an option, a section, a comment, a template tag, or an empty line."""
_LONGEST_QUOTED = 20_000

FILES = ("nova.conf", "nova-compute.conf")
"""Files that Nova reads by default."""
FOLDERS = ("nova.conf.d", "nova-compute.conf.d")
"""Folders whose *.conf files Nova reads."""

_ASIDE = (
    r"(?i)(?:~"
    r"|[._-](?:bak|backup|bkp|orig|old|prev|previous|save|saved|sav|copy|disabled|off|swp|tmp)\d{0,14}"
    r"|\.(?:new|dist|default|sample|example)"
    r"|\.rpm(?:save|new|orig)|\.dpkg-(?:old|dist|new|bak|tmp|backup)|\.ucf-(?:old|dist|new)"
    r"|\.(?:conf|bak|backup|orig|old|save)[._-]\d[\dT:@._-]{0,40})\Z"
)
_DUPLICATE = (
    r"(?i)Copy(?: \(\d{1,3}\))? of |copy_of_"
    r"|.*(?:[ _]\((?:(?:another |\d{1,3}(?:st|nd|rd|th) )?copy(?: \d{1,3})?|\d{1,3})\)"
    r"|[ ]-[ ]copy(?: \(\d{1,3}\))?|[ ]copy(?: \d{1,3})?)(?:\.conf)?\Z"
)
"""Names that desktops give copies: GNOME ``nova (copy).conf`` and ``nova.conf (copy)``, Windows
``nova - Copy.conf``, macOS ``nova copy.conf``, browsers ``nova (1).conf``."""
_NOVAS_FILE = (
    r"(?i)(?:(?<![a-z0-9])nova[^/\s]{0,80}\.conf(?:\.d/[^/]{1,80})?"
    r"|\$\{?nova\w{0,80}conf\w{0,80}\}?)\Z"
)
_TEMPLATE = r"(?i)\.(?:j2|jinja2?|erb|epp|tmpl|tpl|template|in|mako)\Z"


def looks_like(head: bytes) -> bool:
    """True if a file that begins with ``head`` (some kilobytes) is a Nova configuration.

    It must begin with a section header (a script, a YAML file or a manual page that quotes
    nova.conf begins with something else), and contain an option that only Nova has, in its section.
    Commented options count, because the sample configuration consists of them.
    """
    if head.startswith(UTF_16):
        head = head.decode("utf-16", "replace").encode()
    if b"\0" in head:
        return False
    lines = head.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()
    return b"[" in head and _looks_like_ini(lines)


def begins_with_section(text: str) -> bool:
    """True if the first line that is neither empty nor a comment begins a section, though perhaps
    not as it should."""
    return next((line for line in text.splitlines() if not _skippable(line)), "").startswith("[")


def is_read_by_nova(path: str, head: bytes) -> bool:
    """True if Nova reads a file of this name in this place, or what a template of this name is
    rendered to (``nova.conf.erb``, ``_nova.conf.tpl``). A nova.conf may be another program's,
    such as a systemd drop-in or an Apache site, so it has to be in a folder ``nova``, or to have a
    section and not to be in a folder ``*.d``."""
    folder, name = os.path.split(path)
    place = os.path.basename(folder)
    if place in FOLDERS:
        return is_loaded(name)
    rendered = re.sub(_TEMPLATE, "", name).removeprefix("_")
    if rendered not in FILES or place.endswith(".d") or not head.strip():
        return False
    return place == "nova" or re.search(rb"(?m)\A(?:\xef\xbb\xbf)?\[|^\[", head) is not None


def is_novas_file(path: str) -> bool:
    """True for a path, or the key of a string, that names a nova.conf or a part of one
    (``25-nova-extra.conf``, ``nova.conf.d/x``), or a variable that does (``$NOVA_CONF``)."""
    return re.search(_NOVAS_FILE, path) is not None


def is_loaded(name: str) -> bool:
    """True if Nova reads a file of this name in a ``nova.conf.d``."""
    return name.endswith(".conf") and not name.startswith(".")


def _looks_like_ini(lines: list[str]) -> bool:
    section = closing = ""
    for line in lines:
        if not section:
            is_in_tag, closing = bool(closing), _closing_behind(line, closing)
            if is_in_tag or closing:
                continue
        if header := _header(line):
            section = header
        elif not section:
            if not _skippable(line):
                return False
        elif is_own(section, line):
            return True
    return False


def _header(line: str) -> str:
    """The name of the section that a line begins; empty if it begins none."""
    line = line.rstrip()
    name = line[1:-1]
    is_one = line.startswith("[") and line.endswith("]") and "[" not in name and "]" not in name
    return name if is_one else ""


def _closing_behind(line: str, closing: str) -> str:
    """The end of the tag of ERB, or of the comment of Jinja, that is still open behind a line, and
    that was open before it if ``closing`` is not empty."""
    if not closing:
        closing = {"<%": "%>", "{#": "#}"}.get(line.lstrip()[:2], "")
    return "" if closing in line else closing


def _skippable(line: str) -> bool:
    """True for a line that may precede the first section: empty, a comment, a template
    statement."""
    line = line.strip()
    return not line or line.startswith(("#", ";", "{%", "{#", "{{", "<%"))


def is_own(section: str, line: str) -> bool:
    """True if a line of a section names an option that only Nova has there."""
    name = _option_in(line)
    if section == "DEFAULT":
        return name in _OWN
    own = {"libvirt": _OWN_LIBVIRT, "pci": _OWN_PCI}.get(section.lower(), frozenset())
    return name in own


def _option_in(line: str) -> str:
    """The text before the first equals sign or colon, perhaps commented out; empty if there is
    none."""
    before = line.partition("=")[0].partition(":")[0]
    name = before.removeprefix("#")
    is_one = before != line and len(name) - len(name.lstrip()) <= _INDENT
    return name.strip() if is_one else ""


def configurations_in(data: bytes) -> Iterator[int]:
    """Where a text of another kind has configurations with an option that only Nova has, in its
    section; also in a string with ``\\n`` between their lines. In order."""
    return merge(_plain_configurations(data), _quoted_configurations(data))


def _plain_configurations(data: bytes) -> Iterator[int]:
    end = 0 if any(word in data for word in SECTIONS) else len(data)
    for match in _SECTION.finditer(data):
        if match.start() >= end:
            end, is_novas = _lines_of(data, match.start())
            if is_novas:
                yield match.start()


def _lines_of(data: bytes, start: int) -> tuple[int, bool]:
    """The end of the configuration that begins at ``start``, and True if it has an option that only
    Nova has."""
    is_novas, section = False, ""
    while start < len(data) and _OPTIONS.match(data, start) is not None:
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line = data[start:end].strip().decode("utf-8", "replace")
        if line.startswith("["):
            section = line.strip("[]")
        is_novas = is_novas or is_own(section, line)
        start = end + 1
    return start, is_novas


def _quoted_configurations(data: bytes) -> Iterator[int]:
    end = 0
    for match in _QUOTED_SECTION.finditer(data):
        if match.start() < end:
            continue
        end = data.find(b'"', match.end(), match.start() + _LONGEST_QUOTED)
        end = match.start() + _LONGEST_QUOTED if end < 0 else end
        text = re.sub(rb"(?:\\r)?\\n", b"\n", data[match.start() : end])
        if next(_plain_configurations(text), None) is not None:
            yield match.start()


def is_put_aside(path: str) -> bool:
    """True if Nova ignores a file because of its name; False for templates, which are rendered
    under another name."""
    folder, name = os.path.split(path)
    if name in FILES:
        return False
    if re.search(_TEMPLATE, name) is not None:
        return False  # the rendered file has another name
    if name.startswith(".") or re.search(_ASIDE, name) is not None:
        return True
    if os.path.basename(folder) in FOLDERS:
        return not name.endswith(".conf")
    return re.match(_DUPLICATE, name) is not None
