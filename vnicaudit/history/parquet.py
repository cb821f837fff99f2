"""A whole history as a folder of Parquet files, one for each table, and back; readable by data
warehouses and DuckDB. Times are milliseconds since 1970, as in the tables."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from sqlalchemy import Column, Connection, Float, Integer, LargeBinary, Row, Table, select

from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.errors import MissingExtraError, UsageError
from vnicaudit.history.database import Database, Value
from vnicaudit.history.migrating import NEWEST
from vnicaudit.history.tables import META
from vnicaudit.history.transfer import EXPORT_SCHEMA, Import, check_empty

if TYPE_CHECKING:
    import pyarrow

_AT_ONCE = 50_000
_GROUP_MAX = 1 << 30
"""Maximum bytes of an unpacked row group; ours have about a hundredth of that."""
_THRIFT_MAX = 16 << 20
_SCHEMA, _TABLES = b"vnicaudit.schema", b"vnicaudit.tables"


def check_pyarrow() -> None:
    """Raises MissingExtraError if pyarrow is not installed."""
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise MissingExtraError("Parquet", "parquet") from None
    del pyarrow


def export_parquet(database: Database, folder: Path) -> int:
    """Write the history into a new folder, which appears complete or not at all; returns the number
    of rows. Raises UsageError if the folder exists or cannot be written."""
    check_pyarrow()
    if folder.exists():
        raise UsageError(f"{folder}: already exists; name a new folder with -o")
    with as_usage_error(folder), _new_folder(folder) as part, database.reading() as connection:
        return sum(_export(connection, table, part) for table in META.sorted_tables)


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """A folder readable only by this user, renamed to its final name if all goes well."""
    part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield part
        os.rename(part, folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _export(connection: Connection, table: Table, folder: Path) -> int:
    from pyarrow.parquet import ParquetWriter

    schema, written = _schema(table), 0
    query = select(table).order_by(*table.primary_key.columns)
    found = connection.execution_options(yield_per=_AT_ONCE).execute(query)
    path = folder / f"{table.name}.parquet"
    with open(path, "xb") as out, ParquetWriter(out, schema, compression="zstd") as writer:
        for rows in found.partitions():
            writer.write_batch(_batch(table, schema, rows))
            written += len(rows)
    path.chmod(0o600)
    return written


def _schema(table: Table) -> pyarrow.Schema:
    import pyarrow as pa

    fields = [
        pa.field(str(column.name), _kind(column), nullable=bool(column.nullable))
        for column in table.columns
    ]
    return pa.schema(fields, {_SCHEMA: EXPORT_SCHEMA.encode(), _TABLES: NEWEST.encode()})


def _kind(column: Column[object]) -> pyarrow.DataType:
    import pyarrow as pa

    if isinstance(column.type, LargeBinary):
        return pa.binary()
    if isinstance(column.type, Float):
        return pa.float64()
    return pa.int64() if isinstance(column.type, Integer) else pa.string()


def _batch(
    table: Table, schema: pyarrow.Schema, rows: Sequence[Row[tuple[object, ...]]]
) -> pyarrow.RecordBatch:
    import pyarrow as pa

    columns = zip(table.columns, zip(*rows, strict=True), strict=True)
    arrays = [pa.array(values, _kind(column)) for column, values in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def import_parquet(database: Database, folder: Path) -> int:
    """Fill an empty history from such a folder, completely or not at all; returns the number of
    rows. Raises UsageError, with the file, if it is not a valid export."""
    check_pyarrow()
    with database.writing() as connection:
        check_empty(connection, database)
        return sum(_import(connection, table, folder) for table in META.sorted_tables)


def _import(connection: Connection, table: Table, folder: Path) -> int:
    path = folder / f"{table.name}.parquet"
    with as_usage_error(path):
        stream = open_regular(path, null=False)
    filling = Import(connection, str(path))
    with stream, _as_no_parquet(path):
        for number, row in enumerate(_rows(stream, path), 1):
            filling.add(str(table.name), row, number)
    return filling.finish()


def _rows(stream: BinaryIO, path: Path) -> Iterator[dict[str, Value]]:
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(
        stream, thrift_string_size_limit=_THRIFT_MAX, thrift_container_size_limit=_THRIFT_MAX
    )
    _check(file.schema_arrow.metadata or {}, path)
    groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
    if any(group.total_byte_size > _GROUP_MAX for group in groups):
        raise UsageError(f"{path}: its row groups are larger than those of any export")
    for batch in file.iter_batches(_AT_ONCE):
        names = batch.schema.names
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield dict(zip(names, map(_value, values), strict=True))


def _value(value: object) -> Value:
    """A value for a table. Other types become text, which columns of other types reject."""
    if value is None or isinstance(value, (str, int, float, bytes)):
        return value
    return repr(value)


def _check(told: dict[bytes, bytes], path: Path) -> None:
    if told.get(_SCHEMA) != EXPORT_SCHEMA.encode():
        raise UsageError(f"{path}: not a table of an export of vnicaudit")
    if told.get(_TABLES) != NEWEST.encode():
        raise UsageError(
            f"{path}: exported from tables of another schema, but these have schema {NEWEST}: "
            "export it again with this version of vnicaudit"
        )


@contextmanager
def _as_no_parquet(path: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        text = str(error).splitlines() or [type(error).__name__]
        raise UsageError(f"{path}: not a readable Parquet file: {text[0][:200]}") from None
