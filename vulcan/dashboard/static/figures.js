// Figures, which the server draws as SVG. The browser parses them as documents: no text becomes markup here.
import { element, SILENT } from "./dom.js";

function fetched(address) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", address);
    request.responseType = "document";
    request.timeout = 10_000;
    request.onerror = request.ontimeout = () => reject(new Error(SILENT));
    request.onload = () => {
      if (request.status === 200) resolve(request.responseXML.documentElement);
      else if (request.status === 204) resolve(null);
      else reject(new Error(`the figure cannot be drawn: the server answers with ${request.status}`));
    };
    request.send();
  });
}

const latest = new Map();

export async function draw(place, address, without = "Nothing has a score yet.") {
  const mine = (latest.get(place) || 0) + 1;
  latest.set(place, mine);
  const found = await fetched(address);
  if (latest.get(place) !== mine) return null; // answers may overtake one another
  place.replaceChildren(found ? document.importNode(found, true) : element("p", without, "none"));
  return found;
}

// A drag along the axis gives its two ends as a text, a double click an empty one.
export function zoomable(place, zoomed) {
  let from = null;
  const at = (event) => {
    const drawn = place.querySelector("svg")?.dataset;
    if (!drawn?.x) return null;
    const [left, right, width] = drawn.plot.split(" ").map(Number), [low, high] = drawn.x.split(" ").map(Number);
    const box = place.querySelector("svg").getBoundingClientRect();
    const share = (((event.clientX - box.left) / box.width) * width - left) / (right - left);
    return { value: low + (high - low) * Math.min(1, Math.max(0, share)), share };
  };
  place.addEventListener("dragstart", (event) => event.preventDefault()); // of a link
  place.addEventListener("pointerdown", (event) => { from = at(event); });
  place.addEventListener("pointerup", (event) => {
    const to = at(event);
    if (from && to && Math.abs(to.share - from.share) > 0.03)
      zoomed(`${Math.min(from.value, to.value)}:${Math.max(from.value, to.value)}`);
    from = null;
  });
  place.addEventListener("dblclick", () => zoomed(""));
}
