// One candidate: its line of descent, and keys to go on.
import { colourAll } from "./code.js";
import { $, attempt } from "./dom.js";
import { draw } from "./figures.js";
import { key } from "./keys.js";

const { api, address, candidate } = $("candidate").dataset;
key("u", "back to the run", () => { location.href = address; });
for (const [letter, id, meaning] of [["n", "after", "the next candidate"], ["p", "before", "the candidate before"], ["w", "why", "why it scores so"]])
  key(letter, meaning, () => { const to = $(id); if (to) location.href = to.href; });
$("against").addEventListener("change", (event) => { location.search = event.target.value ? `?against=${Number(event.target.value)}` : ""; });
$("why")?.addEventListener("click", (event) => { event.target.textContent = "Computing: some seconds"; });
colourAll();
attempt(() => draw($("chart"), `${api}/figures/progress?of=${candidate}`));
if ($("instances")) attempt(() => draw($("instances"), `${api}/figures/instances?of=${candidate}`, ""));
