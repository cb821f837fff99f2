"""The files that Nova reads together, in order: a later one overrides an earlier one.

Source: oslo.config ``find_config_files``, ``find_config_dirs`` and ``_ConfigDirOpt``: nova-compute
reads ``nova.conf`` and ``nova-compute.conf`` of one folder, then ``*.conf`` of ``nova.conf.d`` and
``nova-compute.conf.d`` beside them, each folder sorted by name. With ``--config-file`` and
``--config-dir`` it reads those instead, in the given order.

Kolla Ansible merges overrides from a folder into the nova.conf of nova-compute.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from vnicaudit.base.opening import read_regular
from vnicaudit.errors import TargetError
from vnicaudit.knowledge.nova_conf.homes import KOLLA
from vnicaudit.knowledge.nova_conf.options import knowledge
from vnicaudit.knowledge.nova_conf.resolve import as_of
from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.nova_conf.read import (
    MAX_BYTES,
    Parsed,
    is_service_file,
    parsed_bytes,
    read_bytes,
)
from vnicaudit.platforms.nova_conf.recognise import FILES, FOLDERS, is_loaded

_MOST_BYTES = 8 * MAX_BYTES
"""Maximum size of all files that are read together."""


def read_with_siblings(
    data: bytes, *, target: str, file: str
) -> tuple[NovaConfig, ReadError | None]:
    """The configuration in ``data``, read from ``file``, with the files that Nova reads beside it,
    and why the first of these cannot be read: it may override any option, so all are uncertain.

    Raises TargetError only for ``data``.
    """
    config = read_bytes(data, target=target, file=file)
    together: _Together | ReadError
    try:
        order = load_order(file)
        if order == (file,):
            compute = config.compute and not _is_beside(file, order)
            return replace(config, compute=compute, home=_home(file)), None
        together = _read_folder(tuple(_stamp(path) for path in order))
    except OSError as error:
        together = _error(error, file)
    if isinstance(together, ReadError):
        uncertain = _uncertain_options(config.options)
        return replace(config, options=uncertain, complete=False), together
    own = parsed_bytes(data, file)
    if together.parts.get(file) != own:
        together = _as_one({**together.parts, file: own})
    if merge_order(file):
        together = replace(together, options=without_replaced(together.options))
    return _config_together(together, target, file), None


def _file_content(path: str) -> bytes:
    """A whole regular file. Raises OSError, also if it is not regular or too large."""
    data = read_regular(path, MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OSError(f"larger than {MAX_BYTES} bytes")
    return data


def read_together(
    paths: tuple[str, ...], target: str, content: Callable[[str], bytes] = _file_content
) -> Iterator[NovaConfig | ReadError]:
    """The files and folders that nova-compute is given as ``--config-file`` and ``--config-dir``,
    as one configuration: each file once, in the order in which it counts. ``content``: reads a
    file, where they are in a copy of a host.

    A file that cannot be read is a ReadError, and makes the options of all others uncertain.
    """
    found: dict[str, Parsed] = {}
    broken = False
    for path in paths:
        try:
            for file in _loaded(path) if os.path.isdir(path) else (path,):
                found.pop(file, None)  # read twice: its last position counts
                found[file] = parsed_bytes(content(file), file)
        except (OSError, TargetError) as error:
            broken = True
            yield _error(error, path)
    together = _as_one(found)
    if broken:
        together = replace(together, options=_uncertain_options(together.options), complete=False)
    for file in found:
        yield _config_together(together, target, file)


class _Together(msgspec.Struct, frozen=True):
    """Files that Nova reads together, in its order, and their options."""

    parts: dict[str, Parsed]
    options: tuple[NovaOption, ...]
    complete: bool


_Stamp = tuple[str, tuple[int, ...]]
"""A file, and the attributes that change when it is written or replaced; none if there is no file
of that name (yet)."""


def _stamp(path: str) -> _Stamp:
    try:
        s = os.stat(path)
    except FileNotFoundError:
        return path, ()
    return path, (s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino, s.st_dev)


@lru_cache(maxsize=2)
def _read_folder(stamps: tuple[_Stamp, ...]) -> _Together | ReadError:
    """The files as they are on disk, read once for all judged files among them; an error if one
    cannot be read."""
    if sum(state[0] for _path, state in stamps if state) > _MOST_BYTES:
        last = stamps[-1][0]
        return ReadError(f"larger than {_MOST_BYTES >> 20} MiB with the files beside it", last)
    parts = {}
    for path, state in stamps:
        try:
            parts[path] = parsed_bytes(_file_content(path), path) if state else Parsed(())
        except (OSError, TargetError) as error:
            return _error(error, path)
    return _as_one(parts)


def _as_one(parts: dict[str, Parsed]) -> _Together:
    """Several files as one configuration. One with unknown options may override anything before
    it."""
    opens = [number for number, part in enumerate(parts.values()) if part.open_ended]
    options: list[NovaOption] = []
    for number, part in enumerate(parts.values()):
        overridden = bool(opens) and number < opens[-1]
        options += _uncertain_options(part.options) if overridden else part.options
    return _Together(parts, tuple(options), complete=not opens)


def _config_together(together: _Together, target: str, file: str) -> NovaConfig:
    """The configuration that several files form together, for judging one of them."""
    files = host_files(file, tuple(together.parts))
    compute = any(part.compute for part in together.parts.values()) and is_service_file(file)
    config = NovaConfig(
        target,
        file,
        together.options,
        files,
        complete=together.complete,
        compute=compute and not _is_beside(file, files),
        rest_checksum=together.parts[file].rest_checksum,
        comments=together.parts[file].comments,
        home=_home(file),
    )
    return as_of(config)


def _home(file: str) -> str:
    return KOLLA if merge_order(file) else ""


def _is_beside(file: str, files: tuple[str, ...]) -> bool:
    """True if a file lies beside a nova.conf that is read without it: another service's file, or a
    backup copy."""
    beside = os.path.join(os.path.dirname(file), "nova.conf")
    return beside not in files and os.path.exists(beside)


def load_order(file: str) -> tuple[str, ...]:
    """``file`` and the files read with it, in Nova's order; only itself if its name is not one that
    Nova reads. It need not exist. Raises OSError if a folder cannot be listed."""
    if order := merge_order(file):
        return tuple(path for path in order if path == file or os.path.isfile(path))
    folder, name = os.path.split(file)
    top, inner = os.path.split(folder)
    if inner in FOLDERS and is_loaded(name):
        here = os.path.join(top, inner, name)
    elif name in FILES:
        top, here = folder, os.path.join(folder, name)
    else:
        return (file,)
    # a path may be spelled differently from its joined parts: a//nova.conf
    return tuple(file if path == here else path for path in _existing(top, here))


def _existing(folder: str, here: str) -> Iterator[str]:
    paths = (os.path.join(folder, name) for name in FILES)
    yield from (path for path in paths if path == here or os.path.isfile(path))
    for name in FOLDERS:
        path = os.path.join(folder, name)
        found = set(_loaded(path)) if os.path.isdir(path) else set()
        yield from sorted({*found, here} if os.path.dirname(here) == path else found)


def _loaded(folder: str) -> tuple[str, ...]:
    """Like oslo.config's ``glob('*.conf')``: sorted, without hidden files."""
    names = sorted(name for name in os.listdir(folder) if is_loaded(name))
    paths = (os.path.join(folder, name) for name in names)
    return tuple(path for path in paths if os.path.isfile(path))


