/** Taking checkouts back and doing them again, one after the other however fast the keys come. */

import { written } from "./leaf.js";
import { place } from "./telling.js";

/** @typedef {import("./view.js").View} View */

const NONE = { undo: "No checkout to undo.", redo: "No undone checkout to do again." };

export class Undoing {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    /** @type {("undo"|"redo")[]} */ this.wanted = [];
    this.busy = false;
  }

  /**
   * What a button says: where it would put the leaf; and why not, if it cannot.
   * @param {"undo"|"redo"} way
   * @returns {{able: boolean, title: string}}
   */
  offer(way) {
    const { store, leaf } = this.view;
    const key = way === "undo" ? "u" : "U";
    const step = store.history[way](store.leaf);
    if (!step) return { able: false, title: `${NONE[way]} (${key})` };
    const to = this.#place(step.to);
    return { able: !leaf.forbidden(), title: `${way === "undo" ? "Undo the last checkout" : "Do the checkout again"}: leaf to ${to} (${key})` };
  }

  /** @param {string|null} id */
  #place(id) {
    const { tree } = this.view.store;
    return place(id, (other) => tree.rows[tree.node(other)]);
  }

  /**
   * What is taken back, in words: prompts may have come after it, so it need not be what was done last.
   * @param {import("./history.js").Step} step
   */
  #undone(step) {
    const { tree, leaf } = this.view.store;
    const target = tree.rows[tree.node(step.move)]?.target ?? null;
    const after = leaf === target ? "" : " What came after it stays in the tree.";
    return `Checkout undone: took back the checkout of ${this.#place(target)}; the leaf is now ${this.#place(step.to)}.${after}`;
  }

  /** @param {"undo"|"redo"} way */
  ask(way) {
    this.wanted.push(way);
    if (!this.busy) void this.#work();
  }

  async #work() {
    this.busy = true;
    try {
      for (let way = this.wanted.shift(); way; way = this.wanted.shift()) if (!(await this.#one(way))) this.wanted.length = 0;
    } finally {
      this.busy = false;
    }
  }

  /**
   * @param {"undo"|"redo"} way
   * @returns {Promise<boolean>} Whether it was done.
   */
  async #one(way) {
    const { state, store, leaf, list, notice } = this.view;
    const step = store.history[way](store.leaf);
    const why = leaf.forbidden() || (step ? "" : NONE[way]);
    if (why || !step) return notice.say(why), false;
    const node = store.tree.node(step.to);
    const done = way === "undo" ? this.#undone(step) : `Checkout done again: the leaf is on ${this.#place(step.to)}.`;
    const offset = list.offset(state.layout.row[state.layout.nearest(node)] ?? 0);
    try {
      const answer = await store.request("restore", { entry: step.to, [step.how]: step.move });
      leaf.settle(answer, offset);
      notice.sayMoved(done, answer, written(answer));
      await store.holds(answer.position);
      return true;
    } catch (error) {
      leaf.refused(/** @type {Error} */ (error));
      return false;
    }
  }
}
