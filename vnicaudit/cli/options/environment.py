"""Settings that an operator makes once, for every command: environment variables. Limits may stand
in a settings file too; it cannot name a program, a controller or a folder of code, since it may be
part of the audit."""

from __future__ import annotations

import os
from typing import Annotated, get_type_hints

import msgspec

from vnicaudit.audit.settings.keys import SetOnce, Settings
from vnicaudit.base.wording import operator_words, reason_at
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import converted
from vnicaudit.model.finding import CONFIDENCES


def _text(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


class Environment(SetOnce, frozen=True, kw_only=True):
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
    libvirt_of_host: Annotated[
        str | None,
        _text(
            "Template of the compute nodes' libvirt URIs (qemu+ssh://{host}/system). Servers are "
            "then also verified by their definition, QEMU and guest agent."
        ),
    ] = None
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


def environment(settings: Settings | None = None) -> Environment:
    """The variables of this process; where one is not set, the setting of that name. Raises
    UsageError for an invalid value."""
    given: dict[str, object] = {
        field.encode_name: tuple(value.split(os.pathsep)) if field.default == () else value
        for field in msgspec.structs.fields(Environment)
        if (value := os.environ.get(variable_of(field.name)))
    }
    for key in given:
        if given[key] == "nan":  # which compares as if it were within any limits
            raise UsageError(f"{variable_of(key)}: 'nan' is not a number")
    if settings is not None:
        for field in msgspec.structs.fields(SetOnce):
            given.setdefault(field.encode_name, getattr(settings, field.name))
    try:
        return converted(given, Environment, strict=False)
    except msgspec.ValidationError as error:
        what, key = reason_at(error)
        told = operator_words(what)
        if what.startswith("Invalid enum value"):
            told = f"expected one of {', '.join(CONFIDENCES)}"
        raise UsageError(f"{variable_of(key)}={given[key]!r}: {told}") from None


def variable_of(field: str) -> str:
    """The variable of a field."""
    return f"VNICAUDIT_{field.upper().replace('-', '_')}"


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
