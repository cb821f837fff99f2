from collections.abc import Callable

from urllib3.response import BaseHTTPResponse

class ApiException(Exception):
    status: int
    reason: object
    body: str | bytes | None
    headers: dict[str, str] | None

class Configuration:
    host: str
    safe_chars_for_path_param: str
    retries: object
    api_key: dict[str, str]
    cert_file: str | None

class ApiClient:
    configuration: Configuration
    def __init__(self, configuration: Configuration) -> None: ...
    def set_default_header(self, header_name: str, header_value: str) -> None: ...

class _Api:
    def __init__(self, api_client: ApiClient) -> None: ...

class ApisApi(_Api):
    get_api_versions: Callable[..., BaseHTTPResponse]

class VersionApi(_Api):
    get_code: Callable[..., BaseHTTPResponse]

class AuthorizationV1Api(_Api):
    create_self_subject_access_review: Callable[..., BaseHTTPResponse]

class CoreV1Api(_Api):
    list_node: Callable[..., BaseHTTPResponse]

class CustomObjectsApi(_Api):
    get_cluster_custom_object: Callable[..., BaseHTTPResponse]
    get_namespaced_custom_object: Callable[..., BaseHTTPResponse]
    list_cluster_custom_object: Callable[..., BaseHTTPResponse]
    list_namespaced_custom_object: Callable[..., BaseHTTPResponse]
    patch_cluster_custom_object: Callable[..., BaseHTTPResponse]
    patch_namespaced_custom_object: Callable[..., BaseHTTPResponse]
    replace_namespaced_custom_object: Callable[..., BaseHTTPResponse]

class V1ResourceAttributes:
    def __init__(self, *, group: str, resource: str, verb: str, namespace: str) -> None: ...

class V1SelfSubjectAccessReviewSpec:
    def __init__(self, *, resource_attributes: V1ResourceAttributes) -> None: ...

class V1SelfSubjectAccessReview:
    def __init__(self, *, spec: V1SelfSubjectAccessReviewSpec) -> None: ...
