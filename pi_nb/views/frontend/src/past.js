/**
 * The tree as it was after any entry of the log. Nodes are numbered as they came, so the past is the nodes up to a
 * limit; only the order of rows is worked out for the whole tree, once, and then filtered. Pure.
 *
 * Rows of the past stand in the order of writing: with the active branch first, every jump of the leaf would throw
 * the rows about, and nobody could see it jump.
 */

import { Layout, Shown } from "./layout.js";
import { Tree } from "./tree.js";

/**
 * @typedef {import("./log.js").Log} Log
 * @typedef {import("./layout.js").Options} Options
 *
 * @typedef {object} Moment
 * @property {number} count   Entries there were.
 * @property {Tree} tree      Holds them, and perhaps later ones.
 * @property {number} limit   Highest node there was.
 * @property {string|null} leaf
 * @property {Map<string, string>} labels
 * @property {string|null} name
 *
 * @typedef {object} Lens  Which nodes have rows, whenever they came.
 * @property {string} key  Changes when `visible` gives other answers.
 * @property {(node: number) => boolean} visible
 * @property {number} hoist
 */

export class Past {
  constructor() {
    /** @type {{count: number, log: Log|null, tree: Tree}} */ this.prefix = { count: 0, log: null, tree: new Tree() };
    /** The order of all rows up to a node. @type {{key: string, tree: Tree|null, upTo: number, shown: Shown|null}} */
    this.known = { key: "", tree: null, upTo: -1, shown: null };
  }

  /**
   * @param {{log: Log, tree: Tree}} store
   * @param {number} count  Entries.
   * @returns {Moment}
   */
  at({ log, tree }, count) {
    const then = tree.odd ? this.#grown(log, count) : tree;
    const limit = tree.odd ? then.size - 1 : count;
    return { count, tree: then, limit, leaf: log.leafAt(count), labels: log.labelsAt(count), name: log.nameAt(count) };
  }

  /**
   * A tree of just the first entries: where an id came twice, or after a child of it, the tree of now tells wrong.
   * @param {Log} log
   * @param {number} count
   */
  #grown(log, count) {
    const { prefix } = this;
    const on = prefix.log === log && prefix.count <= count;
    if (!on) this.prefix = { count: 0, log, tree: new Tree() };
    this.prefix.tree.append(log.rows.slice(this.prefix.count, count));
    this.prefix.count = count;
    return this.prefix.tree;
  }

  /**
   * @param {Moment} moment
   * @param {Lens} lens
   * @param {Options} options  How to lay out; which nodes is the lens's.
   */
  layout({ count, tree, limit }, lens, options) {
    const key = `${lens.key} ${lens.hoist} ${tree === this.prefix.tree ? count : ""}`;
    return new Layout(tree, { ...options, order: "log", shown: this.#shown(tree, limit, lens, key).upTo(limit) });
  }

  /**
   * @param {Tree} tree
   * @param {number} limit
   * @param {Lens} lens
   * @param {string} key
   */
  #shown(tree, limit, { visible, hoist }, key) {
    const { known } = this;
    if (known.shown && known.tree === tree && known.key === key && limit <= known.upTo) return known.shown;
    const upTo = (tree.live < 0 ? tree.size : tree.live) - 1; // later entries take the places of provisional rows
    const shown = Shown.of(tree, visible, hoist);
    this.known = { key, tree, upTo, shown };
    return shown;
  }
}
