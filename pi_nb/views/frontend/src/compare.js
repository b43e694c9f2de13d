/**
 * Contexts side by side: what all of them share is one line; below it a column for each, with what follows. Words that
 * differ from the first are marked, and where a provider's prompt cache of the first would stop serving another.
 */

import { related, words } from "./diff.js";
import { h, icon, ICONS } from "./dom.js";
import { count, grouped, money, short, wording } from "./wording.js";

/**
 * @typedef {import("./types.js").ContextItem} ContextItem
 *
 * @typedef {object} Side
 * @property {string|null} entry
 * @property {ContextItem[]} items  Messages after the common ones, the first of them.
 * @property {number} total         How many there are after the common ones.
 * @property {number} tokens        Of the whole context.
 * @property {number} cost          US dollars, of what follows the common ones.
 * @property {number} shared        Messages it begins with that the first begins with too.
 *
 * @typedef {object} Comparison
 * @property {number} common
 * @property {number} common_tokens
 * @property {Side[]} sides
 */

/**
 * @param {Comparison|null} answer  Null as long as there is nothing to compare.
 * @param {() => void} leave
 */
export function compareHead(answer, leave) {
  const many = answer?.sides.length ?? 1;
  const away = h("button", { class: "pt-btn pt-uncompare", type: "button", title: "Leave compare (Escape)", "aria-label": "Leave compare", onclick: leave });
  away.append(icon(ICONS.close));
  return [h("div", { class: "pt-ptitle" }, h("strong", { text: many === 1 ? "Compare" : `${many} contexts` }), answer && shared(answer), h("span", { class: "pt-fill" }), away)];
}

/**
 * @param {Comparison} answer
 * @param {{leaf: string|null, labels: Map<string, string>}} names
 * @param {(id: string|null) => void} look
 * @returns {HTMLElement[]}
 */
export function compareBody(answer, names, look) {
  const { sides, common } = answer;
  const longest = Math.max(...sides.map((side) => side.items.length));
  const columns = (/** @type {string} */ kind, /** @type {(Node|null)[]} */ cells) => h("div", { class: `pt-columns ${kind}` }, ...cells.map((cell) => cell ?? h("div")));
  const rows = [columns("pt-sides", sides.map((side, i) => name(side, i ? sides[0] : null, names)))];
  for (let i = 0; i < longest; i++) rows.push(columns("", sides.map((side) => cell(side, sides, i, common, look))));
  const more = sides.map(({ total, items }) => h("p", { class: "pt-gap", text: total > items.length ? `… and ${grouped(total - items.length)} more` : "" }));
  const table = h("div", { class: "pt-side-by-side" }, ...rows, columns("", more));
  table.style.setProperty("--sides", String(sides.length));
  return [table];
}

/** @param {Comparison} answer */
function shared({ common, common_tokens, sides }) {
  const size = common_tokens ? ` (about ${count(common_tokens)} tokens)` : "";
  const what = common === 1 ? "The first message is" : `The first ${grouped(common)} messages are`;
  const equal = sides.every((side) => side.total === 0);
  const text = equal ? "All of it is the same." : common === 0 ? "Nothing in common: a provider's prompt cache could not be used." : `${what} the same${size}. Here a provider's prompt cache ends.`;
  return h("span", { class: "pt-shared", text });
}

/**
 * What a column is: its entry or its label, its size and cost, and how much more or less that is than the first's.
 * @param {Side} side
 * @param {Side|null} first  Null for the first itself.
 * @param {{leaf: string|null, labels: Map<string, string>}} names
 */
function name(side, first, { leaf, labels }) {
  const id = short(side.entry ?? "start");
  const label = labels.get(side.entry ?? "");
  const tags = [side.entry === leaf && h("span", { class: "pt-tag pt-tag-leaf", text: "leaf", title: id }), !!label && h("span", { class: "pt-tag pt-tag-label", text: label, title: `${label} · ${id}` })].filter((tag) => tag !== false);
  if (!tags.length) tags.push(h("span", { class: "pt-chip", text: id }));
  const tokens = side.tokens ? `${count(side.tokens)} tokens` : "no tokens";
  const facts = [first ? `${tokens} ${delta(side.tokens - first.tokens, count)}` : tokens];
  if (side.cost || first?.cost) facts.push(`${money(side.cost) || "$0"}${first ? ` ${delta(side.cost - first.cost, money)}` : ""}`);
  return h("div", { class: "pt-cside" }, ...tags, ...facts.map((fact) => h("span", { class: "pt-pfacts", text: fact.trim() })));
}

/**
 * @param {number} difference
 * @param {(n: number) => string} say
 */
export function delta(difference, say) {
  const size = say(Math.abs(difference));
  return !size || size === "0" ? "(same)" : `(${difference < 0 ? "−" : "+"}${size})`;
}

/**
 * One message of one column; above it a line where the cache of the first ends for this column.
 * @param {Side} side
 * @param {Side[]} sides
 * @param {number} i
 * @param {number} common
 * @param {(id: string|null) => void} look
 */
function cell(side, sides, i, common, look) {
  const [first] = sides;
  const item = side.items[i];
  if (!item) return null;
  const ends = side !== first && side.shared > common && common + i === side.shared;
  return h("div", { class: "pt-cell" }, ends && h("p", { class: "pt-ends", text: "The first's prompt cache ends here." }), card(item, told(side, sides, i), look));
}

/**
 * A message's text in pieces, differing words marked: what a column has and the first has not; in a pair also what
 * only the first has.
 * @param {Side} side
 * @param {Side[]} sides
 * @param {number} i
 * @returns {(Node|string)[]}
 */
function told(side, sides, i) {
  const item = side.items[i];
  const other = side === sides[0] ? (sides.length === 2 ? sides[1].items[i] : undefined) : sides[0].items[i];
  if (!other || other.role !== item.role) return [item.text];
  const kind = side === sides[0] ? "minus" : "plus";
  const changes = side === sides[0] ? words(item.text, other.text) : words(other.text, item.text);
  if (!related(changes)) return [item.text];
  const own = changes.filter(([what]) => what === "same" || what === kind);
  return own.map(([what, text]) => (what === "same" ? text : h("span", { class: `pt-${kind}`, text })));
}

/**
 * @param {ContextItem} item
 * @param {(Node|string)[]} text
 * @param {(id: string|null) => void} look
 */
function card(item, text, look) {
  const said = wording({ id: item.id, parent: null, type: "message", role: item.role, text: item.text, error: item.error });
  const id = h("button", { class: "pt-id", type: "button", title: "Look at this entry", text: short(item.id), onclick: () => look(item.id) });
  const calls = (item.calls ?? []).map((call) => h("code", { class: "pt-call", text: call }));
  return h("article", { class: `pt-card pt-whole pt-t-${said.tone}` },
    h("header", null, h("span", { class: "pt-who", text: said.who }), h("span", { class: "pt-fill" }), id, h("span", { class: "pt-tok", text: count(item.tokens) })),
    ...(item.text ? [h("div", { class: "pt-ctext" }, ...text)] : []), ...calls);
}
