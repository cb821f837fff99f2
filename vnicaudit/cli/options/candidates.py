"""Words offered by the Tab key: targets, rules, releases. Nothing is connected to, and sources that
cannot be read offer nothing.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem

from vnicaudit.audit.judging.catalogue import catalogue_with
from vnicaudit.base.opening import read_regular
from vnicaudit.base.wording import closest, count
from vnicaudit.cli.options.records import VARIABLE, state_folder
from vnicaudit.errors import VnicauditError
from vnicaudit.reports.safe import safe
from vnicaudit.text.targets import CLOUD, is_uri

_LOCAL = "qemu:///system"
_PROC = "/proc"
_MOST = 100
"""Maximum URIs of one source that are offered."""


def targets(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Files and folders, this hypervisor, URIs of the last audit of a fleet and of earlier runs,
    and the clouds of clouds.yaml."""
    del parameter
    state = _state(context)
    earlier = (*_audited(state, incomplete), *_changed(state, incomplete))
    words = [(_LOCAL, "this hypervisor"), *earlier, *_clouds()]
    if not incomplete:  # after a slash it is listed as one of the folders
        words.insert(0, (_PROC, "every QEMU that runs on this machine"))
    named = _beginning(incomplete, words)
    if named and ":" in incomplete:  # a URI: after its colon, fish would start a file name
        return named
    return [_files(incomplete), *named]


def rules(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Rule ids with their summaries; for ``--select`` after a comma too."""
    del context, parameter

    before, comma, word = incomplete.rpartition(",")
    try:
        catalogue = catalogue_with(())
        found = [one for one in catalogue.ids if one.startswith(word.upper())]
        summaries = {one: catalogue.info(one).summary for one in found}
    except VnicauditError:
        return []
    return [_item(before + comma + one, summary) for one, summary in summaries.items()]


def rule_page(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Rules and groups of rules that ``vnicaudit rules`` can show."""
    groups = catalogue_with(()).groups()
    found = _beginning(
        incomplete, [(name, count(len(ids), "rule")) for name, ids in groups.items()]
    )
    return [*rules(context, parameter, incomplete), *found]


def nova_releases(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names of the known Nova releases, newest first."""
    del context, parameter

    from vnicaudit.knowledge.nova_conf.options import releases

    names = [one.name for one in reversed(releases())]
    return [name for name in names if name.lower().startswith(incomplete.lower())]


def profiles(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """The built-in profiles, and files for the user's own."""
    del context, parameter
    from vnicaudit.bench.profiles.load import shipped_profiles

    shipped = _beginning(incomplete, [(name, "") for name in shipped_profiles()])
    return [_files(incomplete), *shipped]


def measurements(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Stored measurements, and files for others."""
    del parameter

    from vnicaudit.bench.history import measurement_ids

    try:
        found = measurement_ids(Path(_state(context)))
    except (OSError, VnicauditError):
        found = []
    return [_files(incomplete), *_beginning(incomplete, [(name, "") for name in found])]


def _state(context: click.Context) -> str:
    """The state directory; for commands without ``--state`` the one named by the environment
    variable."""
    return state_folder(context.params.get("state") or os.environ.get(VARIABLE))


def _item(word: str, meaning: str) -> CompletionItem[str]:
    return CompletionItem(word, help=meaning)


def _files(incomplete: str) -> CompletionItem[str]:
    """Make the shell complete names of files and folders."""
    return CompletionItem(incomplete, type="file")


def _beginning(incomplete: str, words: Iterable[tuple[str, str]]) -> list[CompletionItem[str]]:
    """Matching words with their meanings, without duplicates. Words that need shell quoting are
    left out, since they may come from an untrusted file."""
    return [
        _item(word, meaning)
        for word, meaning in dict(words).items()
        if word.startswith(incomplete) and word == shlex.quote(word)
    ]


def _audited(state: str, incomplete: str) -> Iterator[tuple[str, str]]:
    """Matching URIs of the hosts of the last audit of a fleet in the state directory. They are read
    from its file, without opening a database."""
    from vnicaudit.fleet.spool import finished_spool

    try:
        audit = finished_spool(Path(state)).audit()
    except (OSError, VnicauditError):
        return
    names = {host.uri: host.name for host in audit.hosts}
    for uri in _some(names, incomplete):
        yield uri, f"{safe(names[uri])}, audited {audit.started[:10]}"


def _changed(state: str, incomplete: str) -> Iterator[tuple[str, str]]:
    """Matching URIs at which a run in the state directory changed something."""
    from vnicaudit.remedy.applying.history import runs

    try:
        named = {target: run.id for run in reversed(runs(state)) for target in run.targets}
    except (OSError, VnicauditError):
        return
    for target in _some(named, incomplete):
        yield target, f"changed by {named[target]}"


def _some(targets: Iterable[str], incomplete: str) -> Iterable[str]:
    """Matching targets without a secret. Of many: the first in alphabetical order, and the last, so
    that what a shell fills in is what all of them have in common."""
    matching = [target for target in targets if target.startswith(incomplete)]
    if len(matching) <= _MOST:
        return filter(_is_shown, matching)
    matching.sort()
    first = islice(filter(_is_shown, matching), _MOST - 1)
    last = islice(filter(_is_shown, reversed(matching)), 1)
    return chain(first, last)


def _is_shown(target: str) -> bool:
    """True for a libvirt URI that contains no secret."""
    from vnicaudit.text.secrets import masked_message

    return is_uri(target) and masked_message(target) == target


def _clouds() -> Iterator[tuple[str, str]]:
    for name, file in cloud_names():
        yield CLOUD + name, f"a cloud of {file}"


# Names of the clouds in clouds.yaml, without loading openstacksdk, which takes half a second.


_MOST_BYTES = 512 << 10
_CLOUDS = "clouds"
_NAMED = "OS_CLIENT_CONFIG_FILE"
_SUFFIXES = ("yaml", "yml", "json")


class CloudsFile(NamedTuple):
    """A clouds.yaml and its clouds. ``reason``: why they could not be read; empty: they were."""

    path: str
    names: tuple[str, ...]
    reason: str = ""


def clouds_file() -> CloudsFile | None:
    """The first readable file, in openstacksdk's search order; None: there is none."""
    for path in _places():
        try:
            data = read_regular(path, _MOST_BYTES)
        except OSError:
            continue
        try:
            return _parsed(data, path)
        except VnicauditError as error:
            return CloudsFile(path, (), str(error))
    return None


def cloud_names() -> Iterator[tuple[str, str]]:
    """Name of each cloud in that file -> path of the file."""
    file = clouds_file()
    if file is not None:
        yield from ((name, file.path) for name in file.names)


def _places() -> Iterator[str]:
    named = os.environ.get(_NAMED)
    if named:
        yield named
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    for folder in (".", Path(home, "openstack"), "/etc/openstack"):
        for suffix in _SUFFIXES:
            yield str(Path(folder, f"{_CLOUDS}.{suffix}"))


def _parsed(data: bytes, path: str) -> CloudsFile:
    """Parse the file. Raises VnicauditError if that fails."""
    from vnicaudit.text.yaml_nodes import YamlDocument, documents

    first = next(documents(data, path), None)
    if first is None:
        return CloudsFile(path, (), f"{path}: it is empty")
    if not isinstance(first, YamlDocument):
        raise first
    clouds = first.top.child(_CLOUDS)
    if clouds is not None:
        return CloudsFile(path, tuple(clouds.names()))
    near = closest(_CLOUDS, first.top.names())
    but = f", but {near}:" if near else ""
    return CloudsFile(path, (), f"{path}: it has no {_CLOUDS}: key{but}")
