"""The files Nova reads together, and in which order: a later one overrides an earlier one.

Source: oslo.config ``find_config_files``, ``find_config_dirs`` and ``_ConfigDirOpt``: nova-compute
reads ``nova.conf`` and ``nova-compute.conf`` of one folder, then ``*.conf`` of ``nova.conf.d`` and
``nova-compute.conf.d`` beside them, each folder sorted by name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.platforms.nova_conf.read import MAX_BYTES, options_of, read_bytes

_FILES = ("nova.conf", "nova-compute.conf")
_FOLDERS = ("nova.conf.d", "nova-compute.conf.d")


def read_with_siblings(data: bytes, *, target: str, file: str) -> NovaConfig:
    """The configuration in ``data``, read from ``file``, with what Nova reads beside that file.

    Raises TargetError for ``data`` alone. A sibling that cannot be read makes every option
    uncertain: what it overrides is not known.
    """
    config = read_bytes(data, target=target, file=file)
    try:
        options = tuple(_together(config, load_order(Path(file))))
    except (OSError, TargetError):
        options = tuple(msgspec.structs.replace(option, certain=False) for option in config.options)
    return NovaConfig(target, file, options)


def _together(config: NovaConfig, order: tuple[Path, ...]) -> Iterator[NovaOption]:
    for path in order:
        if path == Path(config.file):
            yield from config.options
        else:
            yield from options_of(_read(path), str(path))


def load_order(file: Path) -> tuple[Path, ...]:
    """``file`` and the files read with it, in Nova's order; only itself where its name is not one
    of those Nova looks for. Raises OSError when a folder cannot be listed."""
    if file.parent.name in _FOLDERS and file.suffix == ".conf":
        return tuple(_existing(file.parent.parent))
    return tuple(_existing(file.parent)) if file.name in _FILES else (file,)


def _existing(folder: Path) -> Iterator[Path]:
    yield from (folder / name for name in _FILES if (folder / name).is_file())
    for name in _FOLDERS:
        if (folder / name).is_dir():
            yield from sorted(filter(_is_loaded, (folder / name).iterdir()))


def _is_loaded(path: Path) -> bool:
    """As oslo.config's ``glob('*.conf')``: hidden files are left out."""
    return path.suffix == ".conf" and not path.name.startswith(".") and path.is_file()


def _read(path: Path) -> bytes:
    """A regular file, whole. Raises OSError, also for one that is not regular or too large."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            raise OSError(f"not a regular file of at most {MAX_BYTES} bytes")
        return stream.read(MAX_BYTES + 1)
