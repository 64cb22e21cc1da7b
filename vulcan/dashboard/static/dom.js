// What all pages share. Text of a run is set as text, never as markup: models wrote it.

export const $ = (id) => document.getElementById(id);

export function element(kind, text, className) {
  const made = document.createElement(kind);
  if (text !== undefined && text !== null) made.textContent = text;
  if (className) made.className = className;
  return made;
}

export function cells(row, values) {
  for (const value of values) {
    const cell = element("td", undefined, typeof value === "number" ? "n" : "");
    if (value instanceof Node) cell.append(value);
    else cell.textContent = typeof value === "number" ? figure(value) : value ?? "";
    row.append(cell);
  }
  return row;
}

// Five significant digits, whole numbers with their thousands apart.
export function figure(value) {
  if (value === null || value === undefined) return "-";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-4 ? value.toExponential(4).replace(/\.?0+e/, "e") : String(Number(value.toPrecision(5)));
}

// Scores in columns: four decimals, so that they align.
export const scoreText = (value) => (Number.isFinite(value) ? value.toFixed(4) : "-");

export const clock = (time) => (time ? new Date(time).toLocaleTimeString([], { hour12: false }) : "");
export const moment = (time) => (time ? new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short", hour12: false }) : "");

export function link(text, address) {
  const made = element("a", text);
  made.href = address;
  return made;
}

async function answer(response) {
  const type = response.headers.get("content-type") || "";
  if (response.status === 403) throw new Error("access denied: `vulcan ui` was started again; open the address that it printed");
  if (!type.startsWith("application/json")) throw new Error((await response.text()).trim().slice(0, 300));
  const document = await response.json();
  if (!response.ok) throw new Error(document.error);
  return document;
}

export const SILENT = "the page's server does not answer: is `vulcan ui` still running?";

// `patience`: milliseconds until a server that takes a request and does not answer it is given up.
export async function get(address, patience = 10_000) {
  const late = new AbortController(), timer = setTimeout(() => late.abort(), patience);
  try {
    return await answer(await fetch(address, { signal: late.signal }));
  } catch (error) {
    if (late.signal.aborted || error instanceof TypeError) throw new Error(SILENT); // fetch throws a TypeError
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

// A mistake in one line at the top of the page; an empty text takes it away.
export function trouble(text) {
  const place = $("trouble");
  place.hidden = !text;
  place.textContent = text;
}

// Says that the server does not answer, and asks every second until it does.
let watching = 0;
export function watchConnection(work) {
  trouble(SILENT);
  if (watching) return;
  const again = async () => { watching = (await work()) ? 0 : setTimeout(again, 1000); };
  watching = 1;
  again();
}

export async function attempt(work) {
  try {
    const done = await work();
    trouble("");
    return done;
  } catch (error) {
    if (error.name !== "AbortError") trouble(error.message);
    return undefined;
  }
}

// Runs the work once things are quiet for so long, or at the latest after `most` milliseconds.
export function settled(work, quiet, most = quiet) {
  let timer = 0, first = 0;
  return () => {
    const now = performance.now();
    first ||= now;
    clearTimeout(timer);
    timer = setTimeout(() => { first = 0; work(); }, Math.max(0, Math.min(quiet, first + most - now)));
  };
}

export function shownState(place, status) {
  const words = { asked: "waits for replies" };
  place.className = "state " + status.state;
  place.textContent = words[status.state] || status.state;
}
