// Best score over candidates, as an SVG that is drawn from numbers.
import { element, figure, get } from "./dom.js";

const WIDTH = 1000, HEIGHT = 280, LEFT = 72, RIGHT = 16, TOP = 12, BOTTOM = 34;
const NS = "http://www.w3.org/2000/svg";

function svg(kind, attributes, text) {
  const made = document.createElementNS(NS, kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// About so many round numbers between two ends.
function ticks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const made = [];
  for (let n = Math.ceil(low / step); n * step <= high; n += 1) made.push(Number((n * step).toPrecision(12)));
  return made;
}

export function draw(place, data, address, told) {
  if (!data.range) {
    place.replaceChildren(element("p", "Nothing has a score yet.", "none"));
    return;
  }
  const [low, high] = data.range, last = Math.max(1, data.last);
  const x = (candidate) => LEFT + ((WIDTH - LEFT - RIGHT) * candidate) / last;
  const y = (score) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - (Math.max(score, low) - low) / (high - low));
  const at = ([candidate, score]) => `${x(candidate).toFixed(1)} ${y(score).toFixed(1)}`;
  const made = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": told });
  for (const value of ticks(low, high, 5)) {
    made.append(svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), class: "grid" }));
    made.append(svg("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, figure(value)));
  }
  for (const value of ticks(0, last, 8).filter(Number.isInteger))
    made.append(svg("text", { x: x(value), y: HEIGHT - 14, "text-anchor": "middle" }, value.toLocaleString("en")));
  made.append(svg("text", { x: WIDTH - RIGHT, y: HEIGHT - 1, "text-anchor": "end" }, "candidate"));
  const shown = data.points.filter(([, score]) => score >= low);
  made.append(svg("path", { class: "points", d: shown.map((point) => `M${at(point)}h0`).join("") }));
  if (data.baseline) {
    const level = y(data.baseline.score);
    made.append(svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: level, y2: level, class: "base" }));
    made.append(svg("text", { x: WIDTH - RIGHT, y: level + 15, "text-anchor": "end", class: "base-label" }, data.baseline.policy));
  }
  made.append(svg("path", { class: "descent", d: data.lineage.map(([parent, child]) => `M${at(parent)}L${at(child)}`).join("") }));
  if (data.best.length) {
    let path = `M${at(data.best[0])}`;
    for (const point of data.best.slice(1)) path += `H${x(point[0]).toFixed(1)}V${y(point[1]).toFixed(1)}`;
    made.append(svg("path", { class: "steps", d: `${path}H${x(last).toFixed(1)}` }));
  }
  const nodes = new Map(data.lineage.flat().map((point) => [point[0], point]));
  for (const point of [...nodes.values()].sort((a, b) => a[0] - b[0])) {
    const to = svg("a", { href: `${address}/candidates/${point[0]}`, "aria-label": `candidate ${point[0]}, ${figure(point[1])}` });
    const dot = svg("circle", { cx: x(point[0]), cy: y(point[1]), r: 5, class: "node" });
    dot.append(svg("title", {}, `candidate ${point[0]}: ${figure(point[1])}`));
    to.append(dot);
    made.append(to);
  }
  const focused = place.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  place.replaceChildren(made);
  if (focused) place.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
}

export async function drawFrom(place, api, address, candidate) {
  const data = await get(`${api}/chart${candidate ? `?of=${candidate}` : ""}`);
  const best = data.best.at(-1);
  draw(place, data, address, best ? `Best score ${figure(best[1])}, by candidate ${best[0]} of ${data.last}` : "No scores");
}
