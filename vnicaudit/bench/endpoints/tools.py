"""Whether the programs that are needed are on an endpoint, and what to install where not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vnicaudit.bench.contract import Endpoint, Tool
from vnicaudit.errors import EndpointError

_LOOK = (
    'PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; for tool; do command -v "$tool" >/dev/null 2>&1'
    ' || printf "%s\\n" "$tool"; done'
)
"""A guest's agent and a shell over ssh often have no ``sbin`` on their path. Programs that are run
by a session have."""
_INSTALL = {
    "apk": "apk add",
    "apt": "apt-get install",
    "dnf": "dnf install",
    "pacman": "pacman -S",
    "zypper": "zypper install",
}


def missing(endpoint: Endpoint, tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """Those that are not there, asked at once. Raises EndpointError where it cannot say."""
    if not tools:
        return ()
    ran = endpoint.run(["sh", "-c", _LOOK, "sh", *(tool.program for tool in tools)])
    if ran.code != 0:
        raise EndpointError(f"{endpoint.url}: cannot say which programs are there")
    absent = set(ran.stdout.split())
    return tuple(tool for tool in tools if tool.program in absent)


def require(endpoint: Endpoint, tools: Sequence[Tool]) -> None:
    """Raises EndpointError that says all that is missing there, and what to install."""
    absent = missing(endpoint, tools)
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
