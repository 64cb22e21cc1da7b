// Shortcuts, and the list of them under "?". None works while one writes, but Escape and those with Control.
import { $, element } from "./dom.js";

const known = [];
const writes = (target) => target.closest("input:not([type=checkbox]), textarea, select") !== null;

export function key(name, meaning, work, { whileWriting = false } = {}) {
  known.push({ name, meaning, work, whileWriting });
}

// Arrow keys and Home, End move through the rows of a table body; Enter follows the first link in one.
export function rows(body) {
  body.addEventListener("keydown", (event) => {
    const row = event.target.closest("tr");
    if (!row || event.target !== row) return;
    const all = [...body.rows], at = all.indexOf(row);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1, j: at + 1, k: at - 1 }[event.key];
    if (to !== undefined && all[to]) {
      event.preventDefault();
      event.stopPropagation();
      focusRow(all[to], all);
    } else if (event.key === "Enter") row.querySelector("a")?.click();
  });
  body.addEventListener("focusin", (event) => {
    const row = event.target.closest("tr");
    if (row) for (const one of body.rows) one.tabIndex = one === row ? 0 : -1;
  });
}

function focusRow(row, all) {
  for (const one of all) one.tabIndex = -1;
  row.tabIndex = 0;
  row.focus();
}

export function firstRow(body) {
  if (body.rows.length) focusRow(body.rows[0], [...body.rows]);
}

// One row can be reached by Tab; the arrows do the rest. Keeps the focus where it was when rows are drawn anew.
export function redrawRows(body, made) {
  const at = [...body.rows].findIndex((row) => row.contains(document.activeElement));
  body.replaceChildren(...made);
  made.forEach((row, number) => { row.tabIndex = number === Math.max(0, at) ? 0 : -1; });
  if (at >= 0 && made.length) made[Math.min(at, made.length - 1)].focus();
}

function help() {
  const list = $("keys-list");
  list.replaceChildren();
  for (const one of known) {
    const name = element("dt");
    name.append(element("kbd", one.name));
    list.append(name, element("dd", one.meaning));
  }
  $("keys").showModal();
}

document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]")) return;
  const pressed = (event.ctrlKey || event.metaKey ? "Ctrl-" : "") + event.key;
  for (const one of known) {
    if (one.name !== pressed || event.altKey || (writes(event.target) && !one.whileWriting)) continue;
    event.preventDefault();
    one.work();
    return;
  }
});
$("keys-button").addEventListener("click", help);
key("?", "this list", help);
key("h", "all runs", () => { location.href = "/"; });
