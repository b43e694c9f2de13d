/**
 * Which row and which lane each visible node gets. O(n), no recursion.
 *
 * Rows are a pre-order. One child of each node goes straight on in its parent's lane (the one towards the leaf, else
 * the one with the newest entry); the others follow after its subtree, hung on a trunk line to the right. So the
 * context of the leaf is one unbroken block from the top, and indentation grows at branch points only.
 * A trunk that would need a lane beyond `maxLanes` is drawn as two stubs ("elided").
 */

import { ROOT } from "./tree.js";

/**
 * @typedef {import("./tree.js").Tree} Tree
 * @typedef {import("./types.js").Order} Order
 *
 * @typedef {object} Options
 * @property {(node: number) => boolean} [visible]  Default: all.
 * @property {Set<number>} [folded]
 * @property {Set<number>} [active]   Nodes from the root to the leaf.
 * @property {Order} [order]
 * @property {number} [maxLanes]
 * @property {number} [hoist]         Show only this node's subtree.
 * @property {Shown} [shown]          Which nodes have rows, when that is known; `visible` and `hoist` do not count then.
 *
 * @typedef {object} Edge  A child that does not go straight on.
 * @property {number} from    Row where the line starts: the parent's, or that of the sibling before.
 * @property {number} to      Row of the child.
 * @property {number} start   Lane of the parent, or of the trunk if a sibling came before.
 * @property {number} trunk   Lane of the line down.
 * @property {number} lane    Lane of the child.
 * @property {number} hue
 * @property {boolean} active
 * @property {boolean} elided
 */

/** Visible nodes and their nearest visible ancestors, in pre-order of the whole tree. */
export class Shown {
  /** @param {number} size  Nodes, seen or not. */
  constructor(size) {
    const n = size;
    this.size = size;
    this.first = new Int32Array(n).fill(-1);
    this.last = new Int32Array(n).fill(-1);
    this.next = new Int32Array(n).fill(-1);
    this.parent = new Int32Array(n).fill(-1);
    /** Visible nodes without a visible ancestor. @type {number[]} */ this.roots = [];
    /** Every visible node after its parent. @type {number[]} */ this.order = [];
    /** Those with a visible child. */ this.parents = 0;
  }

  /**
   * @param {Tree} tree
   * @param {(node: number) => boolean} visible
   * @param {number} hoist
   */
  static of(tree, visible, hoist) {
    const n = tree.size;
    const shown = new Shown(n);
    const stack = [hoist];
    const above = new Int32Array(n).fill(-1); // nearest visible ancestor
    while (stack.length) {
      const node = /** @type {number} */ (stack.pop());
      const up = above[node];
      const seen = visible(node);
      if (seen) shown.#attach(node, up);
      const mark = stack.length;
      for (let c = tree.first[node]; c >= 0; c = tree.next[c]) above[c] = seen ? node : up, stack.push(c);
      reverseTail(stack, mark);
    }
    return shown;
  }

  /**
   * The same without the nodes after `limit`; in a tree that grew in order none of those is above another.
   * @param {number} limit
   */
  upTo(limit) {
    const shown = new Shown(limit + 1);
    const { order, parent } = this;
    for (let i = 0; i < order.length; i++) if (order[i] <= limit) shown.#attach(order[i], parent[order[i]]);
    return shown;
  }

  /**
   * @param {number} node
   * @param {number} parent
   */
  #attach(node, parent) {
    this.parent[node] = parent;
    this.order.push(node);
    if (parent < 0) return void this.roots.push(node);
    if (this.first[parent] < 0) (this.first[parent] = node), (this.parents += 1);
    else this.next[this.last[parent]] = node;
    this.last[parent] = node;
  }
}

/**
 * @param {number[]} stack
 * @param {number} from
 */
function reverseTail(stack, from) {
  for (let i = from, j = stack.length - 1; i < j; i++, j--) [stack[i], stack[j]] = [stack[j], stack[i]];
}

