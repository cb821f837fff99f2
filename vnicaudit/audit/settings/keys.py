"""The keys of ``vnicaudit.toml`` (or ``[tool.vnicaudit]`` in pyproject.toml), and the description
of each in the published JSON Schema (docs/generate_schemas.py)."""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

import msgspec

from vnicaudit.model.finding import Confidence
from vnicaudit.model.fleet import CLOUD_SECONDS, DEADLINE
from vnicaudit.model.host import Workload

Level = Literal["info", "low", "medium", "high", "error", "never"]

_A_VERSION = r"^\s*v?[0-9]"
_A_URL = r"^https?://[^\s/]"
_NOT_EMPTY = r"\S"


def _key(description: str, *examples: object, pattern: str | None = None) -> msgspec.Meta:
    """Metadata that an editor shows for a key. ``pattern`` is for editors only: loading the
    settings reports a wrong value in better words."""
    extra: dict[str, object] = {"examples": list(examples)} if examples else {}
    if pattern is not None:
        extra["pattern"] = pattern
    return msgspec.Meta(description=description, extra_json_schema=extra)


RULE = "vnicaudit-rule"
"""The format, in the sense of JSON Schema, of a rule's id or a prefix of ids."""

RULES = "vnicaudit-rules"
"""The format of a word that selects rules: also the name of a rule, or a group."""

Rules = Annotated[str, msgspec.Meta(extra_json_schema={"format": RULES})]
Rule = Annotated[str, msgspec.Meta(extra_json_schema={"format": RULE})]


TomlValue = str | int | float | bool | list[str | int]
"""A value of a rule's setting; each rule declares its own type."""


