// The list of runs, kept up to date: sorted, filtered, and two or more of it compared.
import { $, attempt, element, figure, get, link, moment, scoreText, shownState } from "./dom.js";
import { firstRow, key, redrawRows, rows } from "./keys.js";

const body = $("runs").tBodies[0], buttons = [...document.querySelectorAll("#runs [data-sort]")];
const chosen = new Set();
let all = [], drawn = "", sort = "begun", down = true;

const task = (run) => (run.task || "").split("/").pop();
const instance = (run) => `${run.instances[0] || ""}${run.instances.length > 1 ? ` and ${run.instances.length - 1} more` : ""}`;
const signed = (value) => (Number.isFinite(value) ? `${value < 0 ? "" : "+"}${value.toFixed(4)}` : "-");
const VALUES = {
  run: (run) => run.title || run.run, state: (run) => run.status.state, task, instance, model: (run) => run.model.join(", "),
  candidates: (run) => run.candidates, train: (run) => run.train, test: (run) => run.test,
  verdict: (run) => run.conclusion, gain: (run) => run.gain, begun: (run) => run.begun || "9",
};

function cell(row, value, className) {
  const made = element("td", undefined, className);
  made.append(value ?? "");
  row.append(made);
}

function beside(score, baseline) {
  const both = element("span", scoreText(score));
  if (Number.isFinite(score) && baseline) both.append(element("br"), element("span", `${baseline.policy} ${scoreText(baseline.score)}`, "none"));
  return both;
}

function line(run) {
  const row = element("tr"), state = element("span"), name = element("span"), box = element("input");
  box.type = "checkbox";
  box.checked = chosen.has(run.run);
  box.ariaLabel = `select ${run.run}`;
  box.addEventListener("change", () => { if (box.checked) chosen.add(run.run); else chosen.delete(run.run); compare(); });
  shownState(state, run.status);
  if (run.status.message) state.title = run.status.message;
  if (run.title) name.append(element("strong", run.title), element("br"));
  name.append(link(run.run, "/runs/" + encodeURIComponent(run.run)), element("br"), element("span", moment(run.begun), "none"), " ", state);
  for (const tag of run.tags) name.append(" ", element("span", tag, "tag"));
  cell(row, box);
  cell(row, name);
  cell(row, run.doubt ? `${run.conclusion}: ${run.doubt}` : run.conclusion);
  cell(row, signed(run.gain), "n");
  cell(row, run.status.state === "damaged" ? run.status.message : task(run));
  cell(row, instance(run), "long");
  cell(row, beside(run.test, run.baselines.test), "n");
  cell(row, beside(run.train, run.baselines.train), "n");
  cell(row, figure(run.candidates), "n");
  cell(row, run.model.join(", "));
  return row;
}

function compare() {
  $("compare").hidden = chosen.size < 2;
  $("compare").href = "/compare?" + new URLSearchParams([...chosen].map((name) => ["run", name]));
  $("compare").textContent = `Compare ${chosen.size} runs`;
}

function show() {
  const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const texts = (run) => [run.run, run.title, ...run.tags, run.status.state, run.conclusion, task(run), ...run.instances, ...run.model].join(" ").toLowerCase();
  const found = all.filter((run) => { const text = texts(run); return words.every((word) => text.includes(word)); });
  const none = (value) => value === null || value === undefined || value === "";
  found.sort((a, b) => {
    const [x, y] = [a, b].map(VALUES[sort]);
    if (none(x) || none(y)) return none(x) - none(y);
    return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
  });
  for (const button of buttons) {
    const sorted = button.dataset.sort === sort;
    button.parentElement.ariaSort = sorted ? (down ? "descending" : "ascending") : "none";
    button.textContent = button.dataset.sort + (sorted ? (down ? " ▼" : " ▲") : "");
  }
  const made = found.map(line);
  if (!made.length) {
    const row = element("tr");
    cell(row, all.length ? "None matches." : "There are no runs yet: `vulcan search --task cache_eviction` makes one.");
    row.cells[0].colSpan = 10;
    made.push(row);
  }
  redrawRows(body, made);
}

async function refresh() {
  const document = await attempt(() => get("/api/runs", 2000));
  if (!document) return;
  const text = JSON.stringify(document);
  if (text === drawn) return;
  drawn = text;
  all = document.runs;
  show();
}

async function keepUp() {
  await refresh();
  setTimeout(keepUp, document.hidden ? 10000 : 1500);
}

for (const button of buttons)
  button.addEventListener("click", () => {
    const same = sort === button.dataset.sort;
    down = same ? !down : ["candidates", "train", "test", "gain", "begun"].includes(button.dataset.sort);
    sort = button.dataset.sort;
    show();
  });
$("filter").addEventListener("input", show);
rows(body);
key("j", "into the list; then j, k or the arrows, and Enter", () => firstRow(body));
key("/", "filter the runs", () => $("filter").focus());
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
keepUp();
