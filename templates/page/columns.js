// Columns of the page's tables, written by vnicaudit/reports/page/columns.py.
// Each has size (number of codes), codes (code of each row; null: the row number is the code),
// value(code), matches(term) (flags by code, or null if none matches) and ranks() (order of codes).

const utf8 = new TextDecoder();
const NUMBERS = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array };

/** Numbers of that width from bytes. Copied, because the bytes may be unaligned. */
function numbersOf(bytes, width) {
  if (width === 1) return bytes;
  return new NUMBERS[width](bytes.slice().buffer);
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
  constructor(bytes, codes = null) { this.bytes = bytes; this.codes = codes; }

  get values() {
    if (!this.split) { this.split = utf8.decode(this.bytes).split("\n"); this.bytes = null; }
    return this.split;
  }

  get size() { return this.values.length; }
  value(code) { return this.values[code]; }
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

  /** Give texts that have several codes a single one. */
  unify() {
    const first = new Map();
    const one = Uint32Array.from(this.values, (text, code) => {
      if (!first.has(text)) first.set(text, code);
      return first.get(text);
    });
    this.codes = Uint32Array.from(this.codes, (code) => one[code]);
    return this;
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
  constructor(bytes, codes, order) { super(bytes, codes); this.order = order; }
  ranks() { return Uint32Array.from(this.values, (word) => this.order.indexOf(word) + 1); }
}

class NumberColumn {
  constructor(numbers) { this.codes = null; this.numbers = numbers; this.size = numbers.length; }
  value(code) { return this.numbers[code].toLocaleString("en"); }
  plain(code) { return String(this.numbers[code]); }
  matches() { return null; }
  ranks() { return (this.ranked = this.ranked || rankOf(this.numbers)); }
}


const DIGITS = Uint8Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));

/** MAC addresses or UUIDs as bytes; zeros: no address, or its text is in the column odd. */
class AddressColumn {
  constructor(bytes, width, odd) {
    this.codes = null;
    this.bytes = bytes;
    this.width = width;
    this.odd = odd;
    this.size = bytes.length / width;
  }

  /** All addresses in one string, with equal lengths, each followed by a line break. */
  get joined() {
    if (this.text) return this.text;
    const breaks = this.width === 6 ? 0b11111 : 0b1010101000; // bytes followed by a separator
    const separator = this.width === 6 ? 58 : 45;
    this.step = this.width === 6 ? 18 : 37;
    const out = new Uint8Array(this.size * this.step);
    let at = 0, place = 0;
    for (let row = 0; row < this.size; row++) {
      for (let byte = 0; byte < this.width; byte++) {
        const value = this.bytes[place++];
        out[at++] = DIGITS[value >> 4];
        out[at++] = DIGITS[value & 15];
        if ((breaks >> byte) & 1) out[at++] = separator;
      }
      out[at++] = 10;
    }
    this.text = utf8.decode(out);
    return this.text;
  }

  isNone(row) {
    for (let at = row * this.width, end = at + this.width; at < end; at++) if (this.bytes[at]) return false;
    return true;
  }

  value(row) {
    if (this.isNone(row)) return this.odd.value(this.odd.codes[row]);
    const text = this.joined;
    return text.slice(row * this.step, (row + 1) * this.step - 1);
  }

  matches(term) {
    let flags = null;
    const text = this.joined;
    if (/^[0-9a-f:-]+$/.test(term)) {
      for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + 1)) {
        const row = Math.floor(at / this.step);
        if (!this.isNone(row)) {
          flags = flags || new Uint8Array(this.size);
          flags[row] = 1;
        }
        at = (row + 1) * this.step - 1;
      }
    }
    return this.oddMatches(term, flags);
  }

  oddMatches(term, flags) {
    const odd = this.odd.size > 1 || this.odd.value(0) ? this.odd.matches(term) : null;
    if (!odd) return flags;
    const all = flags || new Uint8Array(this.size);
    this.odd.codes.forEach((code, row) => { if (odd[code]) all[row] = 1; });
    return all;
  }

  ranks() {
    if (!this.ranked) {
      const keys = new Float64Array(this.size);
      for (let row = 0, at = 0; row < this.size; row++) {
        for (let byte = 0; byte < 6; byte++) keys[row] = keys[row] * 256 + this.bytes[at + byte];
        at += this.width;
      }
      this.ranked = rankOf(keys);
    }
    return this.ranked;
  }
}

const SEVERITIES = ["info", "low", "medium", "high", "error"];
const FACTS = ["model", "vhost", "queues", "rx", "tx"];

/** The tables and facts in the page's data. @param {Uint8Array} bytes */
function tablesIn(bytes) {
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const described = JSON.parse(utf8.decode(bytes.subarray(4, 4 + size)));
  const found = { facts: described.facts };
  let at = 4 + size;
  const next = (length) => bytes.subarray(at, (at += length));
  for (const [table, { columns }] of Object.entries(described.tables)) {
    const made = (found[table] = {});
    for (const [name, info] of Object.entries(columns)) made[name] = columnOf(name, info, next);
    for (const [name, column] of Object.entries(made)) if (column instanceof AddressColumn) column.odd = made[`${name}_text`];
  }
  return found;
}

function columnOf(name, info, next) {
  const data = next(info.bytes), texts = next(info.texts);
  if (info.kind === "text") return new TextColumn(texts);
  if (info.kind === "number") return new NumberColumn(numbersOf(data, info.width || 1));
  if (info.kind !== "dict") return new AddressColumn(data, info.width, null);
  const codes = numbersOf(data, info.width || 1);
  const column = name === "severity" ? new OrderedColumn(texts, codes, SEVERITIES)
    : FACTS.includes(name) ? new FactColumn(texts, codes) : new TextColumn(texts, codes);
  return info.again ? column.unify() : column;
}
