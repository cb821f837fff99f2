"""The files Nova reads together, and in which order: a later one overrides an earlier one.

Source: oslo.config ``find_config_files``, ``find_config_dirs`` and ``_ConfigDirOpt``: nova-compute
reads ``nova.conf`` and ``nova-compute.conf`` of one folder, then ``*.conf`` of ``nova.conf.d`` and
``nova-compute.conf.d`` beside them, each folder sorted by name. With ``--config-file`` and
``--config-dir`` it reads those, in the order in which they are given.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.errors import TargetError
from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.nova_conf.read import (
    MAX_BYTES,
    Parsed,
    parsed_text,
    read_bytes,
    text_of,
)
from vnicaudit.platforms.nova_conf.resolve import as_of

_FILES = ("nova.conf", "nova-compute.conf")
_FOLDERS = ("nova.conf.d", "nova-compute.conf.d")


def read_with_siblings(data: bytes, *, target: str, file: str) -> NovaConfig:
    """The configuration in ``data``, read from ``file``, with what Nova reads beside that file.

    Raises TargetError for ``data`` alone. A sibling that cannot be read makes every option
    uncertain: what it overrides is not known.
    """
    config = read_bytes(data, target=target, file=file)
    if config.form == "flags":
        return config
    try:
        order = load_order(file)
        if order == (file,):
            return config
        parts = [_parsed(data if path == file else _read(path), path) for path in order]
    except (OSError, TargetError):
        return _uncertain(config)
    return _joined(parts, target, file, order)


def read_together(paths: tuple[str, ...], target: str) -> Iterator[NovaConfig | ReadError]:
    """The files and folders that are given to nova-compute as ``--config-file`` and
    ``--config-dir``, as one configuration: each file once, in the order in which it counts.

    What cannot be read is a ReadError, and leaves all that the others say uncertain.
    """
    found: dict[str, Parsed] = {}
    broken = False
    for path in paths:
        try:
            for file in _loaded(path) if os.path.isdir(path) else (path,):
                found.pop(file, None)  # read twice: what it says counts where it comes last
                found[file] = _parsed(_read(file), file)
        except (OSError, TargetError) as error:
            broken = True
            yield _error(error, path)
    for file in found:
        config = _joined(list(found.values()), target, file, tuple(found))
        yield _uncertain(config) if broken else config


def _joined(parts: list[Parsed], target: str, file: str, files: tuple[str, ...]) -> NovaConfig:
    """Several files as one configuration. A later one that is open may override whatever stands
    before it."""
    options: tuple[NovaOption, ...] = ()
    for part in parts:
        if part.open_ended:
            options = tuple(replace(option, certain=False) for option in options)
        options += part.options
    complete = not any(part.open_ended for part in parts)
    return as_of(NovaConfig(target, file, options, files, complete=complete))


def _parsed(data: bytes, file: str) -> Parsed:
    return parsed_text(text_of(data, file), file)


def load_order(file: str) -> tuple[str, ...]:
    """``file`` and the files read with it, in Nova's order; only itself where its name is not one
    of those Nova looks for. Raises OSError when a folder cannot be listed."""
    folder, name = os.path.split(file)
    if os.path.basename(folder) in _FOLDERS and name.endswith(".conf"):
        return tuple(_existing(os.path.dirname(folder)))
    return tuple(_existing(folder)) if name in _FILES else (file,)


def _existing(folder: str) -> Iterator[str]:
    paths = (os.path.join(folder, name) for name in _FILES)
    yield from (path for path in paths if os.path.isfile(path))
    for name in _FOLDERS:
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            yield from _loaded(path)


def _loaded(folder: str) -> tuple[str, ...]:
    """As oslo.config's ``glob('*.conf')``: sorted, and hidden files are left out."""
    names = sorted(os.listdir(folder))
    paths = (os.path.join(folder, n) for n in names if n.endswith(".conf") and n[0] != ".")
    return tuple(path for path in paths if os.path.isfile(path))


def _uncertain(config: NovaConfig) -> NovaConfig:
    options = tuple(replace(option, certain=False) for option in config.options)
    return replace(config, options=options, complete=False)


def _error(error: OSError | TargetError, path: str) -> ReadError:
    if isinstance(error, TargetError):
        return ReadError(error.message, error.file or path, error.line)
    return ReadError(error.strerror or str(error), path)


def _read(path: str) -> bytes:
    """A regular file, whole. Raises OSError, also for one that is not regular or too large."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            raise OSError(f"not a regular file of at most {MAX_BYTES} bytes")
        return stream.read(MAX_BYTES + 1)
