// The map of behaviour, drawn by uPlot: each policy by two of its measures, the better its score the stronger its colour.
import { element, figure, get, scoreText } from "./dom.js";

const SHADES = ["40", "60", "88", "b8", "ff"];
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export class BehaviourMap {
  constructor(place, address, across, up) {
    Object.assign(this, { place, address, across, up });
    for (const choice of [across, up]) choice.addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.plot?.setSize({ width: place.clientWidth, height: this.height() })).observe(place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  height() {
    return Math.min(420, Math.max(280, this.place.clientWidth * 0.6));
  }

  show(data) {
    this.data = data;
    [this.across, this.up].forEach((choice, n) => {
      const chosen = data.axes.includes(choice.value) ? choice.value : data.first[n];
      choice.replaceChildren(...data.axes.map((name) => new Option(name, name, false, name === chosen)));
    });
    this.draw();
  }

  draw() {
    const data = this.data;
    if (!data) return;
    if (data.axes.length < 2 || !data.points.some((one) => one.kind === "candidate")) {
      this.place.replaceChildren(element("p", "Too few candidates have a score yet.", "none"));
      return;
    }
    const [x, y] = [this.across, this.up].map((choice) => data.axes.indexOf(choice.value));
    const shown = data.points.filter((one) => Number.isFinite(one.values[x]) && Number.isFinite(one.values[y]));
    shown.sort((a, b) => a.values[x] - b.values[x]);
    const scores = shown.filter((one) => one.kind === "candidate").map((one) => one.score).sort((a, b) => a - b);
    const shade = (one) => Math.min(4, Math.floor((5 * scores.findIndex((score) => score >= one.score)) / scores.length));
    const kinds = [
      ...SHADES.map((_, n) => ({ label: ["lowest fifth of the scores", "second", "middle", "fourth", "highest fifth"][n], has: (one) => one.kind === "candidate" && one.candidate !== data.best && shade(one) === n, tint: colour("accent") + SHADES[n], size: 7 })),
      { label: "the best", has: (one) => one.candidate === data.best && data.best !== null, tint: colour("good"), size: 13 },
      { label: "baseline", has: (one) => one.kind === "baseline", tint: colour("base"), size: 8 },
      { label: "oracle", has: (one) => one.kind === "oracle", tint: colour("dim"), size: 8 },
    ];
    const numbers = (value) => (value === null || value === undefined ? "-" : figure(Number(value.toPrecision(5))));
    const series = [{ label: this.across.value, value: (_, value) => numbers(value) }], values = [shown.map((one) => one.values[x])];
    for (const { label, has, tint, size } of kinds) {
      series.push({ label, value: (_, value) => numbers(value), stroke: tint, paths: () => null, points: { show: true, size, fill: tint, width: 0 } });
      values.push(shown.map((one) => (has(one) ? one.values[y] : null)));
    }
    this.shown = shown;
    const grid = { stroke: colour("line"), width: 1 }, ink = colour("dim");
    const range = (u, low, high) => { const room = 0.05 * (high - low) || Math.abs(high) * 0.05 || 1; return [low - room, high + room]; };
    this.plot?.destroy();
    this.plot = new uPlot({
      width: this.place.clientWidth, height: this.height(), series, legend: { live: false },
      scales: { x: { time: false, range }, y: { range } },
      axes: [{ stroke: ink, grid, ticks: grid, label: this.across.value, labelSize: 18, size: 34 }, { stroke: ink, grid, ticks: grid, size: 64, label: this.up.value, labelSize: 18 }],
      cursor: { drag: { x: true, y: true }, points: { show: false } },
      hooks: { draw: [(u) => this.names(u, shown.filter((one) => one.candidate === null), x, y)], setCursor: [(u) => this.tell(u, x, y)] },
    }, values, this.place);
    this.said = element("p", "Move over a point to read what it is; click it to open the candidate.", "note");
    this.said.id = "map-said";
    this.place.replaceChildren(this.plot.root, this.said);
    this.plot.over.addEventListener("click", () => {
      const nearest = this.nearest(x, y);
      if (nearest?.candidate) location.href = `${this.address}/candidates/${nearest.candidate}`;
    });
    this.place.dataset.points = shown.length;
  }

  // The names of the known policies, each beside its point, but where another name is already.
  names(u, known, x, y) {
    const taken = [], { ctx } = u, size = 11 * devicePixelRatio;
    ctx.save();
    ctx.font = `${size}px system-ui, sans-serif`;
    ctx.fillStyle = colour("ink");
    [ctx.textAlign, ctx.textBaseline] = ["left", "alphabetic"];
    for (const one of known) {
      const left = u.valToPos(one.values[x], "x", true), top = u.valToPos(one.values[y], "y", true), width = ctx.measureText(one.policy).width;
      const from = left + width + 2 * size > u.bbox.left + u.bbox.width ? left - width - 0.6 * size : left + 0.6 * size;
      const box = [from, top - size, from + width, top + 0.3 * size];
      if (taken.some(([a, b, c, d]) => box[0] < c && a < box[2] && box[1] < d && b < box[3])) continue;
      taken.push(box);
      ctx.fillText(one.policy, from, top + 0.35 * size);
    }
    ctx.restore();
  }

  nearest(x, y) {
    const { left, top } = this.plot.cursor;
    let found = null, least = 18 ** 2;
    for (const one of this.shown) {
      const far = (this.plot.valToPos(one.values[x], "x") - left) ** 2 + (this.plot.valToPos(one.values[y], "y") - top) ** 2;
      if (far < least) [found, least] = [one, far];
    }
    return found;
  }

  tell(u, x, y) {
    if (!this.said || u.cursor.left < 0) return;
    const one = this.nearest(x, y);
    if (one) this.said.textContent = `${one.policy}, ${one.kind === "candidate" ? "" : `${one.kind}, `}score ${scoreText(one.score)}: ${this.across.value} ${figure(Number(one.values[x].toPrecision(5)))}, ${this.up.value} ${figure(Number(one.values[y].toPrecision(5)))}`;
  }
}

export const behaviourOf = (api) => get(`${api}/behaviour`);
