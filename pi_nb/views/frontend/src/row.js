/** One row: built once, filled for whatever node it stands for. */

import { h, marked, setAttr, setText } from "./dom.js";
import { ranges, words } from "./filter.js";
import { laneX } from "./lanes.js";
import { place } from "./telling.js";
import { ROOT } from "./tree.js";
import { clock, count, money, short, shortSession, wording } from "./wording.js";

/**
 * @typedef {import("./state.js").ViewState} ViewState
 * @typedef {import("./types.js").Row} Row
 * @typedef {import("./wording.js").Wording} Wording
 *
 * @typedef {object} RowElement
 * @property {HTMLElement} root
 * @property {HTMLElement} dot
 * @property {HTMLElement} fold
 * @property {HTMLElement} who
 * @property {HTMLElement} text
 * @property {HTMLElement} tags
 * @property {HTMLElement} tokens
 * @property {HTMLElement} cost
 * @property {HTMLElement} time
 * @property {string} said   What `text` shows, to leave it alone when it would be the same.
 * @property {string} tagged
 */

/** @returns {RowElement} */
export function makeRow() {
  const [dot, fold, who, text, tags, tokens, cost, time, more] = ["dot", "fold", "who", "text", "tags", "tokens", "cost", "time", "more-do"].map((name) =>
    h("span", { class: `pt-${name}` }),
  );
  setAttr(fold, "data-part", "fold");
  setAttr(more, "data-part", "menu");
  setAttr(more, "title", "What can be done with this entry (a)");
  setAttr(more, "aria-hidden", "true");
  const root = h("div", { class: "pt-row", role: "treeitem" }, dot, fold, who, text, tags, tokens, cost, time, more);
  return { root, dot, fold, who, text, tags, tokens, cost, time, said: "\n", tagged: "\n" };
}

/**
 * @param {RowElement} el
 * @param {ViewState} state
 * @param {number} node
 * @param {import("./lanes.js").Metrics} metrics
 */
export function fillRow(el, state, node, metrics) {
  const { layout } = state;
  const row = state.tree.rows[node];
  const said = node === ROOT ? sessionWording(state) : pointing(state, row);
  const lane = layout.lane[node];
  el.root.className = classes(state, node, row, said);
  el.root.style.setProperty("--dot", `${laneX(metrics, lane)}px`);
  el.root.style.setProperty("--text", `${laneX(metrics, layout.gutter[node]) + metrics.lane * 0.75}px`);
  setText(el.who, said.who);
  fillText(el, said, state.query);
  fillTags(el, tagsOf(state, node, row), state.store.inNotebook);
  setText(el.tokens, count(row.tokens));
  setText(el.cost, money(row.cost));
  setText(el.time, clock(row.time));
  fillFold(el, state, node);
  describe(el, state, node);
}

/**
 * @param {ViewState} state
 * @returns {Wording}
 */
function sessionWording({ store, name }) {
  const text = name ?? (store.session ? shortSession(store.session) : "");
  return { who: "session", tone: "note", text, faint: text ? undefined : "new", calls: [], quiet: true };
}

/**
 * What an entry says; one that points at another names it by its words, not by its id.
 * @param {ViewState} state
 * @param {Row} row
 * @returns {Wording}
 */
function pointing({ tree }, row) {
  const said = wording(row);
  if (row.type !== "leaf" && row.type !== "label") return said;
  const to = place(row.target, (id) => tree.rows[tree.node(id)]);
  if (row.type === "label") return { ...said, text: row.label ? `${row.label} on ${to}` : `none on ${to}` };
  const how = row.undoes !== undefined ? "back to" : row.redoes !== undefined ? "again to" : "to";
  return { ...said, text: `${how} ${to}` };
}

/**
 * @param {ViewState} state
 * @param {number} node
 * @param {Row} row
 * @param {Wording} said
 */
function classes(state, node, row, said) {
  const out = ["pt-row", `pt-t-${said.tone}`];
  const { layout, tree, hits } = state;
  out.push(layout.active.has(node) ? "pt-ha pt-on" : `pt-h${tree.hue[node]}`);
  if (said.quiet) out.push("pt-quiet");
  if (node === state.leafRow) out.push("pt-leaf");
  if (node === state.focusRowNode) out.push("pt-focus");
  if (tree.isLive(node)) out.push("pt-live");
  if (hits) out.push(hits.has(node) ? "pt-found" : "pt-dim");
  if (state.pending === node) out.push("pt-pending");
  if (node > ROOT && state.selected.includes(row.id)) out.push("pt-selected");
  return out.join(" ");
}

