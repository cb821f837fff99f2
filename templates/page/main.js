// Keeps the address and the view shown in sync.

const MOST_TEXTS = 5000; // maximum texts of a column with a selection list
const MOST_CHOICES = 200; // maximum entries of such a list
const byId = (id) => document.getElementById(id);

class Page {
  constructor(data) {
    this.data = data;
    this.links = joined(data);
    this.nics = nicTable(data, this.links);
    this.findings = findingTable(data, this.links);
    this.settled = settledTable(data);
    this.tables = {};
    this.grid = new Grid(byId("grid"), { onSort: (id) => this.sortBy(id), onOpen: (row) => this.open(row) });
    this.details = new Details(byId("details"), this);
    this.listen();
  }

  listen() {
    addEventListener("hashchange", () => this.route());
    addEventListener("keydown", (event) => this.key(event));
    addEventListener("beforeprint", () => this.print());
    byId("search").addEventListener("input", () => this.typed());
    byId("csv").addEventListener("click", () => saveCsv(this.table, this.grid.rows, this.state.view));
    byId("paper").addEventListener("click", () => print());
    byId("details").addEventListener("close", () => this.closed());
  }

  key(event) {
    const search = byId("search");
    if (event.key === "/" && !event.target.closest("input, select, textarea, dialog") && !byId("list").hidden) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "Escape" && event.target === search) {
      clearTimeout(this.timer);
      search.value = "";
      this.change({ q: "" });
      byId("grid").focus();
    } else if (event.key === "Enter" && event.target === search) byId("grid").focus();
  }

  /** Show the view described by the address. */
  route() {
    this.state = addressRead(location.hash);
    const { view, row } = this.state, is = VIEWS[view];
    for (const link of document.querySelectorAll("nav a")) {
      if (link.hash === `#${view}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    for (const id of STATIC_VIEWS) byId(id).hidden = id !== view;
    byId("list").hidden = !is;
    if (row === null && byId("details").open) byId("details").close();
    if (!is) return;
    this.showView(is);
    byId("search").value = this.state.q;
    this.refill();
    if (row !== null && this.table.size > Number(row)) this.open(Number(row));
  }

  /** The site to which the groups of this view are limited; null: all. Other views filter rows by site. */
  siteOf(is) { return is.group && is.of.length > 1 ? this.state.chosen.site ?? null : null; }

  showView(is) {
    const site = this.siteOf(is), key = `${this.state.view} ${site ?? ""}`;
    const table = (this.tables[key] = this.tables[key] || is.of(this, site));
    if (this.table === table) return;
    this.table = table;
    byId("list-title").textContent = is.title;
    this.grid.show(this.table, is.columns.filter((column) => this.isWorth(column.id)), "");
  }

  /** Hide columns in which every cell would be empty. */
  isWorth(id) {
    const column = this.table.field(id)?.column;
    return Boolean(column) && (!(column instanceof TextColumn) || column.values.some(Boolean));
  }

  /** Filter and sort again. */
  refill() {
    const { q, chosen } = this.state, sort = this.state.sort ?? VIEWS[this.state.view].sort;
    performance.mark("filter-start");
    let rows = rowsWith(this.table, q, chosen);
    performance.measure("filter", "filter-start");
    const field = this.table.field(sort.replace(/^-/, ""));
    if (field) {
      performance.mark("sort-start");
      rows = sorted(rows, field, sort.startsWith("-"));
      performance.measure("sort", "sort-start");
    }
    this.grid.markSort(field ? sort : "");
    this.grid.fill(rows);
    this.say(rows.length);
    this.drawChoices();
  }

  say(count) {
    const total = this.table.size.toLocaleString("en"), title = VIEWS[this.state.view].title;
    const sample = this.data.facts.sample ? `. ${this.data.facts.sample}` : "";
    byId("status").textContent = `${count.toLocaleString("en")} of ${total} ${title === "NICs" ? title : title.toLowerCase()}${sample}`;
  }

  /** Draw selection lists, and a button to remove each other filter. */
  drawChoices() {
    const { chosen, view } = this.state, listed = VIEWS[view].choices || [];
    byId("selects").replaceChildren(...listed.map((id) => this.choice(id)).filter(Boolean));
    const others = Object.entries(chosen).filter(([id]) => !listed.includes(id) || !this.choiceOf(id));
    byId("chips").replaceChildren(...others.map(([id, value]) => {
      const label = `${this.choiceField(id)?.label ?? id}: ${value || "unknown"}`;
      const button = element("button", { type: "button", "aria-label": `Remove the filter ${label}`, title: "Remove this filter" }, `${label} \u00d7`);
      button.addEventListener("click", () => this.choose(id, null));
      return button;
    }));
  }

  /** The field of a selection list; groups use the site of their members. */
  choiceField(id) { return this.table.field(id) || (id === "site" ? this.nics.field(id) : undefined); }

  choiceOf(id) {
    const field = this.choiceField(id);
    this.table.choices = this.table.choices || {};
    if (!(id in this.table.choices)) {
      const counts = field.column.size <= MOST_TEXTS ? field.counts().filter(([text]) => text) : [];
      const few = counts.length > 1 && counts.length <= MOST_CHOICES;
      this.table.choices[id] = few || id === "severity" ? counts : null;
    }
    return this.table.choices[id];
  }

  choice(id) {
    const counts = this.choiceOf(id);
    if (!counts || !counts.length) return null;
    const label = this.choiceField(id).label, chosen = this.state.chosen[id] ?? "";
    const isNumber = this.table.field(id) !== undefined;
    const options = id === "severity"
      ? [...SEVERITIES].reverse().map((word) => [word, word === "error" ? "error" : `${word} or worse`])
      : counts.map(([text, count]) => [text, isNumber ? `${text} (${count.toLocaleString("en")})` : text]);
    const select = element("select", { "aria-label": label }, element("option", { value: "" }, `${label}: all`),
      ...options.map(([value, text]) => element("option", { value, selected: value === chosen }, text)));
    if (chosen && !options.some(([value]) => value === chosen)) select.append(element("option", { value: chosen, selected: true }, chosen));
    select.addEventListener("change", () => { this.choose(id, select.value || null); this.focusChoice(label); });
    return select;
  }

  focusChoice(label) {
    for (const select of byId("selects").children) if (select.getAttribute("aria-label") === label) select.focus();
  }

  choose(id, value) {
    const chosen = { ...this.state.chosen };
    if (value === null) delete chosen[id];
    else chosen[id] = value;
    this.change({ chosen });
  }

  sortBy(id) {
    const now = this.state.sort ?? VIEWS[this.state.view].sort;
    const numbers = !(this.table.field(id).column instanceof TextColumn) || id === "severity";
    const first = numbers ? `-${id}` : id, second = numbers ? id : `-${id}`;
    this.change({ sort: now === first ? second : first });
  }

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.change({ q: byId("search").value }), 90);
  }

  /** Change the state of this view, and update the address and the rows. */
  change(difference) {
    const rowOnly = Object.keys(difference).join() === "row";
    this.state = { ...this.state, ...difference };
    keepAddress(addressOf(this.state));
    if (rowOnly) return;
    this.showView(VIEWS[this.state.view]);
    this.refill();
  }

  open(row) {
    if (VIEWS[this.state.view].group) {
      location.hash = addressOf({ view: "findings", q: "", sort: null, row: null, chosen: this.table.drill(row) });
      return;
    }
    this.change({ row });
    byId("grid").classList.add("open");
    this.details.show(this.state.view, row, (by) => {
      const at = this.grid.rows.indexOf(row) + by;
      if (at < 0 || at >= this.grid.rows.length) return;
      this.grid.goTo(at);
      this.open(this.grid.rows[at]);
    });
  }

  /** The event comes later than the dialog closes: by then the reader may have moved the focus, or opened it again. */
  closed() {
    if (byId("details").open) return;
    this.change({ row: null });
    byId("grid").classList.remove("open");
    const focused = document.activeElement;
    if (focused === document.body || byId("details").contains(focused)) byId("grid").focus();
  }

  print() {
    if (VIEWS[this.state.view]) fillPrint(byId("print"), this.grid, `${VIEWS[this.state.view].title}: ${byId("status").textContent}`);
    else byId("print").replaceChildren();
  }
}

/** Update the address. If that is impossible (in a viewer that embeds the page), the page still works. */
function keepAddress(address) {
  try { history.replaceState(null, "", address); } catch { /* keep the old address */ }
}

const THEMES = { "": "as the system", light: "light", dark: "dark" };

/** Light, dark, or as the system; remembered if the browser allows it. */
function colours() {
  const button = byId("theme"), root = document.documentElement, names = Object.keys(THEMES);
  const stored = (action) => { try { return action(localStorage); } catch { return null; } };
  const use = (theme) => {
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    button.querySelector("span").textContent = THEMES[theme];
  };
  let theme = stored((storage) => storage.getItem("vnicaudit-colours")) || "";
  if (!(theme in THEMES)) theme = "";
  use(theme);
  button.hidden = false;
  button.addEventListener("click", () => {
    use((theme = names[(names.indexOf(theme) + 1) % names.length]));
    stored((storage) => storage.setItem("vnicaudit-colours", theme));
  });
}

async function start() {
  const block = byId("data"), text = block.textContent;
  block.remove();
  const data = tablesIn(await unpacked(text));
  const page = new Page(data);
  for (const [id, column] of [["owners", data.subject.owner], ["images", data.subject.image]]) {
    document.querySelector(`nav a[href="#${id}"]`).hidden = column.size < 2 && !column.value(0);
  }
  page.route();
  performance.measure("ready");
  document.documentElement.dataset.ready = Math.round(performance.now());
  const warm = window.requestIdleCallback || ((action) => setTimeout(action, 200));
  for (const field of [...page.findings.searched, ...page.nics.searched]) warm(() => field.column.lower);
}

function failed(error) {
  const notice = byId("failed");
  notice.hidden = false;
  notice.textContent = `The lists of this page cannot be shown (${error.message || error}). The summary is complete. `
    + "Firefox 113, Chrome 80, Safari 16.4 and later show them; vnicaudit audit --format csv has every finding.";
}

colours();
requestAnimationFrame(() => setTimeout(() => start().catch(failed)));
