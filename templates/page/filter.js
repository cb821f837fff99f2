// Selects and sorts the rows to show. Each distinct text is compared only once.

/** Sets marks[row] if flags contains the code of the row's field. */
function mark(marks, field, flags) {
  const codes = field.column.codes, via = field.via, size = marks.length;
  if (via && codes) for (let row = 0; row < size; row++) { const at = via[row]; if (at >= 0 && flags[codes[at]]) marks[row] = 1; }
  else if (via) for (let row = 0; row < size; row++) { const at = via[row]; if (at >= 0 && flags[at]) marks[row] = 1; }
  else if (codes) for (let row = 0; row < size; row++) { if (flags[codes[row]]) marks[row] = 1; }
  else for (let row = 0; row < size; row++) { if (flags[row]) marks[row] = 1; }
}

/** Flags of the codes selected by a choice. A severity selects itself and worse ones. */
function flagsOf(field, wanted) {
  const column = field.column, flags = new Uint8Array(column.size);
  const least = field.id === "severity" ? SEVERITIES.indexOf(wanted) : -1;
  for (let code = 0; code < flags.length; code++) {
    const text = column.value(code);
    flags[code] = least >= 0 ? SEVERITIES.indexOf(text) >= least : text === wanted;
  }
  return flags;
}

/** Rows of a table that contain all words of the query and have each chosen value. */
function rowsWith(table, query, chosen) {
  const keep = new Uint8Array(table.size).fill(1);
  const narrow = (marks) => { for (let row = 0; row < keep.length; row++) keep[row] &= marks[row]; };
  for (const [id, wanted] of Object.entries(chosen)) {
    const field = table.field(id), marks = new Uint8Array(table.size);
    if (!field) continue;
    mark(marks, field, flagsOf(field, wanted));
    narrow(marks);
  }
  for (const term of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const marks = new Uint8Array(table.size);
    for (const field of table.searched) {
      const flags = field.column.matches(term);
      if (flags) mark(marks, field, flags);
    }
    narrow(marks);
  }
  return numbersOfSet(keep);
}

function numbersOfSet(keep) {
  const rows = new Uint32Array(keep.length);
  let count = 0;
  for (let row = 0; row < keep.length; row++) if (keep[row]) rows[count++] = row;
  return rows.subarray(0, count);
}

/** The rows sorted by a field; the sort is stable. A counting sort: time is linear in the number of rows. */
function sorted(rows, field, descending) {
  const ranks = field.column.ranks();
  let top = 0;
  for (const rank of ranks) if (rank > top) top = rank;
  const place = (row) => { const code = field.code(row), rank = code < 0 ? 0 : ranks[code] + 1; return descending ? top + 1 - rank : rank; };
  const starts = new Uint32Array(top + 3), places = new Uint32Array(rows.length);
  for (let at = 0; at < rows.length; at++) starts[(places[at] = place(rows[at])) + 1]++;
  for (let rank = 1; rank < starts.length; rank++) starts[rank] += starts[rank - 1];
  const order = new Uint32Array(rows.length);
  for (let at = 0; at < rows.length; at++) order[starts[places[at]]++] = rows[at];
  return order;
}