export class Layout {
  /**
   * @param {Tree} tree
   * @param {Options} [options]
   */
  constructor(tree, options = {}) {
    const { visible = () => true, folded = new Set(), active = new Set() } = options;
    const { order = "active", maxLanes = 6, hoist = ROOT } = options;
    this.tree = tree;
    this.active = active;
    this.folded = folded;
    this.maxLanes = maxLanes;
    const shown = options.shown ?? Shown.of(tree, visible, hoist);
    const { size } = shown;
    this.shown = shown;
    /** Visible parent of a node, or -1. */
    this.parent = shown.parent;
    if (order === "active") this.#preferActive();
    /** Row -> node. @type {number[]} */ this.nodes = order === "log" && folded.size === 0 ? shown.order : this.#rows();
    /** Node -> row, or -1. */
    this.row = new Int32Array(tree.size).fill(-1);
    for (let row = 0; row < this.nodes.length; row++) this.row[this.nodes[row]] = row;
    this.lane = new Int16Array(size);
    /** Widest lane in use beside a node's row. */
    this.gutter = new Int16Array(size);
    this.level = new Int32Array(size);
    this.place = new Int32Array(size);
    this.setsize = new Int32Array(size);
    /** @type {Edge[]} */ this.edges = [];
    /** Children whose line from the parent is not drawn, and parents with how many such. @type {Set<number>} */ this.adrift = new Set();
    /** @type {Map<number, number>} */ this.forks = new Map();
    this.#lanes();
  }

  get count() {
    return this.nodes.length;
  }

  /** Tips: visible nodes below which nothing is visible, folded away or not. */
  get branches() {
    return this.shown.order.length - this.shown.parents;
  }

