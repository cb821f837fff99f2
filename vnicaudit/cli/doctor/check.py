"""One check of the doctor."""

from __future__ import annotations

from typing import Literal

import msgspec

Result = Literal["ok", "absent", "problem"]
"""``absent``: it is not here, and nothing here needs it to be judged; ``problem``: an audit would
leave something that is here unjudged."""


class DoctorCheck(msgspec.Struct, frozen=True):
    """``not_judged``: what an audit leaves out because of it; ``remedy``: what to do. Both may be
    empty."""

    name: str
    result: Result
    message: str
    not_judged: str = ""
    remedy: str = ""
