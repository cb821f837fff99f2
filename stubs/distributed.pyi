# The part of Dask's distributed that is used here (vnicaudit/fleet/running/engines). Its own types
# leave most of it untyped.
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError as CancelledError
from typing import Generic, Literal, TypeVar

T = TypeVar("T")

TimeoutError = OSError

class Security:
    def __init__(
        self,
        *,
        require_encryption: bool | None = None,
        tls_ca_file: str | None = None,
        tls_client_cert: str | None = None,
        tls_client_key: str | None = None,
    ) -> None: ...

class Future(Generic[T]):
    def exception(self, timeout: float | None = None) -> BaseException | None: ...
    def result(self, timeout: float | None = None) -> T: ...
    def cancel(self) -> None: ...
    def release(self) -> None: ...

class _Rpc:
    def identity(self) -> Awaitable[dict[str, object]]: ...

class Client:
    status: str
    scheduler: _Rpc
    def __init__(
        self,
        address: str,
        *,
        timeout: float,
        security: Security | None = None,
        set_as_default: bool = True,
        name: str | None = None,
        direct_to_workers: bool | None = None,
    ) -> None: ...
    def submit(
        self,
        function: Callable[[bytes], T],
        argument: bytes,
        /,
        *,
        key: str | None = None,
        resources: dict[str, float] | None = None,
        pure: bool = True,
    ) -> Future[T]: ...
    def run(
        self, function: Callable[[], T], *, on_error: Literal["return"]
    ) -> dict[str, T | BaseException]: ...
    def sync(
        self, function: Callable[[], Awaitable[T]], *, callback_timeout: float | None = None
    ) -> T: ...
    def close(self, timeout: float = 10) -> None: ...
