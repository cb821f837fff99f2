// Groups findings and NICs by problem, host, owner or image: all of them, or those of a site.

const counter = (size) => new Uint32Array(size);

/** Function that tells if a subject counts; all do if no site is chosen. */
function ofSite(data, site) {
  if (site === null) return () => true;
  const { codes, values } = data.subject.site, flags = Uint8Array.from(values, (text) => text === site);
  return (subject) => flags[codes[subject]];
}

/** A table with a row for each text in a column of subjects. more: names of further rows. */
function subjectGroups(data, links, id, label, site = null, more = []) {
  const column = data.subject[id], counts = ofSite(data, site);
  const names = [...column.values];
  const used = counter(names.length + more.length);
  column.codes.forEach((code, subject) => { if (counts(subject)) used[code] = 1; });
  const known = new Set(names);
  for (const name of more) if (!known.has(name)) { used[names.length] = 1; names.push(name); }
  const table = groupTable(data, links, id, label, { names, used, groupOf: (subject) => column.codes[subject], counts });
  return sited(table, site);
}

/** If a site is chosen, opening a group leads to the findings of that site. */
function sited(table, site) {
  const drill = table.drill;
  if (site !== null) table.drill = (row) => ({ ...drill(row), site });
  return table;
}

function groupTable(data, links, id, label, { names, used, groupOf, counts }) {
  const size = names.length;
  const sums = { nics: counter(size), slow: counter(size), affected: counter(size), problems: counter(size) };
  for (const word of SEVERITIES) sums[word] = counter(size);
  const subjects = data.nic.subject.numbers, path = data.nic.path;
  const slow = path.codeOf("slow");
  for (let row = 0; row < subjects.length; row++) {
    if (!counts(subjects[row])) continue;
    const group = groupOf(subjects[row]);
    sums.nics[group]++;
    if (path.codes[row] === slow) sums.slow[group]++;
    if (links.number.numbers[row]) sums.affected[group]++;
  }
  const owners = data.finding.subject.numbers, severity = data.finding.severity;
  const words = severity.values.map((word) => sums[word]);
  for (let row = 0; row < owners.length; row++) {
    if (!counts(owners[row])) continue;
    const group = groupOf(owners[row]);
    sums.problems[group]++;
    const sum = words[severity.codes[row]];
    if (sum) sum[group]++;
  }
  const rows = Uint32Array.from(names.keys()).filter((at) => used[at] && (names[at] || sums.nics[at] || sums.problems[at]));
  return smaller(rows, names, sums, id, label);
}

/** The non-empty groups, as a table. */
function smaller(rows, names, sums, id, label) {
  const title = new TextColumn(Array.from(rows, (at) => names[at] || "(unknown)"));
  const labels = { nics: "NICs", slow: "Slow NICs", affected: "Affected NICs", problems: "Problems", error: "error",
    high: "high", medium: "medium", low: "low", info: "info" };
  const fields = Object.entries(labels).map(([name, text]) =>
    new Field(name, text, new NumberColumn(Uint32Array.from(rows, (at) => sums[name][at]))));
  const table = new Table(rows.length, [new Field("title", label, title), ...fields], ["title"]);
  table.names = title.values;
  table.drill = (row) => ({ [id]: names[rows[row]] });
  return table;
}

/** Hosts, including those that could not be read, with the result of reading them. */
function hostGroups(data, links) {
  const hosts = new Map(data.facts.hosts.map((host) => [host.name, host]));
  const table = subjectGroups(data, links, "host", data.facts.host_word, null, [...hosts.keys()]);
  const words = { ok: "", partial: "read in part", failed: "not read" };
  const of = (name) => {
    const host = hosts.get(name);
    if (!host) return "";
    return host.stale ? `as of ${host.stale.slice(0, 10)}` : words[host.status];
  };
  const texts = (values) => new TextColumn(values);
  const site = table.names.map((name) => hosts.get(name)?.site || "");
  const why = table.names.map((name) => hosts.get(name)?.error || "");
  for (const [id, label, values] of [["status", "Reading", table.names.map(of)], ["site", "Site", site], ["why", "Reason", why]]) {
    table.fields.set(id, Object.assign(new Field(id, label, texts(values)), { size: table.size }));
    table.searched.push(table.field(id));
  }
  return table;
}

/** A table with a row for each rule that has findings. */
function ruleGroups(data, links, site) {
  const rule = data.finding.rule, size = rule.size, rows = data.finding.subject.numbers, counts = ofSite(data, site);
  const problems = counter(size), worst = new Uint8Array(size), nics = counter(size), hosts = counter(size);
  const ranks = data.finding.severity.ranks(), severity = data.finding.severity.codes;
  const lastNic = new Int32Array(size).fill(-2);
  const hostOf = data.subject.host, seen = new Uint8Array(size * hostOf.size);
  for (let row = 0; row < rows.length; row++) {
    if (!counts(rows[row])) continue;
    const code = rule.codes[row], nic = links.nicOf[row], host = code * hostOf.size + hostOf.codes[rows[row]];
    problems[code]++;
    worst[code] = Math.max(worst[code], ranks[severity[row]]);
    if (nic >= 0 && nic !== lastNic[code]) { nics[code]++; lastNic[code] = nic; }
    if (!seen[host]) { seen[host] = 1; hosts[code]++; }
  }
  return sited(ruleTable(data, { problems, nics, hosts }, worst), site);
}

function ruleTable(data, sums, worst) {
  const rules = data.facts.rules, at = [...sums.problems.keys()].filter((code) => sums.problems[code]);
  const ids = at.map((code) => data.finding.rule.values[code]);
  const texts = (of) => new TextColumn(ids.map(of));
  const numbers = (all) => new NumberColumn(Uint32Array.from(at, (code) => all[code]));
  const worstColumn = new OrderedColumn(["", ...SEVERITIES], Uint8Array.from(at, (code) => worst[code]), SEVERITIES);
  const table = new Table(ids.length, [
    new Field("severity", "Severity", worstColumn),
    new Field("rule", "Rule", texts((id) => id)),
    new Field("title", "Problem", texts((id) => (rules[id] ? rules[id].name : id))),
    new Field("summary", "Summary", texts((id) => (rules[id] ? rules[id].summary : ""))),
    new Field("problems", "Problems", numbers(sums.problems)),
    new Field("nics", "NICs", numbers(sums.nics)),
    new Field("hosts", "Hosts", numbers(sums.hosts)),
  ], ["rule", "title", "summary"]);
  table.drill = (row) => ({ rule: ids[row] });
  return table;
}
