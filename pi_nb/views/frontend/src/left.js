/** What a move of the leaf leaves behind. Pure. */

import { wording } from "./wording.js";

/** @typedef {import("./tree.js").Tree} Tree */

/**
 * @param {Tree} tree
 * @param {string|null} from  Where the leaf was.
 * @param {string|null} to    Where it is.
 * @returns {{messages: number, tokens: number}}  On the line to `from` and not on that to `to`.
 */
export function leftBehind(tree, from, to) {
  const start = tree.node(from);
  if (start < 0 || from === to) return { messages: 0, tokens: 0 };
  const kept = new Set(tree.path(tree.node(to)));
  const rows = tree.path(start).filter((node) => !kept.has(node)).map((node) => tree.rows[node]);
  const said = rows.filter((row) => row.type === "message" || !wording(row).quiet);
  return { messages: said.length, tokens: said.reduce((sum, row) => sum + (row.tokens ?? 0), 0) };
}
