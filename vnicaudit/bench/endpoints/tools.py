"""Programs needed on an endpoint: those that are missing, and the packages to install."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vnicaudit.bench.contract import Endpoint, RequiredTool
from vnicaudit.errors import EndpointError

_MISSING_SCRIPT = (
    'PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; for tool; do command -v "$tool" >/dev/null 2>&1'
    ' || printf "%s\\n" "$tool"; done'
)
"""A guest's agent and a shell over ssh often have no ``sbin`` in their path. Programs that a
session runs have it."""
_INSTALL = {
    "apk": "apk add",
    "apt": "apt-get install",
    "dnf": "dnf install",
    "pacman": "pacman -S",
    "zypper": "zypper install",
}


def missing_tools(endpoint: Endpoint, tools: Sequence[RequiredTool]) -> tuple[RequiredTool, ...]:
    """Return the missing ones of these tools, all asked for at once. Raises EndpointError if the
    endpoint cannot tell."""
    if not tools:
        return ()
    ran = endpoint.run(["sh", "-c", _MISSING_SCRIPT, "sh", *(tool.program for tool in tools)])
    if ran.code != 0:
        raise EndpointError(f"{endpoint.url}: cannot check which programs are installed there")
    absent = set(ran.stdout.split())
    return tuple(tool for tool in tools if tool.program in absent)


def require_tools(endpoint: Endpoint, tools: Sequence[RequiredTool]) -> None:
    """Raises EndpointError with all missing tools, and the packages to install."""
    absent = missing_tools(endpoint, tools)
    if absent:
        wanted = "; ".join(f"{tool.program}: install {_packages(tool.packages)}" for tool in absent)
        if len(absent) > 1:
            raise EndpointError(f"{endpoint.url} lacks {len(absent)} programs: {wanted}")
        raise EndpointError(f"{endpoint.url} has no {wanted}")


def _packages(packages: Mapping[str, str]) -> str:
    if not packages:
        return "it"
    names = set(packages.values())
    what = f"the package {names.pop()}" if len(names) == 1 else "its package"
    commands = (f"{_INSTALL.get(key, f'{key}:')} {packages[key]}" for key in packages)
    return f"{what} ({', '.join(commands)})"
