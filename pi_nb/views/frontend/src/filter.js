/** Which entries a filter shows, and which a search hits. Pure. */

/**
 * @typedef {import("./types.js").Row} Row
 * @typedef {import("./types.js").FilterMode} FilterMode
 */

/** @type {{mode: FilterMode, key: string, name: string, title: string}[]} */
export const FILTERS = [
  { mode: "default", key: "1", name: "Talk", title: "Messages, summaries and settings (1)" },
  { mode: "notools", key: "2", name: "No tools", title: "Without tool results (2)" },
  { mode: "user", key: "3", name: "User", title: "User messages only (3)" },
  { mode: "labelled", key: "4", name: "Labelled", title: "Labelled entries only (4)" },
  { mode: "all", key: "5", name: "All", title: "Every entry of the log, cursor moves too (5)" },
];

/** Bookkeeping: entries that are neither said to a model nor change what it is asked with. */
export const QUIET = new Set(["label", "leaf", "session_info", "custom", "context_edit", "usage"]);

/**
 * @param {FilterMode} mode
 * @param {Row} row
 * @param {boolean} labelled
 */
export function passes(mode, row, labelled) {
  switch (mode) {
    case "all":
      return true;
    case "user":
      return row.role === "user";
    case "labelled":
      return labelled;
    case "notools":
      return !QUIET.has(row.type) && row.role !== "toolResult" && !onlyCalls(row);
    default:
      return !QUIET.has(row.type);
  }
}

/** @param {Row} row */
const onlyCalls = (row) => row.role === "assistant" && !row.text && !row.error && !!row.tools?.length;

/**
 * Lower-case words of a query; every one must occur.
 * @param {string} query
 */
export const words = (query) => query.toLowerCase().split(/\s+/).filter(Boolean);

/**
 * All that can be found of a row, in lower case.
 * @param {Row} row
 * @param {string} [label]
 */
export function haystack(row, label = "") {
  const calls = (row.tools ?? []).map((tool, i) => `${tool}: ${row.calls?.[i] ?? ""}`);
  return [row.text, ...calls, label, row.role, row.model, row.error, row.id, row.type].filter(Boolean).join("\n").toLowerCase();
}

/**
 * Where words occur in a text, as sorted ranges that do not overlap.
 * @param {string} text
 * @param {string[]} tokens
 * @returns {[number, number][]}
 */
export function ranges(text, tokens) {
  const low = text.toLowerCase();
  if (low.length !== text.length) return []; // a letter that changes length in lower case: no marks rather than wrong ones
  /** @type {[number, number][]} */
  const found = [];
  for (const token of tokens)
    for (let at = low.indexOf(token); at >= 0; at = low.indexOf(token, at + token.length)) found.push([at, at + token.length]);
  found.sort((a, b) => a[0] - b[0]);
  /** @type {[number, number][]} */
  const out = [];
  for (const range of found) {
    const before = out.at(-1);
    if (before && range[0] <= before[1]) before[1] = Math.max(before[1], range[1]);
    else out.push(range);
  }
  return out;
}
