"""Overrides of Kolla Ansible: the files that it merges into the nova.conf of nova-compute.

Source: kolla-ansible (22.2), ``roles/nova-cell/tasks/config.yml``, ``group_vars/all/common.yml``
(``node_custom_config`` is the folder ``config`` beside ``globals.yml``) and
``action_plugins/merge_configs.py``: what a later file sets replaces all values of an earlier one.
Below them lies the role's own template. Kayobe (``ansible/kolla-openstack.yml``, 20.0) first puts
together the files of the same name in ``$KAYOBE_CONFIG_PATH/kolla/config`` and in
``environments/NAME/kolla/config``.
"""

from __future__ import annotations

import os

from vnicaudit.knowledge.nova_conf.options import knowledge
from vnicaudit.model.nova import NovaOption

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
