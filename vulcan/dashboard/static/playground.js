// A policy that is edited: checked as one writes, scored at a button or in a pause.
import { $, attempt, cells, element, figure, post, scoreText, settled } from "./dom.js";
import { key } from "./keys.js";

const { api, candidate } = $("playground").dataset;
const editor = $("source");
let checking = null, scoring = false, scored = "", accepted = false;

function gutter() {
  const lines = editor.value.split("\n").length;
  $("gutter").textContent = Array.from({ length: lines }, (_, n) => n + 1).join("\n") + "\n\n";
  $("gutter").scrollTop = editor.scrollTop;
}

function goTo(line, column) {
  const lines = editor.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0) + column - 1;
  editor.focus();
  editor.setSelectionRange(start, start + 1);
}

function finding(one, kind) {
  const line = element("li", undefined, kind), to = element("button", `${one.line}:${one.column}`);
  to.type = "button";
  to.title = "go there";
  to.addEventListener("click", () => goTo(one.line, one.column));
  line.append(to, " ", element("span", one.rule, "rule"), ` ${one.message}`);
  if (one.excerpt) line.append(element("br"), element("code", one.excerpt));
  if (one.hint) line.append(element("br"), element("span", one.hint, "note"));
  return line;
}

function shown(verdict) {
  accepted = verdict.verdict === "accepted";
  $("verdict").className = `state ${verdict.verdict}`;
  $("verdict").textContent = verdict.verdict;
  const of = verdict.operations.length > 1;
  const bounds = verdict.operations.map((one) => `${figure(one.operations)} operations per call${of ? ` of ${one.function}` : ""}`);
  const constants = Object.keys(verdict.parameters).length;
  $("bound").textContent = bounds.length
    ? `At most ${bounds.join(", ")} (limit ${figure(verdict.limit)}); ${figure(verdict.size)} nodes${constants ? `, ${constants} of them constants that a search would tune` : ""}.`
    : verdict.size === null ? "" : `${figure(verdict.size)} nodes; free Python has no bound before it runs.`;
  $("check-message").hidden = !verdict.message;
  $("check-message").textContent = verdict.message;
  const made = [...verdict.violations.map((one) => finding(one, "violation")), ...verdict.warnings.map((one) => finding(one, "warning"))];
  if (!made.length && !verdict.message) made.push(element("li", "No warnings.", "none"));
  $("findings").replaceChildren(...made);
}

async function check() {
  checking?.abort();
  const mine = (checking = new AbortController());
  const verdict = await attempt(() => post(`${api}/check`, { source: editor.value }, { signal: mine.signal, patience: 10_000 }));
  if (verdict && mine === checking) shown(verdict);
}

async function score() {
  if (scoring) return;
  scoring = true;
  const source = editor.value, instance = $("instance").value;
  $("score").disabled = true;
  $("result").textContent = "scoring";
  const result = await attempt(() => post(`${api}/score`, { source, instance }, { patience: 0 }));
  scoring = false;
  $("score").disabled = false;
  if (!result) {
    $("result").textContent = "-";
    return;
  }
  $("result").classList.remove("stale");
  scored = source + "\0" + instance;
  $("result").textContent = result.score === null ? result.status : scoreText(result.score);
  $("result-note").textContent = result.score === null ? result.message : `on ${result.instance}, in ${result.seconds.toFixed(2)} s`;
  const own = result.score === null ? [] : [{ policy: "this policy", kind: "playground", score: result.score }];
  const lines = [...result.comparison, ...own].sort((a, b) => b.score - a.score);
  $("beside").tBodies[0].replaceChildren(...lines.map((one) => cells(element("tr", undefined, one.kind === "playground" ? "ours" : ""), [one.policy, one.kind, element("span", scoreText(one.score))])));
  for (const row of $("beside").rows) row.cells[2].className = "n";
}

const checkSoon = settled(check, 250, 1500);
const scoreSoon = settled(() => {
  if ($("idle").checked && accepted && scored !== editor.value + "\0" + $("instance").value) score();
}, 1800);

editor.addEventListener("input", () => {
  $("verdict").textContent = "checking";
  const stale = scored && scored !== editor.value + "\0" + $("instance").value;
  $("result").classList.toggle("stale", Boolean(stale));
  if (stale && !$("result-note").textContent.startsWith("an earlier")) $("result-note").textContent = `an earlier version of the policy ${$("result-note").textContent}`;
  gutter();
  checkSoon();
  scoreSoon();
});
editor.addEventListener("scroll", () => { $("gutter").scrollTop = editor.scrollTop; });
editor.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const before = editor.value.slice(0, editor.selectionStart);
  const line = before.slice(before.lastIndexOf("\n") + 1);
  const indent = /^\s*/.exec(line)[0] + (/:\s*$/.test(line) ? "    " : "");
  if (!indent) return;
  event.preventDefault();
  document.execCommand("insertText", false, "\n" + indent); // unlike setRangeText it can be undone
});
$("idle").addEventListener("change", scoreSoon);
$("instance").addEventListener("change", scoreSoon);
$("score").addEventListener("click", score);
key("Ctrl-Enter", "score the policy", score, { whileWriting: true });
key("e", "into the editor", () => editor.focus());
gutter();
check();
