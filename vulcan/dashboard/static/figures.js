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
  if (latest.get(place) !== mine) return; // answers may overtake one another
  place.replaceChildren(found ? document.importNode(found, true) : element("p", without, "none"));
}
