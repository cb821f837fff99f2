from collections.abc import Iterator
from os import PathLike
from types import TracebackType
from typing import BinaryIO

from pyarrow import RecordBatch, Schema, Table

class ParquetWriter:
    def __init__(self, where: BinaryIO, schema: Schema, *, compression: str) -> None: ...
    def __enter__(self) -> ParquetWriter: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def write_batch(self, batch: RecordBatch) -> None: ...

class _RowGroup:
    total_byte_size: int

class _Metadata:
    num_row_groups: int
    def row_group(self, number: int) -> _RowGroup: ...

class ParquetFile:
    metadata: _Metadata
    schema_arrow: Schema
    def __init__(
        self,
        source: BinaryIO,
        *,
        thrift_string_size_limit: int,
        thrift_container_size_limit: int,
    ) -> None: ...
    def iter_batches(self, batch_size: int) -> Iterator[RecordBatch]: ...

def read_table(source: PathLike[str]) -> Table: ...
def write_table(table: Table, where: PathLike[str]) -> None: ...
