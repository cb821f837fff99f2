// Columns of the page's tables, written by vnicaudit/reports/page/tables.py.
// Each has size (number of codes), codes (code of each row; null: the row number is the code),
// value(code), matches(term) (flags by code, or null if none matches) and ranks() (order of codes).

/** The text that base64 of gzip data stands for. @param {string} text @returns {Promise<string>} */
async function unpacked(text) {
  const binary = atob(text.replace(/\s+/g, ""));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

/** The rank of each key; equal keys have the same rank. */
function rankOf(keys) {
  const order = Uint32Array.from(keys, (_, at) => at);
  order.sort(typeof keys[0] === "number"
    ? (a, b) => keys[a] - keys[b]
    : (a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : 0));
  const ranks = new Uint32Array(keys.length);
  let rank = 0;
  order.forEach((at, place) => {
    if (place && keys[at] !== keys[order[place - 1]]) rank++;
    ranks[at] = rank;
  });
  return ranks;
}

/** Sort key that puts "vm-10" after "vm-9": numbers in names are compared by value. */
const naturalKey = (text) => text.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(9, "0"));

class TextColumn {
  constructor(values, codes = null) { this.values = values; this.codes = codes; }

  get size() { return this.values.length; }
  value(code) { return this.values[code]; }
  text(row) { return this.value(this.codes ? this.codes[row] : row); }
  shown(text) { return text; }
  codeOf(text) { return this.values.indexOf(text); }

  get lower() {
    if (!this.lowered) this.lowered = this.values.map((text) => this.shown(text).toLowerCase());
    return this.lowered;
  }

  matches(term) {
    const lower = this.lower;
    let flags = null;
    for (let code = 0; code < lower.length; code++) {
      if (!lower[code].includes(term)) continue;
      flags = flags || new Uint8Array(lower.length);
      flags[code] = 1;
    }
    return flags;
  }

  ranks() {
    if (!this.ranked) this.ranked = rankOf(this.values.map((text) => naturalKey(this.shown(text))));
    return this.ranked;
  }
}

/** One of the five facts of a NIC: shown, declared, effective and reason, separated by tabs. */
class FactColumn extends TextColumn {
  shown(text) { return text.slice(0, text.indexOf("\t")); }
  value(code) { return this.shown(this.values[code]); }
  parts(row) { return this.values[this.codes[row]].split("\t"); }
}

/** Words with an order other than alphabetical: severities. */
class OrderedColumn extends TextColumn {
  constructor(values, codes, order) { super(values, codes); this.order = order; }
  ranks() { return Uint32Array.from(this.values, (word) => this.order.indexOf(word) + 1); }
}

class NumberColumn {
  constructor(numbers) { this.codes = null; this.numbers = numbers; this.size = numbers.length; }
  value(code) { return this.numbers[code].toLocaleString("en"); }
  plain(code) { return String(this.numbers[code]); }
  matches() { return null; }
  ranks() { return (this.ranked = this.ranked || rankOf(this.numbers)); }
}

/** MAC addresses or UUIDs: their digits are hexadecimal. */
class AddressColumn extends TextColumn {
  ranks() { return (this.ranked = this.ranked || rankOf(this.values)); }
}

const SEVERITIES = ["info", "low", "medium", "high", "error"];
const FACTS = ["model", "vhost", "queues", "rx", "tx"];

/** The tables and facts in the page's data. @param {string} text JSON */
function tablesIn(text) {
  const { tables, facts } = JSON.parse(text);
  const found = { facts };
  for (const [table, columns] of Object.entries(tables)) {
    found[table] = Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, columnOf(name, column)]));
  }
  return found;
}

/** A list of numbers, or texts with the number of the text of each row: its own number if rows are left out. */
function columnOf(name, column) {
  if (Array.isArray(column)) return new NumberColumn(Uint32Array.from(column));
  const texts = column.texts, codes = Uint32Array.from(column.rows || texts.keys());
  if (name === "severity") return new OrderedColumn(texts, codes, SEVERITIES);
  if (FACTS.includes(name)) return new FactColumn(texts, codes);
  return name === "mac" || name === "uuid" ? new AddressColumn(texts, codes) : new TextColumn(texts, codes);
}
