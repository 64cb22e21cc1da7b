// Programs in colour, and the words that differ between a removed line and the added line in its place.
import { element } from "./dom.js";

const TOKEN = /(#.*|"""(?:(?!""").)*"""|"""|"[^"]*"|'[^']*')|\b(def|return|if|elif|else|for|while|in|and|or|not|import|from|lambda|class|None|True|False|pass|is)\b|\b(\d[\d_]*\.?\d*(?:e[+-]?\d+)?)\b|(\w+)(?=\()/g;
const KINDS = ["", "quote", "keyword", "number", "call"];
const MAX_WORDS = 2000;

function coloured(text) {
  const made = document.createDocumentFragment();
  let done = 0;
  for (const found of text.matchAll(TOKEN)) {
    made.append(text.slice(done, found.index), element("span", found[0], `code-${KINDS[found.findIndex((one, n) => n && one)]}`));
    done = found.index + found[0].length;
  }
  made.append(text.slice(done));
  return made;
}

const words = (text) => text.match(/\w+|\s+|[^\w\s]/g) || [];

// For each word of both lines, whether it is in their longest common subsequence.
function common(before, after) {
  const rows = before.length + 1, columns = after.length + 1, longest = Array.from({ length: rows }, () => new Uint16Array(columns));
  for (let i = rows - 2; i >= 0; i -= 1)
    for (let j = columns - 2; j >= 0; j -= 1)
      longest[i][j] = before[i] === after[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  const [inBefore, inAfter] = [new Set(), new Set()];
  for (let i = 0, j = 0; i < before.length && j < after.length; )
    if (before[i] === after[j]) { inBefore.add(i++); inAfter.add(j++); }
    else if (longest[i + 1][j] >= longest[i][j + 1]) i += 1;
    else j += 1;
  return [inBefore, inAfter];
}

function marked(line, all, kept) {
  line.replaceChildren(line.textContent[0]);
  all.forEach((word, n) => line.append(kept.has(n) ? word : element("mark", word)));
  line.append("\n");
}

function difference(place) {
  const lines = [...place.children];
  for (let n = 0; n < lines.length; ) {
    let end = n;
    while (lines[end]?.className === "removed") end += 1;
    const removed = lines.slice(n, end), start = end;
    while (lines[end]?.className === "added") end += 1;
    const added = lines.slice(start, end);
    for (let k = 0; k < Math.min(removed.length, added.length); k += 1) {
      const [before, after] = [removed[k], added[k]].map((line) => words(line.textContent.slice(1).trimEnd()));
      if (before.length * after.length > MAX_WORDS ** 2) continue;
      const [inBefore, inAfter] = common(before, after);
      marked(removed[k], before, inBefore);
      marked(added[k], after, inAfter);
    }
    n = Math.max(end, n + 1);
  }
}

export function colourAll() {
  for (const line of document.querySelectorAll("pre.source .line")) line.replaceChildren(coloured(line.textContent));
  for (const place of document.querySelectorAll("pre.diff")) difference(place);
}
