/** An entry of the log in words: what it said or did. Pure; returns text, never HTML. */

import { QUIET } from "./filter.js";
import { quote, short, wording } from "./wording.js";

/**
 * @typedef {import("./types.js").Row} Row
 * @typedef {(id: string) => Row|undefined} Find
 */

const FAR = 50; // entries up to what is named

/**
 * @param {Row} row
 * @param {Find} find  The row of an entry that it points at.
 */
export function told(row, find) {
  switch (row.type) {
    case "leaf":
      return moved(row, find);
    case "label":
      return row.label ? `label ${quote(row.label)} on ${place(row.target, find)}` : `label removed from ${place(row.target, find)}`;
    case "session_info":
      return row.text ? `session named ${quote(row.text)}` : "session's name removed";
    case "model_change":
    case "thinking_level_change":
    case "active_tools_change":
      return `${wording(row).who} set to ${row.text}`;
    default:
      return said(row);
  }
}

/**
 * @param {Row} row
 * @param {Find} find
 */
export function moved(row, find) {
  const to = place(row.target, find);
  if (row.undoes !== undefined) return `checkout undone: leaf back to ${to}`;
  return row.redoes === undefined ? `leaf moved to ${to}` : `checkout done again: leaf to ${to}`;
}

/**
 * A name for an entry: what it says, else its id.
 * @param {string|null|undefined} id
 * @param {Find} find
 */
export function place(id, find) {
  if (!id) return "the start of the session";
  let row = find(id);
  // Bookkeeping says nothing of its own: what it stands below does.
  for (let up = 0; row && QUIET.has(row.type) && up < FAR; up++) row = row.parent === null ? undefined : find(row.parent);
  const text = row ? spoken(row) : "";
  return text ? quote(text) : short(id);
}

/** @param {Row} row */
function spoken(row) {
  const { text, calls } = wording(row);
  return text || calls.map((call) => (call.text ? `${call.name}: ${call.text}` : call.name)).join(", ");
}

/** @param {Row} row */
function said(row) {
  const { who, faint } = wording(row);
  const text = spoken(row) || faint;
  return text ? `${who}: ${text}` : who;
}
