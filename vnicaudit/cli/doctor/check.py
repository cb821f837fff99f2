"""Result of one check of the doctor."""

from __future__ import annotations

from typing import Literal

import msgspec

Result = Literal["ok", "absent", "problem"]
"""``absent``: not available, and an audit of this machine does not need it. ``problem``: an audit
could not judge something that is present."""


class DoctorCheck(msgspec.Struct, frozen=True):
    """``not_judged``: what an audit leaves out because of it. ``remedy``: what to do about it. Both
    may be empty."""

    name: str
    result: Result
    message: str
    not_judged: str = ""
    remedy: str = ""
