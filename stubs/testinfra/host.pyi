class File:
    content_string: str

class Interface:
    exists: bool
    addresses: list[str]

class Result:
    stdout: str

class Host:
    def file(self, path: str) -> File: ...
    def interface(self, name: str) -> Interface: ...
    def run(self, command: str, *args: str) -> Result: ...
    def sysctl(self, name: str) -> int | str: ...

def get_host(hostspec: str, **kwargs: object) -> Host: ...
