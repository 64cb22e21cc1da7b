// Best score over candidates, minutes, dollars or tokens, drawn by uPlot: hover, click, zoom, other runs.
import { element, figure, get, link } from "./dom.js";

const HEIGHT = 300;
const UNITS = { candidate: "candidate", minutes: "minutes", dollars: "dollars", tokens: "tokens" };
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// The values of one series at every place of the axis, by a table from place to value.
const along = (axis, table) => axis.map((place) => table.get(place) ?? null);

// A curve of best scores at every place: the last value known there, until the run's last place.
function steps(axis, points, last) {
  let at = 0, value = null;
  return axis.map((place) => {
    while (at < points.length && points[at][0] <= place) value = points[at++][1];
    return place <= last ? value : null;
  });
}

// The runs laid over: seeds of one configuration are a band from the worst to the best, others a line each.
function overlaid(axis, others, place) {
  const groups = new Map();
  for (const other of others) {
    const curve = steps(axis, other.best.map(([n, score]) => [place(other, n), score]), place(other, other.last));
    groups.set(other.configuration, [...(groups.get(other.configuration) || []), { name: other.run, curve }]);
  }
  const made = [];
  for (const members of groups.values()) {
    if (members.length < 2) {
      made.push({ names: [members[0].name], curves: [members[0].curve] });
      continue;
    }
    const known = axis.map((_, n) => members.map((one) => one.curve[n]).filter((one) => one !== null));
    const [low, high] = [Math.min, Math.max].map((end) => known.map((all) => (all.length ? end(...all) : null)));
    made.push({ names: [`${members.length} seeds, best`, `${members.length} seeds, worst`], curves: [high, low] });
  }
  return made;
}

