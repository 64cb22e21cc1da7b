// One run: how it stands, what happens in it, and its candidates.
import { colourAll } from "./code.js";
import { $, attempt, cells, clock, element, figure, get, link, moment, scoreText, settled, shownState, watchConnection } from "./dom.js";
import { draw } from "./figures.js";
import { Candidates } from "./table.js";

const { api, address } = $("run").dataset;
const FEED = 60; // lines

const candidates = new Candidates(api, address);

function text(id, value) {
  $(id).textContent = value;
}

const isOurs = (line) => line.kind === "candidate";

function glance(run) {
  shownState($("state"), run.status);
  text("title", run.notes.title || run.run);
  $("name").hidden = !run.notes.title;
  $("note").hidden = !run.notes.note;
  text("note", run.notes.note);
  document.title = `${run.notes.title || run.run} - Vulcan`;
  text("about", `${(run.task || "").split("/").pop()}, objective ${run.objective}; ${run.model.join(", ")}, ${run.strategy}, seed ${run.seed}; begun ${moment(run.begun)}`);
  $("verdict").hidden = !run.verdict;
  text("verdict", run.verdict || "");
  $("headline").hidden = !run.headline;
  text("headline", run.headline || "");
  program(run.source);
  $("tags").replaceChildren(...run.notes.tags.flatMap((tag) => [element("span", tag, "tag"), " "]));
  text("command", command(run));
  const message = run.status.message;
  $("message").hidden = !message;
  text("message", message);
  const best = run.best;
  const ours = run.policies.find(isOurs)?.scores || {};
  const held = ["test", "validation"].find((split) => Number.isFinite(ours[split]));
  text("best-title", held ? `Score on ${held}, held out` : "Best score on train");
  text("best", held ? scoreText(ours[held]) : best ? scoreText(best.score) : "-");
  const note = $("best-note");
  note.replaceChildren();
  if (best) note.append(link(`candidate ${best.candidate}`, `${address}/candidates/${best.candidate}`), best.chosen ? ", the winner" : ", the best so far", held ? `; ${scoreText(best.score)} on train` : "");
  const split = held || "train";
  const known = run.policies.filter((line) => line.kind === "baseline" && Number.isFinite(line.scores[split]));
  const rival = known.sort((a, b) => b.scores[split] - a.scores[split])[0];
  const baseline = rival ? { policy: rival.policy, score: rival.scores[split] } : run.baseline;
  text("baseline", baseline ? scoreText(baseline.score) : "-");
  const mine = held ? ours[held] : best?.score;
  const gap = best && baseline ? mine - baseline.score : null;
  text("baseline-note", baseline ? `${baseline.policy}${gap === null ? "" : `; the best is ${scoreText(Math.abs(gap))} ${gap >= 0 ? "above" : "below"} it`}` : "");
  text("progress", run.planned === null ? figure(run.proposals) : `${figure(run.proposals)} of ${figure(run.planned)}`);
  $("bar").max = run.planned || 1;
  $("bar").value = run.proposals;
  const left = run.candidates_per_minute && run.planned ? (run.planned - run.proposals) / run.candidates_per_minute : null;
  text("pace", run.candidates_per_minute ? `${run.candidates_per_minute < 10 ? run.candidates_per_minute.toFixed(1) : Math.round(run.candidates_per_minute)} candidates per minute${left > 0 ? `, about ${left < 1.5 ? "a minute" : `${Math.round(left)} minutes`} to go` : ""}` : `${figure(run.candidates)} candidates`);
  text("spent", "$" + run.cost.dollars.toFixed(2) + (run.budgets.budget_dollars ? ` of $${run.budgets.budget_dollars}` : ""));
  const tokens = `${figure(run.cost.tokens)}${run.budgets.budget_tokens ? ` of ${figure(run.budgets.budget_tokens)}` : ""} tokens in ${figure(run.cost.calls)} calls`;
  text("spent-note", tokens + (run.cost.unpriced_calls ? `; ${run.cost.unpriced_calls} of unknown price` : ""));
}

let shownSource = "";

function program(source) {
  if (source === shownSource) return;
  shownSource = source;
  $("program").hidden = !source;
  $("program").querySelector("pre").replaceChildren(...source.trimEnd().split("\n").map((line) => element("span", `${line}\n`, "line")));
  colourAll();
}

// What to type where the command line is: the page itself changes nothing.
function command(run) {
  if (run.status.state === "running") return `Ctrl-C where it runs, or kill ${run.status.pid}, stops it; it can be resumed.`;
  if (["interrupted", "error", "crashed"].includes(run.status.state)) return `vulcan resume ${run.run}`;
  return run.best?.chosen ? `vulcan export ${run.run}` : "";
}

