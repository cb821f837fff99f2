from kubernetes.client.configuration import Configuration
from urllib3 import PoolManager

class RESTClientObject:
    pool_manager: PoolManager
    def __init__(self, configuration: Configuration) -> None: ...

class ApiException(Exception):
    reason: object
