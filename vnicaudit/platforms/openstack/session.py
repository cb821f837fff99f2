"""A session of keystoneauth that counts what it asks."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

from vnicaudit.platforms.openstack.binding import Session, requests


class CountingSession(Session):
    """A session that counts requests by the service its thread is asking, ``identity``
    elsewhere."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.calls: Counter[str] = Counter()
        self.asking = threading.local()
        self._count = threading.Lock()

    def request(self, url: str, method: str, *args: Any, **kwargs: Any) -> requests.Response:
        """As keystoneauth has it."""
        login_again = url.endswith("/auth/tokens")
        service = "identity" if login_again else getattr(self.asking, "service", "identity")
        with self._count:
            self.calls[service] += 1
        return super().request(url, method, *args, **kwargs)
