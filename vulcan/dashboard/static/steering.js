// Instructions to a search: hints, pinned and banned candidates, policies of one's own.
import { $, act, element, link, post } from "./dom.js";

const SAID = { pin: "pinned", ban: "banned", release: "released" };

function about(one, address) {
  const cell = element("td", undefined, "long");
  if (one.act === "hint") cell.append("hint: ", element("q", one.text));
  else if (one.act === "drop-hints") cell.append("no more hints");
  else if (one.act === "add") {
    const shown = element("details");
    shown.append(element("summary", "a policy of one\u2019s own"), element("pre", one.text, "text"));
    cell.append(shown);
  } else cell.append(link(`candidate ${one.candidate}`, `${address}/candidates/${one.candidate}`), ` ${SAID[one.act]}`);
  return cell;
}

// Whether an instruction is in force, and could be taken back.
function inForce(all, at) {
  const one = all[at], later = all.slice(at + 1);
  if (one.act === "hint") return !later.some((other) => other.act === "drop-hints");
  if (one.act !== "pin" && one.act !== "ban") return false;
  return !later.some((other) => other.candidate === one.candidate && ["pin", "ban", "release"].includes(other.act));
}

export function steering(api, refresh) {
  const send = async (given) => { await act(() => post(`${api}/steer`, given)); refresh(); };
  $("steer").addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = $("hint").value.trim();
    if (!text) return;
    $("hint").value = "";
    send({ act: "hint", text });
  });
  return send;
}

export function drawSteering(document, address, send) {
  const { refusal, refuses_hints: noHints, instructions } = document.steering;
  $("steering").hidden = Boolean(refusal) && !instructions.length;
  $("steer").hidden = Boolean(refusal || noHints);
  $("steering-note").textContent = refusal
    ? ""
    : `${noHints ? `${noHints[0].toUpperCase()}${noHints.slice(1)}. ` : ""}A candidate\u2019s page has the buttons that pin and ban it, the playground sends a policy of your own. All of it is recorded, and repeated by a replay.`;
  $("instructions").tHead.hidden = !instructions.length;
  const since = { waiting: document.status.state === "running" ? "with the next proposal" : "once it is resumed", "not used": "not used" };
  $("instructions").tBodies[0].replaceChildren(...instructions.map((one, at) => {
    const row = element("tr"), last = element("td");
    if (!refusal && inForce(instructions, at)) {
      const button = element("button", one.act === "hint" ? "drop all hints" : "take back", "quiet");
      button.type = "button";
      button.addEventListener("click", () => send(one.act === "hint" ? { act: "drop-hints" } : { act: "release", candidate: one.candidate }));
      last.append(button);
    }
    row.append(about(one, address), element("td", one.state === "applied" ? `from proposal ${one.proposal} on` : since[one.state]), last);
    return row;
  }));
}