  /** Bring to the front the child on the active path, else the one whose subtree holds the newest entry. */
  #preferActive() {
    const { order, parent, first, next, last } = this.shown;
    const newest = new Int32Array(this.shown.size);
    for (let i = order.length - 1; i >= 0; i--) {
      const node = order[i];
      if (newest[node] < node) newest[node] = node;
      const up = parent[node];
      if (up >= 0 && newest[up] < newest[node]) newest[up] = newest[node];
    }
    for (const node of order) {
      if (first[node] < 0 || next[first[node]] < 0) continue;
      let best = first[node];
      let before = -1;
      let bestBefore = -1;
      for (let c = best; c >= 0; before = c, c = next[c])
        if (this.active.has(c) ? !this.active.has(best) : newest[c] > newest[best] && !this.active.has(best))
          (best = c), (bestBefore = before);
      if (bestBefore < 0) continue;
      next[bestBefore] = next[best];
      if (last[node] === best) last[node] = bestBefore;
      next[best] = first[node];
      first[node] = best;
    }
    const at = this.shown.roots.findIndex((root) => this.active.has(root));
    if (at > 0) this.shown.roots.unshift(...this.shown.roots.splice(at, 1));
  }

  #rows() {
    const { roots, first, next } = this.shown;
    const out = [];
    const stack = [...roots].reverse();
    while (stack.length) {
      const node = /** @type {number} */ (stack.pop());
      out.push(node);
      if (this.folded.has(node)) continue;
      const mark = stack.length;
      for (let c = first[node]; c >= 0; c = next[c]) stack.push(c);
      reverseTail(stack, mark);
    }
    return out;
  }

  /**
   * How many lanes to the right of itself a node's subtree needs, and for branch points where the trunk goes.
   * @returns {{trunk: Int16Array, elided: Uint8Array}}
   */
  #widths() {
    const { first, next } = this.shown;
    const { size } = this.shown;
    const width = new Int16Array(size);
    const trunk = new Int16Array(size);
    const elided = new Uint8Array(size);
    for (let row = this.nodes.length - 1; row >= 0; row--) {
      const node = this.nodes[row];
      const straight = first[node];
      if (straight < 0 || this.folded.has(node)) continue;
      width[node] = width[straight];
      if (next[straight] < 0) continue;
      elided[node] = width[straight] + 1 > this.maxLanes ? 1 : 0;
      trunk[node] = elided[node] ? 1 : width[straight] + 1;
      for (let c = next[straight]; c >= 0; c = next[c])
        width[node] = Math.max(width[node], trunk[node] + width[c] + (next[c] >= 0 ? 1 : 0));
    }
    return { trunk, elided };
  }

  #lanes() {
    const { first, next, roots } = this.shown;
    const { trunk, elided } = this.#widths();
    const open = new Int16Array(this.shown.size); // widest line that passes the whole subtree
    for (const root of roots) this.#number(root, 1);
    const { lane: lanes, gutter, level, place, setsize, folded } = this;
    for (const node of this.nodes) {
      const lane = lanes[node];
      gutter[node] = lane > open[node] ? lane : open[node];
      const straight = first[node];
      if (straight < 0 || folded.has(node)) continue;
      if (next[straight] < 0) {
        level[straight] = level[node] + 1; // most nodes have one child: no branch to draw
        place[straight] = setsize[straight] = 1;
        lanes[straight] = lane;
        open[straight] = open[node];
        continue;
      }
      const side = lane + trunk[node];
      this.#number(straight, this.level[node] + 1);
      this.lane[straight] = lane;
      open[straight] = trunk[node] && !elided[node] ? Math.max(open[node], side) : open[node];
      let from = this.row[node];
      let start = lane;
      for (let c = next[straight]; c >= 0; c = next[c]) {
        const end = next[c] < 0;
        this.lane[c] = end ? side : side + 1;
        open[c] = end ? open[node] : Math.max(open[node], side);
        this.edges.push({ from, to: this.row[c], start, trunk: side, lane: this.lane[c], hue: this.tree.hue[c],
          active: this.active.has(c), elided: elided[node] === 1 && start === lane });
        if (elided[node]) this.adrift.add(c), this.forks.set(node, (this.forks.get(node) ?? 0) + 1);
        from = this.row[c];
        start = side;
      }
      this.#light(node);
    }
  }

  /**
   * In log order the active child may hang on a trunk: the line above it is active too.
   * @param {number} node
   */
  #light(node) {
    let lit = false;
    for (let i = this.edges.length - 1; i >= 0; i--) {
      const edge = this.edges[i];
      if (this.parent[this.nodes[edge.to]] !== node) return;
      lit ||= edge.active;
      edge.active = lit;
    }
  }

  /**
   * Level, place and number of siblings, for a node and those after it.
   * @param {number} head
   * @param {number} level
   */
  #number(head, level) {
    const { next } = this.shown;
    let size = 0;
    for (let c = head; c >= 0; c = next[c]) this.place[c] = ++size;
    for (let c = head; c >= 0; c = next[c]) (this.level[c] = level), (this.setsize[c] = size);
  }

  /**
   * Whether a node has visible children, shown or folded away.
   * @param {number} node
   */
  expandable(node) {
    return this.shown.first[node] >= 0;
  }

  /**
   * Visible children in row order.
   * @param {number} node
   */
  children(node) {
    const out = [];
    for (let c = this.shown.first[node]; c >= 0; c = this.shown.next[c]) out.push(c);
    return out;
  }

  /**
   * The node itself or its nearest ancestor that has a row; -1 if none has.
   * @param {number} node
   */
  nearest(node) {
    let n = node;
    while (n >= 0 && this.row[n] < 0) n = this.tree.parent[n];
    return n;
  }

  /**
   * How many rows a fold hides.
   * @param {number} node
   */
  hidden(node) {
    const { first, next } = this.shown;
    let count = 0;
    const stack = [first[node]];
    while (stack.length) {
      for (let c = /** @type {number} */ (stack.pop()); c >= 0; c = next[c]) {
        count += 1;
        if (first[c] >= 0) stack.push(first[c]);
      }
    }
    return count;
  }
}
