/** Where a key takes the focus, and which key does what. Pure. */

import { ROOT } from "./tree.js";

/**
 * @typedef {import("./layout.js").Layout} Layout
 * @typedef {"up"|"down"|"pageup"|"pagedown"|"home"|"end"|"parent"|"child"|"branchup"|"branchdown"|"siblingup"|"siblingdown"} Move
 * @typedef {Move|"left"|"right"|"checkout"|"leaf"|"back"|"label"|"compare"|"branches"|"undo"|"redo"|"time"|"earlier"|"later"|"trail"|"inspect"|"search"|"help"|"unfold"|"order"|"hoist"|"entry"|"filter"|"prompt"|"menu"|"summary"|"cell"|"copycell"} Action
 */

/** @type {Record<string, Action>} */
const KEYS = {
  ArrowDown: "down",
  ArrowUp: "up",
  ArrowLeft: "left",
  ArrowRight: "right",
  PageDown: "pagedown",
  PageUp: "pageup",
  Home: "home",
  End: "end",
  Enter: "checkout",
  Escape: "back",
  j: "down",
  k: "up",
  h: "leaf",
  "[": "branchup",
  "]": "branchdown",
  "{": "siblingup",
  "}": "siblingdown",
  l: "label",
  c: "compare",
  C: "branches",
  u: "undo",
  U: "redo",
  t: "time",
  ",": "earlier",
  ".": "later",
  m: "trail",
  i: "inspect",
  o: "order",
  z: "hoist",
  e: "entry",
  p: "prompt",
  a: "menu",
  ContextMenu: "menu",
  s: "summary",
  g: "cell",
  y: "copycell",
  "/": "search",
  "?": "help",
  "*": "unfold",
  1: "filter",
  2: "filter",
  3: "filter",
  4: "filter",
  5: "filter",
};

/** What the help card lists. @type {[string, string][]} */
export const HELP = [
  ["click, Enter", "check out: move the leaf there"],
  ["Alt-click, ↑ ↓, j k", "look without moving"],
  ["Esc", "out of time, search or compare; then to the leaf"],
  ["← →", "fold, unfold; then parent, child"],
  ["h", "jump to the leaf"],
  ["[ ]", "branch point above, below"],
  ["{ }", "sibling before, after"],
  ["l", "label this entry"],
  ["Ctrl-click, c", "compare with the leaf, or several with each other"],
  ["C", "compare all branches that part here"],
  ["u, U", "undo the last checkout, do it again"],
  ["t", "time: the tree as it was"],
  [", .", "one entry back, on"],
  ["m", "moves of the leaf, dotted"],
  ["i", "inspect: every click only looks"],
  ["1 – 5", "filters"],
  ["/", "search; Enter next, Shift+Enter previous"],
  ["o", "order: active branch first, or as written"],
  ["z", "only this subtree, and back"],
  ["*", "unfold all"],
  ["e", "entry as JSON, and back"],
  ["p", "prompt at the leaf; Esc comes back"],
  ["a", "what can be done with this entry"],
  ["s", "summarise what the last move left"],
  ["g", "go to the cell that wrote it"],
  ["y", "copy the prompt as a %%pi cell"],
];

/**
 * @param {{key: string, ctrlKey: boolean, metaKey: boolean, altKey: boolean}} event
 * @returns {Action|undefined}
 */
export function actionOf(event) {
  return event.ctrlKey || event.metaKey || event.altKey ? undefined : KEYS[event.key];
}

/**
 * @param {Layout} layout
 * @param {number} row    Row the focus is on; -1 for none.
 * @param {Move} move
 * @param {number} [page] Rows in view.
 * @returns {number} Node to focus; -1 to stay.
 */
export function target(layout, row, move, page = 10) {
  const last = layout.count - 1;
  if (last < 0) return -1;
  if (row < 0) return layout.nodes[move === "end" ? last : 0];
  const at = (/** @type {number} */ r) => layout.nodes[Math.max(0, Math.min(last, r))];
  switch (move) {
    case "up":
      return at(row - 1);
    case "down":
      return at(row + 1);
    case "pageup":
      return at(row - page);
    case "pagedown":
      return at(row + page);
    case "home":
      return at(0);
    case "end":
      return at(last);
    default:
      return relative(layout, row, move);
  }
}

/**
 * @param {Layout} layout
 * @param {number} row
 * @param {Move} move
 */
function relative(layout, row, move) {
  const node = layout.nodes[row];
  switch (move) {
    case "parent":
      return layout.parent[node];
    case "child":
      return layout.folded.has(node) ? -1 : (layout.children(node)[0] ?? -1);
    case "branchup":
      return branchPoint(layout, row, -1);
    case "branchdown":
      return branchPoint(layout, row, 1);
    default:
      return sibling(layout, node, move === "siblingup" ? -1 : 1);
  }
}

/**
 * @param {Layout} layout
 * @param {number} row
 * @param {1|-1} step
 */
function branchPoint(layout, row, step) {
  for (let r = row + step; r >= 0 && r < layout.count; r += step) {
    const node = layout.nodes[r];
    if (!layout.folded.has(node) && layout.children(node).length > 1) return node;
  }
  return -1;
}

/**
 * The sibling before or after; on a straight stretch, that of the nearest ancestor that has one.
 * @param {Layout} layout
 * @param {number} node
 * @param {1|-1} step
 */
function sibling(layout, node, step) {
  for (let n = node; n > ROOT; n = layout.parent[n]) {
    const up = layout.parent[n];
    if (up < 0 || layout.setsize[n] < 2) continue;
    const found = layout.children(up)[layout.place[n] - 1 + step];
    if (found !== undefined) return found;
  }
  return -1;
}
