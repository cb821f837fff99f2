"""Settings that an operator makes once, for every command: environment variables. A settings file
cannot name a program, a controller or a folder of code, since it may be part of the audit."""

from __future__ import annotations

import os
from typing import Annotated, get_type_hints

import msgspec

from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import converted, operator_words
from vnicaudit.model.fleet import CLOUD_SECONDS


def _number(text: str, least: float, most: float) -> msgspec.Meta:
    return msgspec.Meta(ge=least, le=most, description=text)


def _text(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """One field for each variable ``VNICAUDIT_<FIELD>``; its description is that of the manual."""

    rules_dir: Annotated[
        tuple[str, ...],
        _text(
            "Folders of rules that run as well, separated by colons. Rules are code that runs with "
            "your privileges: never use a folder that others can write to."
        ),
    ] = ()
    trust_settings: Annotated[
        tuple[str, ...],
        _text(
            "Folders, separated by colons, in or below which settings files are accepted even if "
            "others can write to them."
        ),
    ] = ()
    deadline: Annotated[
        Annotated[float, msgspec.Meta(ge=0.1, le=86_400)] | None,
        _text("Timeout in seconds of one libvirt or cloud API call, 30 unless set."),
    ] = None
    cloud_deadline: Annotated[
        float,
        _number(
            "Seconds after which reading a cloud ends; what was read is reported.", 0.1, 86_400
        ),
    ] = CLOUD_SECONDS
    jobs: Annotated[int, _number("Worker processes for files; 0: one per core.", 0, 1000)] = 0
    guest_deadline: Annotated[
        float,
        _number("Seconds for a guest to shut down, and again to come back.", 1, 86_400),
    ] = 300.0
    nova_manage: Annotated[
        str | None,
        _text(
            "Endpoint of the cloud controller that runs nova-manage: local, ssh://controller, "
            "docker://nova_api, podman://nova_api, kubectl://POD."
        ),
    ] = None
    nova_manage_command: Annotated[
        str,
        _text(
            "Command that runs nova-manage there, such as 'sudo docker exec nova_api nova-manage'. "
            "It is run without a shell."
        ),
    ] = "nova-manage"
    nova_manage_timeout: Annotated[
        float,
        _number(
            "Timeout of one nova-manage call, which takes about four seconds while the server is "
            "off. If its result is unknown, wait as long again for a late effect.",
            5,
            3600,
        ),
    ] = 60.0
    nova_manage_jobs: Annotated[
        int,
        _number(
            "nova-manage calls at a time, even if --batch allows more servers. Each takes 170 MB, "
            "a core and two database connections for some seconds.",
            1,
            64,
        ),
    ] = 4
    libvirt_of_host: Annotated[
        str | None,
        _text(
            "Template of the compute nodes' libvirt URIs (qemu+ssh://{host}/system). Servers are "
            "then also verified by their definition, QEMU and guest agent."
        ),
    ] = None
    parallel: Annotated[int, _number("Hosts of an inventory read at once.", 1, 1000)] = 32
    per_site: Annotated[int, _number("Hosts of one site read at once; 0: no limit.", 0, 1000)] = 0
    host_deadline: Annotated[
        float,
        _number("Seconds after which reading a host ends; what was read is kept.", 0.1, 86_400),
    ] = 600.0
    retries: Annotated[
        int,
        _number(
            "Retries of a host after a failure that may be temporary: no connection, no answer, a "
            "broken connection. A refusal is final.",
            0,
            20,
        ),
    ] = 2
    scheduler: Annotated[
        str | None,
        _text(
            "Scheduler of a Dask cluster (tls://dask.example.org:8786) whose workers read the "
            "hosts of an inventory. The site of a host is a resource that its worker must have."
        ),
    ] = None
    scheduler_ca: Annotated[
        str | None, _text("CA certificate that the scheduler must be signed by (PEM).")
    ] = None
    scheduler_cert: Annotated[str | None, _text("Client certificate for the scheduler (PEM).")] = (
        None
    )
    scheduler_key: Annotated[str | None, _text("Private key of the client certificate (PEM).")] = (
        None
    )


def environment() -> Environment:
    """The variables of this process. Raises UsageError for an invalid value."""
    given: dict[str, object] = {
        field.name: tuple(value.split(os.pathsep)) if field.default == () else value
        for field in msgspec.structs.fields(Environment)
        if (value := os.environ.get(variable_of(field.name)))
    }
    for field in given:
        if given[field] == "nan":  # which compares as if it were within any limits
            raise UsageError(f"{variable_of(field)}: 'nan' is not a number")
    try:
        return converted(given, Environment, strict=False)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$.")
        field = path.rstrip("`")
        raise UsageError(f"{variable_of(field)}={given[field]!r}: {operator_words(what)}") from None


def variable_of(field: str) -> str:
    """The variable of a field."""
    return f"VNICAUDIT_{field.upper()}"


def described() -> dict[str, str]:
    """The description of each variable, with its default, for the manual."""
    hints = get_type_hints(Environment, include_extras=True)
    found = {}
    for field in msgspec.structs.fields(Environment):
        text = hints[field.name].__metadata__[0].description
        is_set = field.default not in (None, "", 0, ())
        number = isinstance(field.default, float)
        default = f"{field.default:g}" if number else field.default
        found[variable_of(field.name)] = f"{text} Default: {default}." if is_set else text
    return found
