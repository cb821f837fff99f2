// A table in which only visible rows are elements. Arrow keys move, Enter opens.

/** Create an element; texts are never treated as markup. */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made && name !== "role") made[name] = value;
    else if (value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== ""));
  return made;
}

const TALLEST = 15_000_000; // pixels: browsers clamp elements that are taller

class Grid {
  constructor(root, { onSort, onOpen }) {
    this.root = root;
    this.onOpen = onOpen;
    this.onSort = onSort;
    this.pool = [];
    this.rows = new Uint32Array(0);
    this.active = 0;
    root.addEventListener("scroll", () => this.drawSoon(), { passive: true });
    root.addEventListener("keydown", (event) => this.key(event));
    root.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.drawSoon()).observe(root);
  }

  /** Show another table: its columns become the head. */
  show(table, columns, sort) {
    this.table = table;
    this.columns = columns.filter((column) => table.field(column.id));
    this.tracks = this.columns.map((column) => column.track).join(" ");
    this.head = element("div", { role: "row", "aria-rowindex": "1" }, ...this.columns.map((column) => this.title(column)));
    this.head.style.gridTemplateColumns = this.tracks;
    this.body = element("div", { role: "rowgroup", className: "body" });
    this.pool = [];
    this.root.replaceChildren(element("div", { role: "rowgroup", className: "head" }, this.head), this.body);
    this.root.setAttribute("aria-colcount", this.columns.length);
    this.markSort(sort);
  }

  title(column) {
    const label = this.table.field(column.id).label;
    const button = element("button", { type: "button", title: `Sort by ${label}` }, label);
    button.addEventListener("click", () => this.onSort(column.id));
    return element("div", { role: "columnheader", className: column.kind || "", "data-id": column.id }, button);
  }

  markSort(sort) {
    for (const cell of this.head.children) {
      const is = cell.dataset.id === sort.replace(/^-/, "");
      if (is && sort) cell.setAttribute("aria-sort", sort.startsWith("-") ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
  }

  /** Show other rows of the same table. */
  fill(rows) {
    this.rows = rows;
    this.active = 0;
    this.root.scrollTop = 0;
    this.root.setAttribute("aria-rowcount", rows.length + 1);
    this.draw();
  }

  get rowHeight() { return parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) || 34; }

  drawSoon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  draw() {
    if (!this.body) return;
    const height = this.rowHeight, full = this.rows.length * height, shown = Math.min(full, TALLEST);
    this.body.style.height = `${shown}px`;
    const view = this.root.clientHeight - this.head.offsetHeight;
    const top = this.root.scrollTop;
    this.offset = full > shown && shown > view ? Math.round(top * (full - view) / (shown - view)) - top : 0;
    const first = Math.max(0, Math.floor((top + this.offset) / height) - 4);
    const count = Math.min(this.rows.length - first, Math.ceil(view / height) + 9);
    while (this.pool.length < count) this.pool.push(this.newRow());
    this.pool.forEach((row, at) => this.drawRow(row, at < count ? first + at : -1, height));
    this.body.classList.toggle("empty", !this.rows.length);
    if (!this.rows.length) this.drawEmpty();
    const active = document.getElementById(`row-${this.active}`);
    if (active && !active.hidden) this.root.setAttribute("aria-activedescendant", active.id);
    else this.root.removeAttribute("aria-activedescendant");
  }

  drawEmpty() {
    this.body.style.height = "auto";
    this.body.replaceChildren(element("div", { role: "row" }, element("div", { role: "gridcell" }, "Nothing matches.")));
    this.pool = [];
  }

  newRow() {
    if (!this.pool.length) this.body.replaceChildren();
    const cells = this.columns.map((column) => element("div", {
      role: "gridcell", className: column.kind || "", "data-label": this.table.field(column.id).label,
    }));
    const row = element("div", { role: "row" }, ...cells);
    row.style.gridTemplateColumns = this.tracks;
    this.body.append(row);
    return row;
  }

  drawRow(element_, at, height) {
    element_.hidden = at < 0;
    if (at < 0) { element_.removeAttribute("id"); return; }
    const row = this.rows[at];
    element_.id = `row-${at}`;
    element_.setAttribute("aria-rowindex", at + 2);
    element_.setAttribute("aria-selected", at === this.active);
    element_.style.transform = `translateY(${at * height - this.offset}px)`;
    element_.at = at;
    this.columns.forEach((column, place) => {
      const cell = element_.children[place], text = this.table.field(column.id).text(row);
      if (cell.textContent !== text) { cell.textContent = text; cell.title = text; }
      if (column.style) cell.className = `${column.kind || ""} ${column.style(text)}`;
    });
  }

  click(event) {
    const row = event.target.closest(".body [role=row]");
    if (!row || row.at === undefined) return;
    this.active = row.at;
    this.draw();
    this.onOpen(this.rows[row.at]);
  }

  key(event) {
    if (event.target !== this.root || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.root.clientHeight / this.rowHeight) - 2), last = this.rows.length - 1;
    const to = {
      ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page,
      Home: 0, End: last,
    }[event.key];
    if (event.key === "Enter" && last >= 0) this.onOpen(this.rows[this.active]);
    else if (to !== undefined) this.goTo(Math.min(Math.max(to, 0), Math.max(last, 0)));
    else return;
    event.preventDefault();
  }

  goTo(at) {
    this.active = at;
    const height = this.rowHeight, head = this.head.offsetHeight, view = this.root.clientHeight - head;
    const top = this.root.scrollTop + this.offset;
    let wanted = top;
    if (at * height < top) wanted = at * height;
    else if ((at + 1) * height > top + view) wanted = (at + 1) * height - view;
    if (wanted !== top) this.root.scrollTop = this.scrollFor(wanted, view, height);
    this.draw();
  }

  /** Scroll position at which a pixel of the full height is at the top. */
  scrollFor(pixel, view, height) {
    const full = this.rows.length * height, shown = Math.min(full, TALLEST);
    return full > shown ? pixel * (shown - view) / (full - view) : pixel;
  }
}