class SuppressTable(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """An accepted finding: one that matches the rule and every other key that is there."""

    rule: Annotated[Rule, _key("The rule it is about: an id, or the beginning of ids.", "VNIC002")]
    reason: Annotated[
        str, _key("Why it is accepted.", "the vendor supports e1000 only", pattern=_NOT_EMPTY)
    ]
    domain: Annotated[
        str | None,
        _key("Name of the domain or server; `*`, `?` and `[…]` as in a shell.", "pbx-*"),
    ] = None
    image: Annotated[
        str | None,
        _key("Name or id of the image; `*`, `?` and `[…]` as in a shell.", "win2003-*"),
    ] = None
    flavor: Annotated[
        str | None,
        _key("Name or id of the flavor; `*`, `?` and `[…]` as in a shell.", "m1.tiny"),
    ] = None
    host: Annotated[
        str | None,
        _key("Name of the host itself; `*`, `?` and `[…]` as in a shell.", "kvm*"),
    ] = None
    link: Annotated[
        str | None,
        _key("Name of a link of a host; `*`, `?` and `[…]` as in a shell.", "eth0"),
    ] = None
    uuid: Annotated[
        str | None, _key("UUID of the domain.", "4dea24b3-1d52-d8f3-2516-782e98a23fa0")
    ] = None
    mac: Annotated[str | None, _key("MAC address of the NIC.", "52:54:00:1f:0d:01")] = None
    file: Annotated[
        str | None,
        _key(
            "Where the definition stands; `*`, `?` and `[…]` as in a shell. Without a slash, only "
            "the last part of the path is compared.",
            "appliances/*.xml",
        ),
    ] = None
    project: Annotated[
        str | None,
        _key("Id of the project that a server of OpenStack belongs to.", "5f0c6e0d3f5b4c3e8f1a"),
    ] = None
    owner: Annotated[
        str | None, _key("Who answers for it; shown when it expires.", "telephony team")
    ] = None
    until: Annotated[
        datetime.date | None, _key("The last day it holds; without it, for ever.", "2027-01-31")
    ] = None


class PolicyTable(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"
):
    """Queues and rings that `vnicaudit plan` gives to NICs."""

    queues: Annotated[
        Literal["keep", "auto"] | Annotated[int, msgspec.Meta(ge=1)],
        _key(
            "Queue pairs of a NIC: `keep` what is set, `auto` one per vCPU up to `queues-max` (on "
            "s390x 2), or a number. Never more than the guest has vCPUs.",
            "auto",
            4,
        ),
    ] = "keep"
    queues_max: Annotated[
        Annotated[int, msgspec.Meta(ge=1)], _key("The most queue pairs that `auto` gives.", 4)
    ] = 8
    rx_queue_size: Annotated[
        Literal["keep", 256, 512, 1024],
        _key("Descriptors of a receive ring: `keep` what is set, or a number.", 1024),
    ] = "keep"
    tx_queue_size: Annotated[
        Literal["keep", 256, 512, 1024],
        _key(
            "Descriptors of a transmit ring: `keep` what is set, or a number. Above 256 on "
            "vhost-user and vDPA only.",
            1024,
        ),
    ] = "keep"
    vectors_max: Annotated[
        Annotated[int, msgspec.Meta(ge=1)],
        _key("Interrupt vectors of all NICs of a guest that queues may be added up to.", 128),
    ] = 200


def _limit(description: str, least: float, most: float, example: float) -> msgspec.Meta:
    extra: dict[str, object] = {"examples": [example]}
    return msgspec.Meta(ge=least, le=most, description=description, extra_json_schema=extra)


class SetOnce(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"
):
    """Settings without an option: each is a key of the settings file, and a variable of the
    environment (``VNICAUDIT_<FIELD>``), which wins. Its description is that of the manual."""

    confidence: Annotated[
        Confidence | None,
        _key(
            "Lowest confidence of findings that are reported and make the exit code 1: low, medium "
            "or high. Unless set, all are reported, and hints (low) do not fail the run.",
            "low",
        ),
    ] = None
    deadline: Annotated[
        float, _limit("Timeout in seconds of one libvirt or cloud API call.", 0.1, 86_400, 10)
    ] = DEADLINE
    cloud_deadline: Annotated[
        float,
        _limit(
            "Seconds after which reading a cloud ends; what was read is reported.", 0.1, 86_400, 600
        ),
    ] = CLOUD_SECONDS
    jobs: Annotated[int, _limit("Worker processes for files; 0: one per core.", 0, 1000, 4)] = 0
    guest_deadline: Annotated[
        float, _limit("Seconds for a guest to shut down, and again to come back.", 1, 86_400, 600)
    ] = 300.0
    confirm_deadline: Annotated[
        float,
        _limit(
            "Seconds for a new connection to reach a host after a change that may cut the way to "
            "it; then the host sets it back by itself.",
            10,
            3600,
            120,
        ),
    ] = 60.0
    nova_manage_timeout: Annotated[
        float,
        _limit(
            "Timeout of one nova-manage call, which takes about four seconds while the server is "
            "off. If its result is unknown, wait as long again for a late effect.",
            5,
            3600,
            120,
        ),
    ] = 60.0
    nova_manage_jobs: Annotated[
        int,
        _limit(
            "nova-manage calls at a time, even if --batch allows more servers. Each takes 170 MB, "
            "a core and two database connections for some seconds.",
            1,
            64,
            2,
        ),
    ] = 4
    parallel: Annotated[int, _limit("Hosts of an inventory read at once.", 1, 1000, 64)] = 32
    per_site: Annotated[int, _limit("Hosts of one site read at once; 0: no limit.", 0, 1000, 8)] = 0
    host_deadline: Annotated[
        float,
        _limit("Seconds after which reading a host ends; what was read is kept.", 0.1, 86_400, 300),
    ] = 600.0
    retries: Annotated[
        int,
        _limit(
            "Retries of a host after a failure that may be temporary: no connection, no answer, a "
            "broken connection. A refusal is final.",
            0,
            20,
            0,
        ),
    ] = 2


class Settings(SetOnce, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """Settings of vnicaudit. Each key is the option, or the environment variable, of the same name;
    what is given on the command line or in the environment wins."""

    select: Annotated[
        tuple[Rules, ...],
        _key(
            "Rules to run: ids, prefixes of ids, names or groups. Without it, all.",
            ["VNIC00", "VNIC030", "nova"],
        ),
    ] = ()
    ignore: Annotated[
        tuple[Rules, ...], _key("Rules to skip, named as for select.", ["VNIC009", "rings"])
    ] = ()
    level: Annotated[
        Level | None,
        _key(
            "Lowest severity that is reported and makes the exit code 1; `never`: all are "
            "reported, and none does. Without it, all are reported, and `low` and above fail.",
            "medium",
        ),
    ] = None
    strict: Annotated[
        bool,
        _key(
            "Exit 1 also if a part of a file, or a rule that needs no live host, was not judged.",
            True,
        ),
    ] = False
    baseline: Annotated[
        str | None,
        _key(
            "A baseline or report: what it has is not reported. Relative to this file.",
            "known.json",
        ),
    ] = None
    exclude: Annotated[
        tuple[str, ...],
        _key(
            "Files and folders that are not read when they are found in a folder: patterns of "
            "names or, with a slash, of paths relative to this file.",
            ["vendor", "tests/data/*.xml"],
        ),
    ] = ()
    assume_qemu: Annotated[
        str | None, _key("Judge as if the hosts ran this QEMU.", "10.0", pattern=_A_VERSION)
    ] = None
    assume_libvirt: Annotated[
        str | None,
        _key("Judge as if the hosts ran this libvirt version.", "11.3", pattern=_A_VERSION),
    ] = None
    nova_release: Annotated[
        str | None,
        _key("Judge nova.conf as this release of Nova reads it.", "Caracal", "29.0", "2024.1"),
    ] = None
    workload: Annotated[
        Workload | None,
        _key("Use of the network of the visited hosts.", "many-connections"),
    ] = None
    history: Annotated[
        str | None,
        _key(
            "Where audits of a fleet are remembered: a file, or a PostgreSQL database. Without it, "
            "a file in the state folder. A password does not belong here: PGPASSFILE, or a "
            "service, has it.",
            "postgresql://audit@db.example.org/vnicaudit",
        ),
    ] = None
    docs_url: Annotated[
        str | None,
        _key(
            "Where you publish this documentation (a folder with `rules/VNIC001.html` in it): "
            "reports for programs then link the page of each rule. Without it, no links.",
            "https://docs.example.org/vnicaudit",
            pattern=_A_URL,
        ),
    ] = None
    suppress: Annotated[
        tuple[SuppressTable, ...], _key("Findings that somebody accepted, with a reason.")
    ] = ()
    rules: Annotated[
        dict[str, dict[str, TomlValue]],
        _key(
            "What is set for a rule, by its id: `severity`, which all its findings have then, and "
            "what the rule itself can be set by (`vnicaudit rules ID`).",
            {"VNIC001": {"severity": "medium"}},
        ),
    ] = {}
    policy: Annotated[
        PolicyTable,
        _key("Queues and rings that `vnicaudit plan` gives to NICs.", {"queues": "auto"}),
    ] = PolicyTable()
    treat_as_gitops: Annotated[
        tuple[str, ...],
        _key(
            "Labels and annotations of objects of a cluster that a repository keeps: they are "
            "planned as patches for it, and never changed in the cluster.",
            ["app.kubernetes.io/instance"],
        ),
    ] = ()
    treat_as_owned: Annotated[
        tuple[str, ...],
        _key(
            "Marks of owners, as a plan names them, that do not count: objects of a cluster with "
            "them are changed there.",
            ["argocd.argoproj.io/instance"],
        ),
    ] = ()
