/** Taking checkouts back and doing them again, one after the other however fast the keys come. */

import { written } from "./leaf.js";
import { place } from "./telling.js";

/** @typedef {import("./view.js").View} View */

/** @type {Record<"undo"|"redo", {none: string, done: string}>} */
const WORDS = {
  undo: { none: "No checkout to undo.", done: "Checkout undone: the leaf is back on" },
  redo: { none: "No undone checkout to do again.", done: "Checkout done again: the leaf is on" },
};

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
    if (!step) return { able: false, title: `${WORDS[way].none} (${key})` };
    const { tree } = store;
    const to = place(step.to, (id) => tree.rows[tree.node(id)]);
    return { able: !leaf.forbidden(), title: `${way === "undo" ? "Undo the last checkout" : "Do the checkout again"}: leaf to ${to} (${key})` };
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
    const why = leaf.forbidden() || (step ? "" : WORDS[way].none);
    if (why || !step) return notice.say(why), false;
    const node = store.tree.node(step.to);
    const offset = list.offset(state.layout.row[state.layout.nearest(node)] ?? 0);
    try {
      const answer = await store.request("restore", { entry: step.to, [step.how]: step.move });
      const { tree } = store;
      leaf.settle(answer, offset);
      notice.say(`${WORDS[way].done} ${place(step.to, (id) => tree.rows[tree.node(id)])}.`, written(answer));
      await store.holds(answer.position);
      return true;
    } catch (error) {
      leaf.refused(/** @type {Error} */ (error));
      return false;
    }
  }
}
