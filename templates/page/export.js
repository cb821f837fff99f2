// Exports the rows shown, for a spreadsheet or for paper.

const PRINTED = 500;

/** A cell that a spreadsheet shows as text and does not calculate. */
function csvCell(text) {
  const shown = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${shown.replace(/"/g, '""')}"`;
}

/** All fields of these rows as CSV. The byte order mark tells Excel that it is UTF-8. */
function csvOf(table, rows) {
  const fields = [...table.fields.values()];
  const lines = [fields.map((field) => csvCell(field.label)).join(",")];
  for (const row of rows) lines.push(fields.map((field) => csvCell(field.plain(row))).join(","));
  return `\ufeff${lines.join("\r\n")}\r\n`;
}

function saveCsv(table, rows, name) {
  const address = URL.createObjectURL(new Blob([csvOf(table, rows)], { type: "text/csv;charset=utf-8" }));
  element("a", { href: address, download: `vnicaudit-${name}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** The rows as a plain table for printing; only the first ones if there are many. */
function fillPrint(place, grid, caption) {
  const fields = grid.columns.map((column) => grid.table.field(column.id));
  const more = grid.rows.length > PRINTED ? `; the first ${PRINTED} of ${grid.rows.length.toLocaleString("en")}: Save as CSV has all of them` : "";
  const head = element("tr", {}, ...fields.map((field) => element("th", { scope: "col" }, field.label)));
  const rows = Array.from(grid.rows.subarray(0, PRINTED), (row) =>
    element("tr", {}, ...fields.map((field) => element("td", {}, field.text(row)))));
  place.replaceChildren(element("caption", {}, caption + more), element("thead", {}, head), element("tbody", {}, ...rows));
}
