"""Configurations of CNI (1.1), run by the real plugins as a container runtime runs them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from tests.rig.errors import Missing, RigError

PLUGINS = Path("/usr/lib/cni")
"""Of Debian's containernetworking-plugins."""
Config = Mapping[str, Any]


class Attachment:
    """A further interface of a pod: what gives it, and takes it away again.

    ``config``: of one plugin, or a list of them. ``node`` and ``pod``: the paths of their network
    namespaces. ``wanted``: what a pod asks for by its annotation (``ips``, ``mac``); only plugins
    with that capability are told, as Multus does.
    """

    def __init__(
        self, config: Config, node: Path, pod: Path, *, interface: str = "net1",
        container: str = "pod", wanted: Config | None = None,
    ) -> None:  # fmt: skip
        self._plugins: Sequence[Config] = config.get("plugins", [config])
        self._common = {key: config[key] for key in ("cniVersion", "name")}
        self._wanted = wanted or {}
        self._entered = ["nsenter", f"--net={node}"]
        self._environment = {
            "CNI_CONTAINERID": container, "CNI_NETNS": str(pod), "CNI_IFNAME": interface,
            "CNI_PATH": str(PLUGINS), "PATH": os.environ["PATH"],
        }  # fmt: skip
        self._result: Config | None = None

    def add(self) -> Any:
        """The result of the last plugin: interfaces, addresses. Raises RigError with the words of
        a plugin, and Missing without it."""
        for plugin in self._plugins:
            self._result = self._run("ADD", plugin)
        return self._result

    def delete(self) -> None:
        """Take it away."""
        for plugin in reversed(self._plugins):
            self._run("DEL", plugin)

    def _run(self, command: Literal["ADD", "DEL"], plugin: Config) -> Any:
        program = PLUGINS / plugin["type"]
        if not program.is_file():
            raise Missing(f"there is no plugin {program} (Debian's containernetworking-plugins)")
        capable = plugin.get("capabilities", {})
        told = {key: value for key, value in self._wanted.items() if capable.get(key)}
        config = {**plugin, **self._common} | ({"runtimeConfig": told} if told else {})
        if self._result is not None:
            config["prevResult"] = self._result
        ran = subprocess.run(
            [*self._entered, program], input=json.dumps(config), text=True, check=False,
            env=self._environment | {"CNI_COMMAND": command}, stdout=subprocess.PIPE,
        )  # fmt: skip
        if ran.returncode:
            said = json.loads(ran.stdout)["msg"] if ran.stdout else f"ended {ran.returncode}"
            raise RigError(f"{program.name}: {said}")
        return json.loads(ran.stdout) if ran.stdout else None
