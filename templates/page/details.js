// One NIC or finding in full, in a dialog.

const FACT_LABELS = { model: "Model", vhost: "vhost", queues: "Queues", rx: "RX ring", tx: "TX ring" };

/** A text as one word of a POSIX shell. */
const shellWord = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, `'"'"'`)}'`);
const target = (text) => shellWord(text.startsWith("-") ? `./${text}` : text);

class Details {
  constructor(dialog, page) {
    this.dialog = dialog;
    this.page = page;
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    dialog.addEventListener("keydown", (event) => {
      if (event.target.closest("input, select")) return;
      if (event.key === "ArrowLeft") this.step(-1);
      else if (event.key === "ArrowRight") this.step(1);
    });
  }

  /** Show a NIC or a finding. step: function that shows the previous or next row. */
  show(view, row, step) {
    this.step = step;
    if (view === "settled") this.fill(this.page.settled.field("name").text(row), this.settled(row));
    else this.showNic(view, row);
    if (!this.dialog.open) this.dialog.showModal();
    this.dialog.scrollTop = 0;
  }

  showNic(view, row) {
    const { data, links } = this.page;
    const nic = view === "nics" ? row : links.nicOf[row];
    const subject = (view === "nics" ? data.nic : data.finding).subject.numbers[row];
    const findings = nic < 0 ? [row] : this.findingsOf(nic, subject);
    if (view === "findings") findings.sort((a, b) => (b === row) - (a === row));
    this.fill(this.title(subject, nic), [
      ...findings.map((finding) => this.finding(finding)),
      ...(findings.length ? [] : [element("p", { className: "quiet" }, "No known problem with this NIC.")]),
      ...(nic < 0 ? [] : this.chain(nic)), ...this.about(subject, nic, findings[0]), ...this.commands(subject, nic)]);
  }

  fill(title, parts) {
    const bar = element("div", { className: "bar" },
      element("h2", { id: "details-title" }, title),
      this.button("\u2039", "Previous row (left arrow)", () => this.step(-1)),
      this.button("\u203a", "Next row (right arrow)", () => this.step(1)),
      Object.assign(this.button("Close", "Close (Esc)", () => this.dialog.close()), { autofocus: true }));
    this.dialog.replaceChildren(bar, element("div", { className: "inner" }, ...parts));
  }

  /** Everything known about a finding that is not open. */
  settled(row) {
    const list = element("dl");
    for (const [id, label] of SETTLED_FIELDS) {
      const text = this.page.settled.field(id).text(row);
      if (text) list.append(element("dt", {}, label), element("dd", {}, text));
    }
    return [list];
  }

  title(subject, nic) {
    const { data } = this.page, name = data.subject.name.text(subject);
    return nic < 0 ? name : `${name}, NIC ${data.nic.index.numbers[nic]}`;
  }

  findingsOf(nic, subject) {
    const { data, links } = this.page, owners = data.finding.subject.numbers, found = [];
    for (let row = 0; row < owners.length; row++) if (owners[row] === subject && links.nicOf[row] === nic) found.push(row);
    return found;
  }

  finding(row) {
    const text = (id) => this.page.findings.field(id).text(row);
    const state = [text("state"), text("since") && `first seen ${text("since").slice(0, 10)}`].filter(Boolean).join(", ");
    const safety = { unsafe: "needs review", safe: "safe for this guest" }[text("safe")] || "";
    const about = [text("rule"), text("title"), `confidence ${text("confidence")}`, state].filter(Boolean).join(" \u00b7 ");
    return element("div", { className: "one" },
      element("h3", {}, element("span", { className: severityStyle(text("severity")) }, text("severity")), ` ${text("message")}`),
      element("p", { className: "quiet small" }, about),
      text("change") ? element("p", {}, "Change: ", element("b", {}, text("change")), safety && ` (${safety})`) : null,
      text("fix") ? this.copy(text("fix"), "fix") : null,
      text("other") ? element("p", { className: "quiet small" }, `See also ${text("other")}`) : null);
  }

  /** Declared value, value in effect and reason of each of the five facts. */
  chain(nic) {
    const rows = FACTS.map((name) => {
      const [, declared, effective, reason] = this.page.data.nic[name].parts(nic);
      return element("tr", {}, element("th", { scope: "row" }, FACT_LABELS[name]), element("td", {}, declared || "\u2013"),
        element("td", { className: declared && declared !== effective ? "differs" : "" }, effective === "-" ? "\u2013" : effective), element("td", { className: "quiet" }, reason));
    });
    const heads = ["", "Declared", "In effect", "Reason"].map((head) => element(head ? "th" : "td", head ? { scope: "col" } : {}, head));
    const table = element("table", { className: "chain" }, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
    return [element("h3", {}, "Declared and in effect"), table];
  }

  about(subject, nic, finding) {
    const { data } = this.page, list = element("dl");
    const say = (label, text, link) => {
      if (!text) return;
      list.append(element("dt", {}, label), element("dd", {}, link ? element("a", { href: link }, text) : text));
    };
    const link = (id, text) => `#findings?${new URLSearchParams({ [id]: text })}`;
    if (nic >= 0) {
      for (const id of ["mac", "path", "connection", "device", "measured"]) {
        const field = this.page.nics.field(id);
        say(field.label, field.text(nic));
      }
    }
    for (const [id, label] of SUBJECT_FIELDS) {
      if (id === "name") continue;
      const text = data.subject[id].text(subject);
      say(label, text, ["host", "site", "owner", "image", "project"].includes(id) ? link(id, text) : null);
    }
    const table = finding === undefined ? this.page.nics : this.page.findings, row = finding === undefined ? nic : finding;
    const line = table.field("line").plain(row);
    say("Place", table.field("file").text(row) + (line !== "0" && table.field("file").text(row) ? `:${line}` : ""));
    return [element("h3", {}, "About"), list];
  }

  commands(subject, nic) {
    const { data } = this.page;
    if (nic < 0) return [];
    const value = (id) => data.subject[id].text(subject);
    const which = `${target(value("target"))} --domain=${shellWord(value("name"))}`;
    const address = data.nic.mac.text(nic), mac = address && ` --nic=${address}`;
    return [element("h3", {}, "Explain it, or plan the change"),
      this.copy(`vnicaudit explain ${which} --nic=${data.nic.index.numbers[nic]}`, "command"),
      this.copy(`vnicaudit plan ${which}${mac} -o plan.json`, "command")];
  }

  copy(text, what) {
    const said = element("span", { className: "sr", role: "status" });
    const button = this.button("Copy", `Copy this ${what}`, async () => {
      await copied(text);
      button.textContent = "Copied";
      said.textContent = "Copied";
    });
    return element("div", { className: "copy" }, element(what === "command" ? "code" : "span", {}, text), button, said);
  }

  button(text, label, action) {
    const button = element("button", { type: "button", title: label, "aria-label": label }, text);
    button.addEventListener("click", action);
    return button;
  }
}

/** Copy a text to the clipboard, even if the page has no access to the clipboard API. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea", { value: text, className: "sr" });
    (document.querySelector("dialog[open]") || document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
