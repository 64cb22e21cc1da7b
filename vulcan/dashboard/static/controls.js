// Stop, resume and raise a budget, each after a dialog.
import { $, act, figure, post } from "./dom.js";
import { key } from "./keys.js";

let summary = null;

function opened(name) {
  const dialog = $(`${name}-dialog`);
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

function shownBudget() {
  const now = summary?.budgets?.[$("budget").value];
  $("budget-now").textContent = now === null || now === undefined ? "this search has no such limit" : `now ${figure(now)}`;
}

export function controls(api, refresh) {
  $("stop").addEventListener("click", async () => {
    if (await opened("stop")) await act(() => post(`${api}/stop`, {}));
    refresh();
  });
  $("resume").addEventListener("click", async () => {
    if (await opened("resume"))
      await act(() => post(`${api}/resume`, { executor: $("executor").value, workers: Number($("workers").value) }));
    refresh();
  });
  $("raise").addEventListener("click", async () => {
    shownBudget();
    if (await opened("raise"))
      await act(() => post(`${api}/budget`, { budget: $("budget").value, value: Number($("limit").value) }));
    refresh();
  });
  for (const button of document.querySelectorAll("dialog .cancel")) // no submit button: Enter is for the other one
    button.addEventListener("click", () => button.closest("dialog").close());
  $("budget").addEventListener("change", shownBudget);
  for (const [name, letter, meaning] of [["stop", "s", "stop the search"], ["resume", "r", "resume it"], ["raise", "b", "raise a budget"]])
    key(letter, meaning, () => { if (!$(name).disabled) $(name).click(); });
}

export function allow(document) {
  summary = document;
  $("stop").disabled = !document.status.can_stop;
  $("resume").disabled = $("raise").disabled = !document.status.can_resume;
}
