// The tree of descent, drawn as SVG: generations from left to right, each candidate with its operator, model and gain.
import { element, get, scoreText } from "./dom.js";

const SPACE = "http://www.w3.org/2000/svg";
const [COLUMN, ROW, MARGIN] = [140, 30, 18];

function drawn(kind, attributes, text) {
  const made = document.createElementNS(SPACE, kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Where each candidate stands: behind the latest of its parents, beside the other children of its first parent.
function places(candidates) {
  const known = new Map(candidates.map((one) => [one.candidate, one])), children = new Map(), steps = new Map(), at = new Map();
  const roots = [];
  for (const one of candidates) {
    const parents = one.parents.filter((parent) => known.has(parent));
    steps.set(one.candidate, parents.length ? 1 + Math.max(...parents.map((parent) => steps.get(parent))) : 0);
    if (parents.length) children.set(parents[0], [...(children.get(parents[0]) || []), one.candidate]);
    else roots.push(one.candidate);
  }
  let row = 0;
  const place = (number) => {
    const own = children.get(number) || [];
    const rows = own.map(place);
    const y = rows.length ? (rows[0] + rows.at(-1)) / 2 : row++;
    at.set(number, { x: steps.get(number), y });
    return y;
  };
  roots.forEach(place);
  return { at, rows: row, columns: 1 + Math.max(...steps.values()) };
}

// The best of a run with all its ancestors.
function lineOf(best, known) {
  const line = new Set(), waiting = best === null ? [] : [best];
  while (waiting.length) {
    const number = waiting.pop();
    if (line.has(number) || !known.has(number)) continue;
    line.add(number);
    waiting.push(...known.get(number).parents);
  }
  return line;
}

export function drawTree(place, candidates, best, address) {
  if (!candidates.length) {
    place.replaceChildren(element("p", "Nothing has a score yet.", "none"));
    return;
  }
  const known = new Map(candidates.map((one) => [one.candidate, one]));
  const { at, rows, columns } = places(candidates), line = lineOf(best, known);
  const x = (number) => MARGIN + at.get(number).x * COLUMN, y = (number) => MARGIN + at.get(number).y * ROW;
  const picture = drawn("svg", { width: MARGIN + columns * COLUMN, height: 2 * MARGIN + (rows - 1) * ROW, class: "tree" });
  picture.setAttribute("role", "group");
  picture.setAttribute("aria-label", "The tree of descent");
  for (const one of candidates)
    one.parents.filter((parent) => known.has(parent)).forEach((parent, n) => {
      const [fromX, fromY, toX, toY] = [x(parent), y(parent), x(one.candidate), y(one.candidate)], bend = toX - 0.45 * COLUMN;
      const kind = `edge${n ? " second" : ""}${line.has(one.candidate) && line.has(parent) ? " of-best" : ""}`;
      picture.append(drawn("path", { d: `M${fromX} ${fromY} C${bend} ${fromY} ${bend} ${toY} ${toX} ${toY}`, class: kind }));
    });
  for (const one of candidates) {
    const node = drawn("a", { href: `${address}/candidates/${one.candidate}` });
    const gain = one.gain === null ? "" : `${one.gain >= 0 ? "+" : "\u2212"}${Math.abs(one.gain).toFixed(4)}`;
    const said = `candidate ${one.candidate}: ${one.operator}, ${one.model || one.origin}; score ${scoreText(one.score)}${gain ? `, ${gain} over the better parent` : ""}`;
    node.setAttribute("aria-label", said);
    node.append(drawn("title", {}, said));
    const kind = one.gain === null ? "" : one.gain > 0 ? " better" : " worse";
    node.append(drawn("circle", { cx: x(one.candidate), cy: y(one.candidate), r: one.candidate === best ? 7 : 5, class: `node${kind}${line.has(one.candidate) ? " of-best" : ""}` }));
    const label = drawn("text", { x: x(one.candidate) + 8, y: y(one.candidate) - 6 });
    label.append(drawn("tspan", { class: line.has(one.candidate) ? "number of-best" : "number" }, one.candidate), drawn("tspan", { class: "said", dx: 5 }, gain || one.operator));
    node.append(label);
    picture.append(node);
  }
  place.replaceChildren(picture);
}

export const treeOf = async (api, best) => (await get(`${api}/tree?best=${best}`)).candidates;
