// Stop, resume, raise a budget, export, notes and deletion, each after a dialog.
import { $, act, element, figure, get, link, post } from "./dom.js";
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

// Each format is a link to its download, those that the policy does not support say why.
async function offerFormats(api) {
  const list = $("formats");
  list.replaceChildren(element("li", "looking", "none"));
  $("export-dialog").showModal();
  try {
    const { formats } = await get(`${api}/exports`);
    const made = formats.map((one) => {
      const line = element("li");
      if (one.refused) line.append(element("span", one.format, "none"), element("br"), element("span", one.refused, "note"));
      else line.append(link(one.format, `${api}/export?format=${encodeURIComponent(one.format)}`), " ", element("span", one.summary, "note"));
      return line;
    });
    const all = element("li");
    all.append(link("all of them", `${api}/export?format=all`), " ", element("span", "an archive, with a README", "note"));
    list.replaceChildren(all, ...made);
  } catch (error) {
    list.replaceChildren(element("li", error.message, "none"));
  }
}

export function controls(api, refresh, disconnect) {
  $("export").addEventListener("click", () => offerFormats(api));
  $("notes").addEventListener("click", async () => {
    $("notes-name").value = summary?.notes.title || "";
    $("notes-text").value = summary?.notes.note || "";
    if (await opened("notes")) await act(() => post(`${api}/notes`, { title: $("notes-name").value, note: $("notes-text").value }));
    refresh();
  });
  $("delete").addEventListener("click", async () => {
    if (!(await opened("delete"))) return;
    await act(async () => {
      disconnect(); // nothing may be asked about a run that is no longer there
      await post(`${api}/delete`, { name: $("run").dataset.run });
      location.href = "/";
    });
  });
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
  for (const [name, letter, meaning] of [["stop", "s", "stop the search"], ["resume", "r", "resume it"], ["raise", "b", "raise a budget"], ["export", "x", "export"], ["notes", "t", "title and note"]])
    key(letter, meaning, () => { if (!$(name).disabled) $(name).click(); });
}

export function allow(document) {
  summary = document;
  $("stop").disabled = !document.status.can_stop;
  $("resume").disabled = $("raise").disabled = !document.status.can_resume;
  $("export").disabled = document.best === null;
  $("delete").disabled = document.status.state === "running";
}