function policies(run) {
  const table = $("policies"), head = element("tr");
  for (const name of ["policy", "kind", ...run.splits]) head.append(element("th", name, run.splits.includes(name) ? "n" : ""));
  table.tHead.replaceChildren(head);
  const lines = run.policies.map((line) => {
    const row = element("tr", undefined, isOurs(line) ? "ours" : "");
    cells(row, [line.candidate === null ? line.policy : link(line.policy, `${address}/candidates/${line.candidate}`), line.kind]);
    for (const split of run.splits) row.append(element("td", scoreText(line.scores[split]), "n"));
    return row;
  });
  table.tBodies[0].replaceChildren(...lines);
  text("equal", run.equal);
}

function shares(run) {
  const found = [...Object.entries(run.verdicts), ...Object.entries(run.rules).map(([rule, times]) => [rule, times, "rule"])];
  const most = Math.max(1, ...found.map(([, times]) => times));
  const lines = found.map(([name, times, kind]) => {
    const button = element("button", name), bar = element("span", undefined, "bar"), row = element("tr");
    button.type = "button";
    button.className = "quiet";
    button.title = `show those that are ${name}`;
    button.addEventListener("click", () => { $("filter").value = name; candidates.change({ filter: name, page: 1 }); });
    bar.style.width = `${Math.max(1, (100 * times) / most)}%`;
    cells(row, [button, kind === "rule" ? "rule broken" : "", times, bar]);
    row.lastChild.className = "share";
    return row;
  });
  if (!lines.length) lines.push(cells(element("tr"), ["none yet"]));
  $("failures").tBodies[0].replaceChildren(...lines);
}

const feed = { newest: 0 };

function happened(rows) {
  const list = $("feed");
  for (const one of rows) {
    if (one.row <= feed.newest) continue;
    feed.newest = one.row;
    const line = element("li"), time = element("time", clock(one.time));
    time.dateTime = one.time;
    line.dataset.row = one.row;
    line.append(time, one.candidate === null ? element("span", one.text) : link(one.text, `${address}/candidates/${one.candidate}`));
    list.prepend(line);
  }
  while (list.childElementCount > FEED) list.lastChild.remove();
}

let drawnRow = -1, source = null, finished = false;

async function refresh() {
  const run = await attempt(() => get(api));
  if (!run) {
    unreachable();
    return null;
  }
  glance(run);
  finished = run.status.state === "finished";
  if (source?.readyState === EventSource.OPEN) live(true);
  if (!feed.newest) happened(run.log); // later rows come as events, without a gap
  if (run.row !== drawnRow) {
    drawnRow = run.row;
    policies(run);
    shares(run);
    await Promise.all([candidates.refresh(), attempt(async () => { await draw($("chart"), `${api}/figures/progress`); await draw($("instances"), `${api}/figures/instances`); await draw($("constants"), `${api}/figures/constants`, "No constants of the best program, or of what it came from, were tuned."); await draw($("map"), `${api}/figures/behaviour`, "Too few candidates have a score yet."); await draw($("tree"), `${api}/figures/descent`); $("tree").scrollLeft = $("tree").scrollWidth; })]);
  }
  return run;
}

const soon = settled(refresh, 250, 1000);

const SILENCE = 1600; // milliseconds: the server sends something every 0.4 s
let heard = 0;

function live(on) {
  $("live").className = on ? "live on" : "live";
  text("live", !on ? "not connected" : finished ? "complete" : "live");
}

function unreachable() {
  shownState($("state"), { state: "unreachable" });
  text("pace", "");
}

function listen(after) {
  source = new EventSource(`${api}/events?after=${after}`);
  heard = performance.now();
  const on = (kind, work) => source.addEventListener(kind, (event) => { heard = performance.now(); work(event); });
  on("open", () => live(true));
  on("beat", () => {});
  on("rows", (event) => { happened(JSON.parse(event.data).rows); soon(); });
  on("status", soon);
  on("failed", (event) => { attempt(() => { throw new Error(JSON.parse(event.data).error); }); source.close(); live(false); });
  source.addEventListener("error", lost);
}

// The server ended, or hangs. Once it answers again, it sends everything after the last row of the list.
function lost() {
  source.close();
  live(false);
  unreachable();
  watchConnection(async () => {
    const run = await refresh();
    if (run) listen(feed.newest || run.row);
    return run;
  });
}

window.addEventListener("pagehide", () => source?.close());
setInterval(() => {
  if (source && source.readyState !== EventSource.CLOSED && performance.now() - heard > SILENCE) lost();
}, 200);

window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
refresh().then((run) => listen(run ? run.row : 0));