def _uncertain_options(options: Iterable[NovaOption]) -> tuple[NovaOption, ...]:
    return tuple(replace(option, certain=False) for option in options)


def _error(error: OSError | TargetError, path: str) -> ReadError:
    if isinstance(error, TargetError):
        return ReadError(error.message, error.file or path, error.line)
    return ReadError(error.strerror or str(error), path)


# Overrides of Kolla Ansible: the files that it merges into the nova.conf of nova-compute.
#
# Source: kolla-ansible (22.2), ``roles/nova-cell/tasks/config.yml``, ``group_vars/all/common.yml``
# (``node_custom_config`` is the folder ``config`` beside ``globals.yml``) and
# ``action_plugins/merge_configs.py``: what a later file sets replaces all values of an earlier one.
# Below them lies the role's own template. Kayobe (``ansible/kolla-openstack.yml``, 20.0) first puts
# together the files of the same name in ``$KAYOBE_CONFIG_PATH/kolla/config`` and in
# ``environments/NAME/kolla/config``.


_SERVICE = "nova-compute.conf"
_SHARED = ("global.conf", "nova.conf", f"nova/{_SERVICE}")
_OF_HOST = ("nova.conf", _SERVICE)


def merge_order(file: str) -> tuple[str, ...]:
    """The files that are merged for nova-compute if ``file`` is one of them, in order, whether they
    exist or not: for a host's file those that it overrides, too. Empty for any other file."""
    root, relative = _place(file)
    names = _names(relative) if root else ()
    path = os.path.abspath(file)
    found = (f"{folder}/{name}" for name in names for folder in (*_base_of(root), root))
    before = path.removesuffix(file) if path.endswith(file) else ""  # spelled like ``file``
    return tuple(file if one == path else one.removeprefix(before) for one in found)


