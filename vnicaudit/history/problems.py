"""Problems known to the history, by number."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, func, select

from vnicaudit.history.bulk import insert_rows
from vnicaudit.history.known import chunks
from vnicaudit.history.rows import ProblemRow, digest, printable
from vnicaudit.history.tables import problem


class Problems:
    """Numbers of problems; a new problem gets the next number."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._numbers: dict[ProblemRow, int] = {}
        self._last: int = connection.execute(select(func.max(problem.c.id))).scalar() or 0
        self._knows_none = self._last == 0

    def learn(self, problems: Iterable[ProblemRow]) -> dict[ProblemRow, int]:
        """The numbers of all problems requested so far, including these."""
        unknown = {_key(one): one for one in set(problems) if one not in self._numbers}
        if unknown:
            if not self._knows_none:
                self._look_up(unknown)
            self._insert(unknown)
        return self._numbers

    def _look_up(self, unknown: dict[bytes, ProblemRow]) -> None:
        query = select(problem.c.key, problem.c.id)
        for some in chunks(list(unknown)):
            for key, number in self._connection.execute(query.where(problem.c.key.in_(some))):
                self._numbers[unknown.pop(bytes(key))] = number

    def _insert(self, unknown: dict[bytes, ProblemRow]) -> None:
        rows = []
        for key, one in unknown.items():
            self._last += 1
            self._numbers[one] = self._last
            rows.append((self._last, key, *map(_printable, one)))
        insert_rows(self._connection, problem, rows)


def _key(one: ProblemRow) -> bytes:
    return digest(*("" if value is None else f"={value}" for value in one))


def _printable(value: str | int | None) -> str | int | None:
    return printable(value) if isinstance(value, str) else value
