"""What identifies a finding across audits."""

from __future__ import annotations

from hashlib import blake2b


def digest(rule: str, owner: str, part: str) -> str:
    """24 hexadecimal digits for a rule, whom it is about (a domain's UUID, a file, a host) and
    which part of it (a MAC address, an xpath, an option). Never a line number."""
    return blake2b(f"{rule}\0{owner}\0{part}".encode(), digest_size=12).hexdigest()
