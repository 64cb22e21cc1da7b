// One candidate: its line of descent, and keys to go on.
import { drawFrom } from "./chart.js";
import { $, attempt } from "./dom.js";
import { key } from "./keys.js";

const { api, address, candidate } = $("candidate").dataset;
key("u", "back to the run", () => { location.href = address; });
for (const [letter, id, meaning] of [["n", "after", "the next candidate"], ["p", "before", "the candidate before"], ["g", "play", "try it in the playground"]])
  key(letter, meaning, () => { const to = $(id); if (to) location.href = to.href; });
attempt(() => drawFrom($("chart"), api, address, candidate));
