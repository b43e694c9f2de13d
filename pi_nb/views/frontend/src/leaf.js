/** Moving the leaf and naming entries: what writes to the log. */

import { LabelEditor } from "./label.js";
import { ROOT } from "./tree.js";
import { quote, short } from "./wording.js";

/** @typedef {import("./view.js").View} View */

/** Why nothing moves while a run goes on; old as soon as it has ended. */
export const RUNNING = "A run is under way, so this only looks. The leaf can be moved when the run has ended.";
export const WRITING = "This answer is still being written.";

export class Leaf {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.label = new LabelEditor(view.list, (node, text) => this.#setLabel(node, text));
    /** Where the row was that became the leaf, so that it stays under the pointer. @type {{id: string|null, offset: number}|null} */
    this.anchor = null;
  }

  /** @param {string} text */
  #say(text) {
    this.view.notice.say(text);
  }

  /** @param {number} node */
  checkout(node) {
    const { state, store, list } = this.view;
    if (node < 0) return;
    const why = this.refusal(node);
    this.view.look(node);
    if (why) return this.#say(why);
    const id = state.tree.id(node);
    this.anchor = null;
    state.pending = node;
    const offset = list.offset(state.layout.row[node]);
    list.draw();
    store.request("checkout", { entry: id }).then((answer) => this.#checkedOut(answer, node, offset), (error) => this.refused(error));
  }

  /**
   * Why the leaf cannot be moved to a node; empty if it can.
   * @param {number} node
   */
  refusal(node) {
    const { state } = this.view;
    if (state.tree.isLive(node)) return WRITING;
    if (state.moment) return this.forbidden();
    return node === state.leafRow ? "Already the leaf: nothing to write." : this.forbidden();
  }

  /** Why the leaf cannot be moved at all; empty if it can. */
  forbidden() {
    const { state, store } = this.view;
    if (state.moment) return "This is the tree as it was, so this only looks. Now, or Esc, comes back.";
    if (store.status === "running") return RUNNING;
    if (store.status === "read-only") return "This session is read-only here, so this only looks.";
    return "";
  }

  /**
   * @param {{leaf: string|null, previous: string|null, editor_text?: string|null, changes?: string, position?: number, line?: string, line_number?: number|null}} answer
   * @param {number} node
   * @param {number} offset
   */
  #checkedOut(answer, node, offset) {
    this.settle(answer, offset);
    this.view.notice.sayMoved(this.#moved(answer, node), answer, written(answer));
    this.view.desk.askAbout();
  }

  /**
   * The leaf has moved.
   * @param {{leaf: string|null, previous: string|null, editor_text?: string|null}} answer
   * @param {number} offset  Where the row was that it moved to.
   */
  settle(answer, offset) {
    const { state } = this.view;
    state.pending = -1;
    state.follows = true;
    this.anchor = { id: answer.leaf, offset };
    this.view.desk.moved(answer);
    this.view.refresh({ layout: true });
  }

  /**
   * @param {{leaf: string|null, editor_text?: string|null, changes?: string}} answer
   * @param {number} node
   */
  #moved(answer, node) {
    const { tree } = this.view.state;
    const seen = this.#seen(answer.leaf);
    const where = seen === null ? "the start of the session" : short(seen);
    const text = tree.rows[node]?.text;
    const changes = answer.changes ? ` ${answer.changes[0].toUpperCase()}${answer.changes.slice(1)}.` : "";
    if (answer.editor_text) return `Checked out ${where}, just before ${quote(answer.editor_text)}.${changes}`;
    return `Checked out ${where}${text ? ` ${quote(text)}` : ""}.${changes}`;
  }

  /**
   * The entry itself, or the one above it that has a row: nobody sees the id of a label.
   * @param {string|null} id
   */
  #seen(id) {
    const { state } = this.view;
    let node = id === null ? ROOT : state.tree.node(id);
    if (node < ROOT) return id;
    while (node > ROOT && !state.shown(node)) node = state.tree.parent[node];
    return node === ROOT ? null : state.tree.id(node);
  }

  /** @param {Error} error */
  refused(error) {
    this.view.state.pending = -1;
    this.#say(`Not checked out: ${error.message}`);
    this.view.refresh();
  }

  /** @param {number} node */
  askLabel(node) {
    const { state, store } = this.view;
    if (node <= ROOT || state.tree.isLive(node)) return this.#say("Only entries of the log can be labelled.");
    if (state.moment) return this.#say("This is the tree as it was: labels can be given now. Esc comes back.");
    if (store.status === "read-only") return this.#say("This session is read-only here.");
    this.label.edit(node, store.labels.get(state.tree.rows[node].id) ?? "");
  }

  /**
   * @param {number} node
   * @param {string} text
   */
  #setLabel(node, text) {
    const { state, store, notice } = this.view;
    const entry = state.tree.rows[node].id;
    const before = store.labels.get(entry);
    const instead = before && before !== text.trim() ? ` in place of ${quote(before)}` : "";
    store.request("label", { entry, label: text.trim() || null }).then(
      (answer) => notice.say(text.trim() ? `Labelled ${short(entry)} ${quote(text)}${instead}.` : `Label of ${short(entry)} removed.`, written(answer)),
      (error) => notice.say(`Not labelled: ${error.message}`),
    );
  }
}

/** @param {{line?: string, line_number?: number|null, entry?: string}} answer */
export function written(answer) {
  if (!answer.line) return null;
  const place = answer.line_number ? `line ${answer.line_number}` : "one entry";
  return { summary: `wrote ${place}`, line: answer.line, entry: answer.entry };
}
