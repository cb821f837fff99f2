// The views: table, columns, selection lists and initial order of each.
// track: width of a column. On a narrow page: last: gets a line of its own; wide: is hidden;
// named: is shown with its label.

const severityStyle = (text) => (text ? `sev sev-${text}` : "");
const pathStyle = (text) => ({ slow: "is-slow", fast: "is-fast", "does not start": "is-broken" }[text] || "quiet");
const number = (id, more = "") => ({ id, track: "minmax(4.5rem, 7rem)", kind: `right named ${more}` });
const flexible = (id, parts, kind = "") => ({ id, track: `minmax(0, ${parts}fr)`, kind });
const severity = (track) => ({ id: "severity", track, style: severityStyle });
const mac = (kind) => ({ id: "mac", track: "9.5rem", kind });
const INDEX = { id: "index", track: "2.6rem", kind: "right named" };
const GROUP_COLUMNS = [
  flexible("title", 3, "last"),
  number("nics"), number("slow"), number("affected"), number("problems"), number("error", "wide"), number("high", "wide"),
  number("medium", "wide"), number("low", "wide"),
];

const VIEWS = {
  problems: {
    title: "Problems", sort: "-severity", group: true, choices: ["site"],
    of: (page, site) => ruleGroups(page.data, page.links, site),
    columns: [
      severity("6.5rem"),
      { id: "rule", track: "5.5rem", kind: "quiet" },
      flexible("title", 2), flexible("summary", 3, "last quiet"),
      number("problems"), number("nics", "wide"), number("hosts", "wide"),
    ],
  },
  hosts: {
    title: "Hosts", sort: "-slow", group: true, choices: ["site", "status"],
    columns: [GROUP_COLUMNS[0], flexible("site", 1), { id: "status", track: "minmax(0, 1fr)", style: () => "is-slow" },
      ...GROUP_COLUMNS.slice(1)],
    of: (page) => hostGroups(page.data, page.links),
  },
  owners: {
    title: "Owners", sort: "-problems", group: true, columns: GROUP_COLUMNS, choices: ["site"],
    of: (page, site) => subjectGroups(page.data, page.links, "owner", "Owner", site),
  },
  images: {
    title: "Images", sort: "-problems", group: true, columns: GROUP_COLUMNS, choices: ["site"],
    of: (page, site) => subjectGroups(page.data, page.links, "image", "Image", site),
  },
  nics: {
    title: "NICs", of: (page) => page.nics, sort: "", choices: ["path", "severity", "model", "owner", "site"],
    columns: [
      { id: "path", track: "6.5rem", style: pathStyle },
      flexible("name", 2), INDEX, mac("mono"),
      flexible("model", 1.2), flexible("vhost", .8, "named"), flexible("queues", .6, "wide"), flexible("rx", .7, "wide"),
      flexible("connection", 1.1, "wide"), flexible("host", 1.6, "last quiet"), severity("6rem"),
    ],
  },
  findings: {
    title: "Findings", of: (page) => page.findings, sort: "-severity", choices: ["severity", "rule", "owner", "safe", "state", "site"],
    columns: [
      severity("6.2rem"),
      { id: "rule", track: "5rem", kind: "quiet" },
      flexible("name", 1.5), INDEX, mac("mono wide"), { id: "state", track: "6.5rem", kind: "named" }, flexible("host", 1.3, "quiet wide"),
      flexible("message", 4, "last"),
    ],
  },
  settled: {
    title: "Fixed or accepted", of: (page) => page.settled, sort: "-until", choices: ["state", "severity", "rule", "owner", "site"],
    columns: [
      { id: "state", track: "6.5rem" },
      { id: "severity", track: "6.5rem", style: severityStyle },
      { id: "rule", track: "5.5rem", kind: "quiet" },
      { id: "name", track: "minmax(0, 1.5fr)" },
      { id: "host", track: "minmax(0, 1.3fr)", kind: "quiet wide" },
      { id: "until", track: "11rem", kind: "named" },
      { id: "message", track: "minmax(0, 4fr)", kind: "last" },
    ],
  },
};
const STATIC_VIEWS = ["overview", "coverage"];

/** The address of a view and its filters: "#findings?rule=VNIC001&q=web&sort=-host". */
function addressRead(hash) {
  const [view, search = ""] = hash.replace(/^#/, "").split("?");
  const chosen = Object.fromEntries(new URLSearchParams(search));
  const { q = "", sort = null, row = null } = chosen;
  for (const name of ["q", "sort", "row"]) delete chosen[name];
  return { view: VIEWS[view] || STATIC_VIEWS.includes(view) ? view : "overview", q, sort, row, chosen };
}

function addressOf(state) {
  const search = new URLSearchParams(state.chosen);
  if (state.q) search.set("q", state.q);
  if (state.sort !== null && state.sort !== VIEWS[state.view]?.sort) search.set("sort", state.sort);
  if (state.row !== null) search.set("row", state.row);
  const text = search.toString();
  return `#${state.view}${text ? `?${text}` : ""}`;
}
