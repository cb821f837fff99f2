"""Keys and certificates of a test cluster, of an authority of its own."""

from pathlib import Path

from tests.fleet.daemons import openssl

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def make_authority(folder: Path) -> None:
    """Files ``ca.crt`` and ``ca.key``; ``accounts.key`` signs the tokens of service accounts."""
    openssl("req", "-x509", *_KEY, "-keyout", folder / "ca.key", "-out", folder / "ca.crt",
            "-subj", "/CN=test-ca", "-days", "2")  # fmt: skip
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", folder / "accounts.key")


def make_certificate(folder: Path, name: str, *groups: str, server: bool = False) -> None:
    """Files ``NAME.crt`` and ``NAME.key``: for a server on loopback, also in the place of virt-api,
    or for a user who is in these groups."""
    subject = "".join(f"/O={group}" for group in groups) + f"/CN={name}"
    names = "DNS:localhost,IP:127.0.0.1,DNS:virt-api.kubevirt.svc"
    use = f"extendedKeyUsage=serverAuth\nsubjectAltName={names}\n"
    (folder / f"{name}.ext").write_text(use if server else "extendedKeyUsage=clientAuth\n")
    openssl("req", *_KEY, "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.csr",
            "-subj", subject)  # fmt: skip
    openssl("x509", "-req", "-in", folder / f"{name}.csr", "-out", folder / f"{name}.crt",
            "-CA", folder / "ca.crt", "-CAkey", folder / "ca.key", "-CAcreateserial",
            "-days", "2", "-extfile", folder / f"{name}.ext")  # fmt: skip
