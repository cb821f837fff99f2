"""A command is run in a pod by way of the API server: its output and exit code."""

from importlib import import_module
from typing import Any

import pytest

from tests.kube.pods import Pods
from tests.kube.server import Server

pytestmark = pytest.mark.kube


def executed(server: Server, pod: str, *command: str) -> tuple[int, str, str]:
    """Exit code, output and errors, as the official client tells them."""
    client: Any = import_module("kubernetes")
    stream: Any = import_module("kubernetes.stream")
    with client.config.new_client_from_config(str(server.admin)) as connected:
        api = client.client.CoreV1Api(connected)
        running = stream.stream(
            api.connect_get_namespaced_pod_exec, pod, "shop", container="compute",
            command=list(command), stdout=True, stderr=True, stdin=False, tty=False,
            _preload_content=False,
        )  # fmt: skip
        running.run_forever(timeout=300)
        running.sock.shutdown()  # close() leaves it open once the other side has ended
        return running.returncode, running.read_stdout(), running.read_stderr()


def test_output_errors_and_exit_code_are_those_of_the_command(cluster: Server, pods: Pods) -> None:
    pods.add("web", "env", "WHERE=web")
    assert executed(cluster, "web", "sh", "-c", "echo $WHERE; echo oh >&2; exit 3") == (
        3, "web\n", "oh\n",
    )  # fmt: skip
    assert executed(cluster, "web", "true") == (0, "", "")
