// The table of candidates: a page at a time, sorted and filtered by the server.
import { $, attempt, element, figure, get, link, scoreText, settled } from "./dom.js";
import { firstRow, key, redrawRows, rows } from "./keys.js";

const NUMBERS = new Set(["candidate", "score", "size", "operations"]);
const DOWN_FIRST = new Set(["score"]);

export class Candidates {
  constructor(api, address) {
    this.api = api;
    this.address = address;
    const kept = new URLSearchParams(location.hash.slice(1)); // so that a reload shows the same
    this.state = { sort: kept.get("sort") || "candidate", order: kept.get("order") || "down", page: Number(kept.get("page")) || 1, filter: kept.get("filter") || "" };
    this.body = $("candidates").tBodies[0];
    this.pages = 1;
    this.latest = 0;
    $("filter").value = this.state.filter;
    const narrow = settled(() => this.change({ filter: $("filter").value, page: 1 }), 150, 600);
    $("filter").addEventListener("input", narrow);
    $("filter").addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === "ArrowDown") firstRow(this.body); });
    $("previous").addEventListener("click", () => this.turn(-1));
    $("next").addEventListener("click", () => this.turn(1));
    rows(this.body);
    key("j", "into the table; then j, k or the arrows, and Enter", () => firstRow(this.body));
    key("/", "filter the candidates", () => $("filter").focus());
    key("n", "next page of candidates", () => this.turn(1));
    key("p", "previous page of candidates", () => this.turn(-1));
  }

  turn(by) {
    const page = this.state.page + by;
    if (page >= 1 && page <= this.pages) this.change({ page });
  }

  change(to) {
    Object.assign(this.state, to);
    history.replaceState(null, "", "#" + new URLSearchParams(this.state));
    return this.refresh();
  }

  sortBy(column) {
    const first = DOWN_FIRST.has(column) ? "down" : "up";
    const other = first === "up" ? "down" : "up";
    this.change({ sort: column, order: this.state.sort === column && this.state.order === first ? other : first, page: 1 });
  }

  async refresh() {
    const mine = ++this.latest;
    const found = await attempt(() => get(`${this.api}/candidates?${new URLSearchParams(this.state)}`));
    if (found && mine === this.latest) this.draw(found); // answers may overtake one another
  }

  draw(found) {
    this.pages = found.pages;
    this.state.page = found.page;
    const head = $("candidates").tHead.rows[0];
    if (!head.cells.length)
      for (const column of found.columns) {
        const cell = element("th", undefined, NUMBERS.has(column) ? "n" : ""), button = element("button", column);
        button.type = "button";
        button.dataset.column = column;
        button.addEventListener("click", () => this.sortBy(column));
        cell.append(button);
        head.append(cell);
      }
    found.columns.forEach((column, number) => {
      const sorted = column === this.state.sort;
      head.cells[number].ariaSort = sorted ? (this.state.order === "up" ? "ascending" : "descending") : "none";
      head.cells[number].firstChild.textContent = column + (sorted ? (this.state.order === "up" ? " ▲" : " ▼") : "");
    });
    redrawRows(this.body, found.candidates.map((candidate) => this.line(candidate, found.columns)));
    $("shown").textContent = `${figure(found.found)} of ${figure(found.total)}`;
    $("page").textContent = `page ${found.page} of ${found.pages}`;
    $("previous").disabled = found.page <= 1;
    $("next").disabled = found.page >= found.pages;
  }

  line(candidate, columns) {
    const row = element("tr");
    for (const column of columns) {
      const value = candidate[column], cell = element("td", undefined, NUMBERS.has(column) ? "n" : "");
      const text = Array.isArray(value) ? value.join(", ") : column === "score" ? scoreText(value) : typeof value === "number" ? figure(value) : value ?? "";
      if (column === "candidate") cell.append(link(text, `${this.address}/candidates/${value}`));
      else if (column === "verdict") {
        cell.append(element("span", text, `verdict-${value}`));
        if (candidate.rules.length) cell.append(element("span", ` ${[...new Set(candidate.rules)].join(", ")}`, "note"));
      } else cell.textContent = text;
      row.append(cell);
    }
    return row;
  }
}
