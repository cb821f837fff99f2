"""click's type of a number in a range."""

from __future__ import annotations

from collections.abc import Callable

import click


class Number(click.FloatRange):
    """A number in a range; never ``nan``."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        convert: Callable[..., float] = super().convert
        found = convert(value, param, ctx)
        if found != found:
            self.fail(f"{value!r} is not a number", param, ctx)
        return found