/**
 * @param {RowElement} el
 * @param {Wording} said
 * @param {string} query
 */
function fillText(el, said, query) {
  const key = `${said.text}\n${said.faint ?? ""}\n${said.calls.map((c) => `${c.name}\t${c.text}`).join("\n")}\n${query}`;
  if (el.said === key) return;
  el.said = key;
  const tokens = words(query);
  const pieces = marked(said.text, ranges(said.text, tokens));
  const calls = said.calls.map((call) => callChip(call, tokens));
  const faint = said.faint ? [h("span", { class: "pt-faint", text: said.faint })] : [];
  el.text.replaceChildren(...pieces, ...faint, ...calls);
}

/**
 * @param {{name: string, text: string}} call
 * @param {string[]} tokens
 */
function callChip(call, tokens) {
  const text = call.text ? `: ${call.text}` : "";
  const name = h("b", null, ...marked(call.name, ranges(call.name, tokens)));
  return h("code", { class: "pt-call" }, name, ...marked(text, ranges(text, tokens)));
}

/**
 * Tags of a row, as [class, text, title].
 * @param {ViewState} state
 * @param {number} node
 * @param {Row} row
 * @returns {[string, string, string][]}
 */
function tagsOf(state, node, row) {
  /** @type {[string, string, string][]} */
  const out = [];
  const label = node === ROOT ? undefined : state.labels.get(row.id);
  if (label) out.push(["label", label, "Label"]);
  const fault = state.tree.faults.get(node);
  if (fault === "orphan") out.push(["fault", `parent ${short(row.parent ?? "")} missing`, "This entry names a parent that is not in the log"]);
  if (fault === "cycle") out.push(["fault", "cycle", "Following the parents of this entry leads back to it"]);
  if (row.cell) out.push(["cell", `[${row.cell}]`, state.store.inNotebook ? "Written by this cell: go to it (g)" : "Written by this cell"]);
  if (state.layout.adrift.has(node)) out.push(["from", `from ${short(state.tree.id(state.layout.parent[node]) ?? "start")}`, "Branches off further up, from this entry"]);
  const forks = state.layout.forks.get(node);
  if (forks) out.push(["from", `+${forks}`, `${forks === 1 ? "Another branch leaves" : `${forks} other branches leave`} here; further down`]);
  const folded = state.layout.folded.has(node) ? state.layout.hidden(node) : 0;
  if (folded) out.push(["more", `${folded} folded`, "→ unfolds"]);
  if (folded && state.leafRow !== node && state.layout.nearest(state.leafNode) === node) out.push(["inside", "leaf inside", "The leaf is among the folded rows"]);
  if (state.tree.isLive(node)) out.push(["writing", "writing", "This answer is being written"]);
  if (node === state.leafRow && state.moment) out.push(["leaf", "leaf then", "Where the leaf was after this entry of the log"]);
  else if (node === state.leafRow) out.push(["leaf", "leaf", "The leaf: the next prompt continues from here, and the model sees the path down to it"]);
  return out;
}

/**
 * @param {RowElement} el
 * @param {[string, string, string][]} tags
 * @param {boolean} jumps  There are cells to go to.
 */
function fillTags(el, tags, jumps) {
  const key = tags.map((tag) => tag.join("\t")).join("\n");
  if (el.tagged === key) return;
  el.tagged = key;
  el.tags.replaceChildren(...tags.map(([kind, text, title]) => h("span", { class: `pt-tag pt-tag-${kind}`, text, title, "data-part": kind === "cell" && jumps ? "cell" : null })));
}

/**
 * @param {RowElement} el
 * @param {ViewState} state
 * @param {number} node
 */
function fillFold(el, state, node) {
  const { layout } = state;
  const folded = layout.folded.has(node);
  el.fold.className = `pt-fold${layout.expandable(node) ? (folded ? " pt-closed" : " pt-open") : ""}`;
  setAttr(el.root, "aria-expanded", layout.expandable(node) ? String(!folded) : null);
}

/**
 * @param {RowElement} el
 * @param {ViewState} state
 * @param {number} node
 */
function describe(el, state, node) {
  const { layout } = state;
  setAttr(el.root, "aria-level", String(layout.level[node]));
  setAttr(el.root, "aria-posinset", String(layout.place[node]));
  setAttr(el.root, "aria-setsize", String(layout.setsize[node]));
  setAttr(el.root, "aria-selected", String(node === state.focusRowNode));
  setAttr(el.root, "aria-current", node === state.leafRow ? "true" : null);
}
