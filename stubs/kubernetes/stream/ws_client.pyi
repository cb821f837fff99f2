# The part that is used here (vnicaudit/platforms/kubevirt/live/launchers.py).
from websocket import WebSocket

class WSClient:
    sock: WebSocket

def websocket_call(
    configuration: object,
    method: str,
    url: str,
    *,
    query_params: list[tuple[str, str]],
    headers: dict[str, str],
    binary: bool,
    _preload_content: bool,
) -> WSClient: ...
