// The list of runs, kept up to date.
import { $, attempt, cells, element, get, link, moment, scoreText, shownState } from "./dom.js";
import { firstRow, key, redrawRows, rows } from "./keys.js";

const body = $("runs").tBodies[0];
let drawn = "";

function line(run) {
  const state = element("span");
  shownState(state, run.status);
  if (run.status.message) state.title = run.status.message;
  const beside = (score, baseline) => {
    const both = element("span", scoreText(score));
    if (Number.isFinite(score) && baseline) both.append(element("br"), element("span", `${baseline.policy} ${scoreText(baseline.score)}`, "none"));
    return both;
  };
  const row = cells(element("tr"), [
    link(run.run, "/runs/" + encodeURIComponent(run.run)), state, run.task?.split("/").pop(), run.model.join(", "),
    run.candidates, beside(run.train, run.baselines.train), beside(run.test, run.baselines.test), moment(run.begun),
  ]);
  for (const at of [5, 6]) row.cells[at].className = "n";
  if (run.title) row.cells[0].prepend(element("strong", run.title), element("br"));
  if (run.status.state === "damaged") row.cells[2].textContent = run.status.message;
  return row;
}

async function refresh() {
  const document = await attempt(() => get("/api/runs", 2000));
  if (!document) return;
  const text = JSON.stringify(document);
  if (text === drawn) return;
  drawn = text;
  const made = document.runs.map(line);
  if (!made.length) made.push(cells(element("tr"), ["There are no runs yet: `vulcan search --task cache_eviction` makes one."]));
  if (!document.runs.length) made[0].cells[0].colSpan = 8;
  redrawRows(body, made);
}

async function keepUp() {
  await refresh();
  setTimeout(keepUp, document.hidden ? 10000 : 1500);
}

rows(body);
key("j", "into the list; then j, k or the arrows, and Enter", () => firstRow(body));
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
keepUp();
