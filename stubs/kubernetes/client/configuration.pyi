class Configuration:
    retries: object
    host: str
    api_key: dict[str, str]
    cert_file: str | None
    def auth_settings(self) -> dict[str, dict[str, str]]: ...
