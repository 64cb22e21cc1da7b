"use strict";
// All text of the run is set as text, never as markup: programs and feedback are written by models.
async function unpacked() {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (one) => one.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

unpacked().then((data) => {
const rows = new Map(data.rows.map((row) => [row.row, row]));
const calls = new Map(data.calls.map((call) => [call.proposal + "." + call.turn, call]));
const differences = data.differences;

function element(kind, text, className) {
  const made = document.createElement(kind);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

const panel = document.getElementById("panel");
let opener = null;

function shownDifference(text) {
  const pre = element("pre", undefined, "diff");
  for (const line of text.split("\n")) {
    const kind = line.startsWith("@@") || line.startsWith("+++") || line.startsWith("---") ? "place"
      : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "";
    pre.append(element("span", line, kind));
  }
  return pre;
}

function open(number) {
  const row = rows.get(number);
  if (!row) return;
  document.getElementById("panel-title").textContent = `Row ${row.row} of the table events: ${row.kind}`;
  const body = document.getElementById("panel-body");
  body.replaceChildren(element("p", `Appended ${row.time}.`, "note"));
  const { source, feedback, ...rest } = row.data;
  if (row.kind === "Judged") {
    const parent = differences[row.data.candidate];
    if (feedback) body.append(element("h3", "Feedback"), element("pre", feedback));
    body.append(element("h3", "Program"), element("pre", source || "(no program)"));
    if (parent) body.append(element("h3", "Against its first parent"), shownDifference(parent));
    const call = calls.get(row.data.proposal + "." + row.data.turn);
    if (call && row.data.derived_from === null)
      body.append(element("h3", `Reply of ${call.model} (row ${call.proposal}.${call.turn} of the table calls)`), element("pre", call.reply));
  } else if (source) body.append(element("pre", source));
  body.append(element("h3", "All that the row says"), element("pre", JSON.stringify(rest, null, 1)));
  panel.hidden = false;
  panel.focus();
}

function close() {
  panel.hidden = true;
  history.replaceState(null, "", location.pathname + location.search);
  if (opener) opener.focus();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#row-']");
  if (link) opener = link;
  const filtered = event.target.closest("[data-filter], [data-model]");
  if (filtered) { filter.value = filtered.dataset.filter || filtered.dataset.model; list(); }
});
document.getElementById("close").addEventListener("click", close);
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !panel.hidden) close(); });
function follow() {
  const found = /^#row-(\d+)$/.exec(location.hash);
  if (found) open(Number(found[1]));
}
window.addEventListener("hashchange", follow);

const filter = document.getElementById("filter");
const PAGE = 200;
let most = PAGE, sortBy = "candidate", upwards = true;
const texts = data.candidates.map((c) => [c.candidate, c.verdict, c.operator, c.origin, c.rules.join(" "), c.model || ""].join(" ").toLowerCase());

function list() {
  const wanted = filter.value.trim().toLowerCase();
  const found = data.candidates.filter((c, n) => !wanted || texts[n].includes(wanted));
  found.sort((a, b) => {
    const [x, y] = [a[sortBy], b[sortBy]];
    if (x === null || x === undefined) return 1;
    if (y === null || y === undefined) return -1;
    return (x < y ? -1 : x > y ? 1 : 0) * (upwards ? 1 : -1);
  });
  const body = document.createElement("tbody");
  for (const candidate of found.slice(0, most)) {
    const line = element("tr");
    for (const column of data.columns) {
      const value = candidate[column], cell = element("td", undefined, typeof value === "number" ? "n" : "");
      const text = Array.isArray(value) ? value.join(", ") : value === null || value === undefined ? "" : column === "score" ? value.toPrecision(5) : String(value);
      if (column === "candidate" || column === "score") {
        const link = element("a", text, "row");
        link.href = "#row-" + candidate.row;
        cell.append(link);
      } else cell.textContent = text;
      line.append(cell);
    }
    body.append(line);
  }
  document.querySelector("#candidates tbody").replaceWith(body);
  document.getElementById("shown").textContent = `${Math.min(most, found.length)} of ${found.length} shown`;
  document.getElementById("more").hidden = found.length <= most;
}
filter.addEventListener("input", () => { most = PAGE; list(); });
document.getElementById("more").addEventListener("click", () => { most += 5 * PAGE; list(); });
for (const button of document.querySelectorAll("[data-sort]"))
  button.addEventListener("click", () => {
    upwards = sortBy === button.dataset.sort ? !upwards : true;
    sortBy = button.dataset.sort;
    list();
  });
list();
follow();
});