def is_others(file: str) -> bool:
    """True for a file among the overrides that is merged into the configuration of another
    service: ``neutron/ml2_conf.ini``."""
    root, relative = _place(file)
    return bool(root) and relative not in _SHARED and "nova" not in relative.lower()


def depends(file: str) -> bool:
    """True if overrides of other environments of Kayobe are merged below those of ``file``. Source:
    Kayobe 720683bc (August 2026), kayobe/utils.py, ``EnvironmentFinder``."""
    root = _place(file)[0]
    path = os.path.join(root.removesuffix("kolla/config"), ".kayobe-environment")
    return bool(_base_of(root)) and os.path.isfile(path)


def host_files(file: str, files: tuple[str, ...]) -> tuple[str, ...]:
    """Those of ``files`` that belong to the host whose file this is; all, if it is no host's."""
    order = merge_order(file)
    if not order or os.path.basename(os.path.dirname(os.path.abspath(order[-1]))) == "nova":
        return files
    folder = os.path.dirname(os.path.abspath(file))
    return tuple(one for one in files if os.path.dirname(os.path.abspath(one)) == folder)


def without_replaced(options: tuple[NovaOption, ...]) -> tuple[NovaOption, ...]:
    """Without the values of options that collect several, where a later file sets the option."""
    known = knowledge().options
    last = {(option.section, option.name): option.file for option in options}

    def is_replaced(option: NovaOption) -> bool:
        found = known.get((option.section, option.name))
        is_multi = found is not None and found.form is not None and found.form.multi
        return is_multi and last[option.section, option.name] != option.file

    return tuple(option for option in options if not is_replaced(option))


def _place(file: str) -> tuple[str, str]:
    """The folder of overrides that a file is in, empty if it is in none, and its path there."""
    path = os.path.abspath(file)
    roots = ("/".join(path.split("/")[:-depth]) for depth in (1, 2, 3))
    root = next(filter(_is_root, roots), "")
    return root, path[len(root) + 1 :]


def _names(relative: str) -> tuple[str, ...]:
    if relative in _SHARED:
        return _SHARED
    parts = relative.split("/")
    if len(parts) != 3 or parts[0] != "nova" or parts[2] not in _OF_HOST:
        return ()
    return (*_SHARED, *(f"nova/{parts[1]}/{name}" for name in _OF_HOST))


def _is_root(folder: str) -> bool:
    above, name = os.path.split(folder)
    if name != "config":
        return False
    return os.path.basename(above) == "kolla" or os.path.isfile(f"{above}/globals.yml")


def _base_of(root: str) -> tuple[str, ...]:
    """Kayobe's folder below the one of an environment."""
    parts = root.split("/")
    is_environment = len(parts) > 4 and parts[-4] == "environments" and parts[-2] == "kolla"
    return ("/".join((*parts[:-4], "kolla", "config")),) if is_environment else ()