export class Chart {
  constructor(place, address, choice) {
    this.place = place;
    this.address = address;
    this.axis = choice;
    this.zoomed = false;
    new ResizeObserver(() => this.plot?.setSize({ width: place.clientWidth, height: HEIGHT })).observe(place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (this.data) this.draw(this.data, this.others); });
  }

  draw(data, others = []) {
    [this.data, this.others] = [data, others];
    if (!data.range) {
      this.place.replaceChildren(element("p", "Nothing has a score yet.", "none"));
      return;
    }
    const unit = this.axis?.value || "candidate";
    const place = (run, candidate) => (unit === "candidate" ? candidate : run.at[candidate]?.[unit] ?? 0);
    const nodes = new Map(data.lineage.flat());
    const points = new Map([...data.points, ...data.best, ...nodes]);
    this.candidates = new Map([...points.keys()].map((n) => [place(data, n), n]));
    const mark = (table) => new Map([...table].map(([n, score]) => [place(data, n), score]));
    const ends = others.flatMap((other) => [...other.best.map(([n]) => place(other, n)), place(other, other.last)]);
    const axis = [...new Set([0, ...this.candidates.keys(), place(data, data.last), ...ends])].sort((a, b) => a - b);
    const [low, high] = data.range;
    const scores = mark(points);
    for (const [at, score] of scores) if (score < low) scores.set(at, null);
    const series = [{ label: UNITS[unit], value: (_, value) => (value === null ? "-" : figure(Number(value.toPrecision(6)))) }];
    const values = [axis], bands = [];
    const add = (label, data, look) => {
      series.push({ label, value: (_, value) => (value === null || value === undefined ? "-" : value.toFixed(4)), points: { show: false }, ...look });
      values.push(data);
    };
    const dots = (tint, size) => ({ stroke: tint, paths: () => null, points: { show: true, size, fill: tint, width: 0 } });
    const stepped = uPlot.paths.stepped({ align: 1 });
    add("a candidate", along(axis, scores), dots(colour("point"), 4));
    add("best so far", steps(axis, data.best.map(([n, score]) => [place(data, n), score]), place(data, data.last)), { stroke: colour("accent"), width: 2.5, paths: stepped });
    if (data.baseline) add(data.baseline.policy, axis.map(() => data.baseline.score), { stroke: colour("base"), width: 1.6, dash: [6, 4] });
    add("ancestor of the best", along(axis, mark(nodes)), dots(colour("good"), 9));
    const tints = ["link", "warn", "bad", "good"].map(colour);
    overlaid(axis, others, place).forEach(({ names, curves }, n) => {
      if (curves.length === 2) bands.push({ series: [series.length, series.length + 1], fill: tints[n % 4] + "30" });
      names.forEach((name, k) => add(name, curves[k], { stroke: tints[n % 4], width: 1.5, paths: stepped, spanGaps: false }));
    });
    const shown = this.zoomed ? this.plot.scales : null;
    const bounds = shown && this.unit === unit ? { x: [shown.x.min, shown.x.max], y: [shown.y.min, shown.y.max] } : null;
    const top = Math.max(high, ...others.flatMap((other) => (other.range ? [other.range[1]] : [])));
    const grid = { stroke: colour("line"), width: 1 }, ink = colour("dim");
    this.plot?.destroy();
    this.unit = unit;
    this.plot = new uPlot({
      width: this.place.clientWidth, height: HEIGHT, series, bands,
      scales: { x: { time: false }, y: { range: (u, min, max) => (this.zooming ? [min, max] : bounds?.y || [low, top]) } },
      axes: [{ stroke: ink, grid, ticks: grid, label: UNITS[unit], labelSize: 18, size: 34 }, { stroke: ink, grid, ticks: grid, size: 64 }],
      cursor: { drag: { x: true, y: false }, focus: { prox: 30 } },
      hooks: {
        setSelect: [(u) => { this.zoomed = u.select.width > 0; }],
        draw: [(u) => this.descent(u, data.lineage.map((edge) => edge.map(([n, score]) => [place(data, n), score])))],
      },
    }, values, this.place);
    this.place.replaceChildren(this.plot.root);
    if (bounds) this.plot.setScale("x", { min: bounds.x[0], max: bounds.x[1] });
    this.plot.over.addEventListener("click", () => this.open());
    this.plot.over.addEventListener("dblclick", () => { this.zoomed = false; });
    this.place.dataset.series = series.slice(1).map((one) => one.label).join("|");
  }

  descent(u, edges) {
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    u.ctx.clip();
    u.ctx.strokeStyle = colour("good");
    u.ctx.lineWidth = 1.5 * devicePixelRatio;
    u.ctx.beginPath();
    for (const [[x, y], [toX, toY]] of edges) {
      u.ctx.moveTo(u.valToPos(x, "x", true), u.valToPos(y, "y", true));
      u.ctx.lineTo(u.valToPos(toX, "x", true), u.valToPos(toY, "y", true));
    }
    u.ctx.stroke();
    u.ctx.restore();
  }

  // The candidate nearest to the cursor, by both coordinates.
  open() {
    const { left, top } = this.plot.cursor;
    let nearest = null, least = 20 ** 2;
    for (const series of [1, 2, 3, 4].filter((n) => /candidate|ancestor/.test(this.plot.series[n]?.label)))
      this.plot.data[series].forEach((score, n) => {
        if (score === null) return;
        const place = this.plot.data[0][n];
        const far = (this.plot.valToPos(place, "x") - left) ** 2 + (this.plot.valToPos(score, "y") - top) ** 2;
        if (far < least && this.candidates.has(place)) [nearest, least] = [this.candidates.get(place), far];
      });
    if (nearest !== null) location.href = `${this.address}/candidates/${nearest}`;
  }
}

// The tree of descent as a table: each ancestor with its operator and model, and what it gained over its best parent.
export function descentTable(table, rows, address) {
  table.tBodies[0].replaceChildren(...rows.map((one) => {
    const row = element("tr"), parents = element("td");
    one.parents.forEach((parent, n) => parents.append(n ? ", " : "", link(parent, `${address}/candidates/${parent}`)));
    const number = element("td", undefined, "n");
    number.append(link(one.candidate, `${address}/candidates/${one.candidate}`));
    row.append(number, parents, element("td", one.operator), element("td", one.model || one.origin));
    for (const value of [one.score, one.gain]) row.append(element("td", value === null ? "-" : value.toFixed(4), "n"));
    return row;
  }));
}

export function operatorTable(table, rows) {
  table.tBodies[0].replaceChildren(...rows.map((one) => {
    const row = element("tr");
    row.append(element("td", one.operator), element("td", one.model));
    for (const value of [figure(one.proposals), `${Math.round(100 * one.accepted)} %`, figure(one.improved), one.gain.toFixed(4)])
      row.append(element("td", value, "n"));
    return row;
  }));
}

export const chartOf = (api, candidate) => get(`${api}/chart${candidate ? `?of=${candidate}` : ""}`);
