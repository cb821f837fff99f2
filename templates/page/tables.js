// Tables as shown to people: fields based on columns, some of them in another table.

/** A field of a table. via: for each row the row in the column's table; -1: none. */
class Field {
  constructor(id, label, column, via = null) {
    this.id = id;
    this.label = label;
    this.column = column;
    this.via = via;
  }

  code(row) {
    const at = this.via ? this.via[row] : row;
    if (at < 0) return -1;
    return this.column.codes ? this.column.codes[at] : at;
  }

  text(row) {
    const code = this.code(row);
    return code < 0 ? "" : this.column.value(code);
  }

  /** The value for programs: without thousands separators. */
  plain(row) {
    const code = this.code(row);
    return code < 0 ? "" : this.column.plain ? this.column.plain(code) : this.text(row);
  }

  /** Distinct texts with their number of rows, the most frequent first. */
  counts() {
    const counts = new Uint32Array(this.column.size);
    for (let row = 0; row < this.size; row++) { const code = this.code(row); if (code >= 0) counts[code]++; }
    const found = new Map(); // merges facts that differ only in their reason
    counts.forEach((count, code) => {
      const text = this.column.value(code);
      if (count) found.set(text, count + (found.get(text) || 0));
    });
    return [...found].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  }
}

/** A sentence with marks for a name, a UUID and a MAC address (see tables.py). */
class SentenceField extends Field {
  constructor(id, label, column, names) { super(id, label, column); this.names = names; }
  text(row) { return super.text(row).replace(/[\x01-\x03]/g, (mark) => this.names(row, mark.charCodeAt(0))); }
}

class Table {
  constructor(size, fields, searched) {
    this.size = size;
    this.fields = new Map(fields.map((field) => [field.id, Object.assign(field, { size })]));
    this.searched = searched.map((id) => this.fields.get(id));
  }

  field(id) { return this.fields.get(id); }
}

/** The NIC of each finding, and facts about each NIC derived from its findings. */
function joined(data) {
  const subjects = data.nic.subject.numbers, count = data.subject.name.codes.length;
  const first = new Uint32Array(count + 1).fill(subjects.length);
  for (let row = subjects.length - 1; row >= 0; row--) first[subjects[row]] = row;
  const owners = data.finding.subject.numbers, places = data.finding.nic.numbers;
  const nicOf = new Int32Array(owners.length);
  const worst = new Uint8Array(subjects.length), number = new Uint16Array(subjects.length);
  const severity = data.finding.severity, ranks = severity.ranks();
  for (let row = 0; row < owners.length; row++) {
    const nic = places[row] ? first[owners[row]] + places[row] - 1 : -1;
    nicOf[row] = nic;
    if (nic < 0) continue;
    number[nic]++;
    worst[nic] = Math.max(worst[nic], ranks[severity.codes[row]]);
  }
  const worstColumn = new OrderedColumn(["", ...SEVERITIES], worst, SEVERITIES);
  return { first, nicOf, worst: worstColumn, number: new NumberColumn(number) };
}

const SUBJECT_FIELDS = [
  ["name", "Guest"], ["host", "Host"], ["site", "Site"], ["owner", "Owner"], ["image", "Image"], ["flavor", "Flavor"],
  ["project", "Project"], ["server", "Server"], ["uuid", "UUID"], ["scope", "Kind"], ["target", "Target"], ["guest", "Machine"],
  ["read_at", "Read at"],
];
const NIC_FIELDS = [
  ["index", "NIC"], ["mac", "MAC address"], ["path", "Data path"], ["model", "Model"], ["vhost", "vhost"], ["queues", "Queues"],
  ["rx", "RX ring"], ["tx", "TX ring"], ["connection", "Connected by"], ["device", "Host device"], ["measured", "Measured"],
];

function nicTable(data, links) {
  const subject = data.nic.subject.numbers;
  return new Table(subject.length, [
    ...SUBJECT_FIELDS.map(([id, label]) => new Field(id, label, data.subject[id], subject)),
    ...NIC_FIELDS.map(([id, label]) => new Field(id, label, data.nic[id])),
    new Field("severity", "Worst", links.worst),
    new Field("number", "Problems", links.number),
    new Field("file", "File", data.nic.file),
    new Field("line", "Line", data.nic.line),
  ], ["name", "mac", "host", "server", "uuid", "model", "connection", "device", "image", "project", "file"]);
}

const SETTLED_FIELDS = [
  ["state", "State"], ["severity", "Severity"], ["rule", "Rule"], ["title", "Problem"], ["name", "Guest"], ["mac", "MAC address"],
  ["host", "Host"], ["site", "Site"], ["owner", "Owner"], ["message", "What was wrong"], ["reason", "Accepted because"],
  ["since", "First seen"], ["until", "Ended"],
];

/** Findings that are fixed, gone or accepted. */
function settledTable(data) {
  return new Table(data.settled.state.codes.length, SETTLED_FIELDS.map(([id, label]) => new Field(id, label, data.settled[id])),
    ["rule", "title", "name", "mac", "host", "message", "owner", "reason"]);
}

function findingTable(data, links) {
  const subject = data.finding.subject.numbers, nic = links.nicOf;
  const names = (row, mark) => mark === 3 ? (nic[row] < 0 ? "" : data.nic.mac.text(nic[row]))
    : mark === 2 ? data.subject.uuid.text(subject[row]) : data.subject.name.text(subject[row]);
  const rules = data.facts.rules, rule = data.finding.rule;
  const title = new TextColumn(rule.values.map((id) => (rules[id] ? rules[id].name : "")), rule.codes);
  return new Table(subject.length, [
    new Field("severity", "Severity", data.finding.severity),
    new Field("rule", "Rule", rule),
    new Field("title", "Problem", title),
    ...SUBJECT_FIELDS.map(([id, label]) => new Field(id, label, data.subject[id], subject)),
    ...NIC_FIELDS.map(([id, label]) => new Field(id, label, data.nic[id], nic)),
    new SentenceField("message", "What is wrong", data.finding.message, names),
    new SentenceField("fix", "Fix", data.finding.fix, names),
    ...[["confidence", "Confidence"], ["change", "Change"], ["safe", "Safety"], ["state", "State"], ["since", "First seen"],
      ["file", "File"], ["line", "Line"], ["other", "See also"]].map(([id, label]) => new Field(id, label, data.finding[id])),
  ], ["rule", "title", "name", "mac", "host", "message", "server", "uuid", "image", "project", "owner", "file", "model"]);
}
