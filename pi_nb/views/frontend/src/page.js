/**
 * The live tree on a page of its own: a host that has the answers in the page instead of a kernel. It only reads, and
 * `#leaf=…&focus=…` in the address says where to look.
 */

import widget from "./index.js";
import { comparison } from "./replies.js";

/**
 * @typedef {import("./replies.js").Content} Content
 */

/** @param {Content} content */
function host(content) {
  /** @type {Map<string, Set<Function>>} */
  const handlers = new Map();
  /** @type {Record<string, unknown>} */
  const state = { key: "page", rev: content.delta.rows.length, status: "read-only", epoch: content.delta.epoch };
  const say = (/** @type {unknown} */ message) => (handlers.get("msg:custom") ?? []).forEach((handler) => handler(message));
  const model = {
    get: (/** @type {string} */ name) => state[name],
    on: (/** @type {string} */ name, /** @type {Function} */ handler) => void handlers.set(name, (handlers.get(name) ?? new Set()).add(handler)),
    off: (/** @type {any} */ name, /** @type {any} */ handler) => void handlers.get(name)?.delete(handler),
    send: (/** @type {any} */ message) => queueMicrotask(() => reply(message)),
    say,
  };
  const reply = (/** @type {any} */ message) => {
    const { op, id } = message;
    if (op === "sync") return say({ ...content.delta, op: "delta", from: 0, leaf: place(content, "leaf") ?? content.delta.leaf });
    if (op === "focus") return remember(message.entry);
    try {
      say({ ...answer(content, message), op: "ack", id });
    } catch (error) {
      say({ op: "nak", id, error: /** @type {Error} */ (error).message });
    }
  };
  return model;
}

/**
 * @param {Content} content
 * @param {any} message
 */
function answer(content, message) {
  if (message.op === "context") return whole(content, message.entry);
  if (message.op === "compare") return comparison(message.entries.map((/** @type {string|null} */ entry) => whole(content, entry)), (id) => cost(content, id));
  const found = message.op === "entry" ? own(content.entries, message.entry) : undefined;
  if (!found) throw new Error("That is not in this page.");
  return found;
}

/**
 * @param {Content} content
 * @param {string|null} entry
 */
function whole(content, entry) {
  const found = own(content.contexts, entry ?? "");
  if (!found) throw new Error("the context of so early an entry is not in this page.");
  if (found.failed) throw new Error(found.failed);
  return { ...found, items: found.items.map((/** @type {number} */ number) => content.items[number]) };
}

/**
 * @param {Content} content
 * @param {string} id
 */
const cost = (content, id) => content.delta.rows.find((row) => row.id === id)?.cost ?? 0;

/**
 * @param {Record<string, any>} table
 * @param {string} name
 */
const own = (table, name) => (Object.hasOwn(table, name) ? table[name] : undefined);

/**
 * Entry that the address names.
 * @param {Content} content
 * @param {string} name
 */
function place(content, name) {
  const id = new URLSearchParams(location.hash.slice(1)).get(name);
  return content.delta.rows.some((row) => row.id === id) ? id : null;
}

/** @param {string|null} focus */
function remember(focus) {
  const places = new URLSearchParams(location.hash.slice(1));
  if (focus) places.set("focus", focus);
  else places.delete("focus");
  history.replaceState(null, "", `#${places}`);
}

/** @type {Content} */
const content = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("session")).textContent ?? "");
const model = host(content);
const look = () => place(content, "focus") && model.say({ op: "focus", entry: place(content, "focus") });
widget.initialize({ model });
widget.render({ model, el: /** @type {HTMLElement} */ (document.getElementById("tree")) });
queueMicrotask(() => requestAnimationFrame(() => requestAnimationFrame(look)));
addEventListener("hashchange", () => {
  model.say({ ...content.delta, op: "delta", from: 0, rows: [], to: 0, leaf: place(content, "leaf") ?? content.delta.leaf });
  look();
});
