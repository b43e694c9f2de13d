/**
 * The parent map. Children are derived from `parent` and from nothing else, and every function is total: an
 * unknown parent, a cycle, several roots, a repeated id or a chain of 100,000 entries give a tree, never a hang.
 *
 * Nodes are numbers: the order in which their ids first appeared in the log. Node 0 is the session itself, above
 * every entry without a parent; its id is null, as is a leaf that stands before the first entry.
 */

/** @typedef {import("./types.js").Row} Row */

export const ROOT = 0;
export const LIVE = "\u0000live"; // begins the ids of provisional rows; no entry has such an id
const HUES = 7; // of the palette in style.css; 0 is the first branch's

/** @type {Row} */
const SESSION = { id: "", parent: null, type: "session", text: "" };

export class Tree {
  constructor() {
    /** @type {Row[]} */ this.rows = [SESSION];
    /** @type {Map<string, number>} */ this.index = new Map();
    /** Parent node; -1 above the session. @type {number[]} */ this.parent = [-1];
    /** @type {number[]} */ this.first = [-1];
    /** @type {number[]} */ this.last = [-1];
    /** @type {number[]} */ this.next = [-1];
    /** 1 when a child already carries the conversation on. @type {number[]} */ this.spoken = [0];
    /** Colour of the branch a node belongs to; stays when the leaf moves. @type {number[]} */ this.hue = [0];
    /** Nodes that hang on the session although they name a parent. @type {Map<number, "orphan"|"cycle">} */
    this.faults = new Map();
    /** Ids that were named as parent before they appeared. @type {Set<string>} */ this.awaited = new Set();
    this.branches = 0;
    /** An id came twice, or after a child of it: how it was is not to be seen from how it is. */ this.odd = false;
    /** Undo the provisional rows. @type {(() => void)[]} */ this.undos = [];
  }

  /** Nodes, the session among them. */
  get size() {
    return this.rows.length;
  }

  /**
   * @param {string|null|undefined} id
   * @returns {number} -1 if there is no such entry.
   */
  node(id) {
    return id === null ? ROOT : id === undefined ? -1 : (this.index.get(id) ?? this.#liveNode(id));
  }

  /**
   * @param {number} node
   * @returns {string|null}
   */
  id(node) {
    return node <= ROOT ? null : this.rows[node].id;
  }

  /** @param {Row[]} rows */
  append(rows) {
    let clean = true;
    for (const row of rows) clean = this.#add(row, clean) && clean;
    if (!clean) (this.odd = true), this.#relink();
  }

  /** First of the provisional rows, or -1. */
  get live() {
    return this.undos.length ? this.rows.length - this.undos.length : -1;
  }

  /** @param {number} node */
  isLive(node) {
    return this.undos.length > 0 && node >= this.live;
  }

  /** @param {string} id */
  #liveNode(id) {
    return id.startsWith(LIVE) ? (this.lives.find((node) => this.rows[node].id === id) ?? -1) : -1;
  }

  /** Nodes of the provisional rows. */
  get lives() {
    return this.undos.map((_, i) => this.live + i);
  }

  /**
   * Show these provisional rows and no others; they are always the last nodes.
   * @param {Row[]} rows
   * @returns {boolean} True if the shape of the tree changed.
   */
  setLive(rows) {
    const { live } = this;
    const same = rows.length === this.undos.length && rows.every((row, i) => this.rows[live + i].parent === row.parent && this.rows[live + i].id === row.id);
    if (same) return rows.forEach((row, i) => void (this.rows[live + i] = row)), false;
    while (this.undos.length) this.undos.pop()?.();
    for (const row of rows) this.undos.push(this.#push(row));
    return true;
  }

  /**
   * @param {Row} row
   * @returns {() => void} Takes it away again.
   */
  #push(row) {
    const { branches } = this;
    const at = this.node(row.parent);
    const parent = at < 0 ? ROOT : at;
    const before = this.last[parent];
    const spoken = this.spoken[parent];
    const node = this.rows.push(row) - 1;
    this.#link(node, parent);
    return () => {
      for (const list of [this.rows, this.parent, this.first, this.last, this.next, this.spoken, this.hue]) list.length = node;
      this.last[parent] = before;
      if (before < 0) this.first[parent] = -1;
      else this.next[before] = -1;
      this.spoken[parent] = spoken;
      this.branches = branches;
    };
  }

  /**
   * Add one row; false when links must be worked out anew.
   * @param {Row} row
   * @param {boolean} link
   */
  #add(row, link) {
    const known = this.index.get(row.id);
    if (known !== undefined) {
      const moved = this.rows[known].parent !== row.parent;
      this.odd = true;
      this.rows[known] = row;
      return !moved;
    }
    const node = this.rows.push(row) - 1;
    this.index.set(row.id, node);
    if (this.awaited.has(row.id) || row.parent === row.id) return false;
    if (link) this.#link(node, this.#lookup(node));
    return true;
  }

  /** @param {number} node */
  #lookup(node) {
    const parent = this.rows[node].parent ?? null;
    const at = this.node(parent);
    if (at >= 0 || parent === null) return at;
    this.awaited.add(parent);
    this.faults.set(node, "orphan");
    return ROOT;
  }

  /**
   * @param {number} node
   * @param {number} parent
   */
  #link(node, parent) {
    this.parent[node] = parent;
    this.first[node] = this.last[node] = this.next[node] = -1;
    this.spoken[node] = 0;
    const before = this.last[parent];
    if (before < 0) this.first[parent] = node;
    else this.next[before] = node;
    this.last[parent] = node;
    // A cursor move hangs below an entry without being a branch of the conversation.
    const speaks = this.rows[node].type !== "leaf";
    this.hue[node] = speaks && this.spoken[parent] ? this.#newHue() : this.hue[parent];
    if (speaks) this.spoken[parent] = 1;
  }

  #newHue() {
    this.branches += 1;
    return 1 + ((this.branches - 1) % HUES);
  }

  #relink() {
    this.faults.clear();
    this.awaited.clear();
    this.branches = 0;
    const parents = this.rows.map((_, node) => (node === ROOT ? -1 : this.#lookup(node)));
    for (const node of cycleHeads(parents)) {
      parents[node] = ROOT;
      this.faults.set(node, "cycle");
    }
    this.first[ROOT] = this.last[ROOT] = -1;
    this.spoken[ROOT] = 0;
    for (const node of topDown(parents)) if (node !== ROOT) this.#link(node, parents[node]);
  }

  /**
   * Nodes from the session down to `node`, both included.
   * @param {number} node
   */
  path(node) {
    const out = [];
    for (let n = node; n >= 0; n = this.parent[n]) out.push(n);
    return out.reverse();
  }

  /** @param {number} node */
  children(node) {
    const out = [];
    for (let c = this.first[node] ?? -1; c >= 0; c = this.next[c]) out.push(c);
    return out;
  }
}

/**
 * One node of every cycle: the one first in the log.
 * @param {number[]} parents
 */
export function cycleHeads(parents) {
  const state = new Uint8Array(parents.length); // 0 new, 1 on this walk, 2 done
  const heads = [];
  for (let start = 0; start < parents.length; start++) {
    let n = start;
    for (; n >= 0 && state[n] === 0; n = parents[n]) state[n] = 1;
    if (n >= 0 && state[n] === 1) heads.push(smallest(parents, n));
    for (n = start; n >= 0 && state[n] === 1; n = parents[n]) state[n] = 2;
  }
  return heads;
}

/**
 * @param {number[]} parents
 * @param {number} on  A node of the cycle.
 */
function smallest(parents, on) {
  let best = on;
  for (let n = parents[on]; n !== on; n = parents[n]) best = Math.min(best, n);
  return best;
}

/**
 * Every node after its parent; siblings in log order unless one of them was named before it appeared.
 * @param {number[]} parents  Without cycles.
 */
function topDown(parents) {
  const done = new Uint8Array(parents.length);
  const out = [];
  const chain = [];
  for (let start = 0; start < parents.length; start++) {
    for (let n = start; n >= 0 && !done[n]; n = parents[n]) chain.push(n);
    for (let n = chain.pop(); n !== undefined; n = chain.pop()) {
      done[n] = 1;
      out.push(n);
    }
  }
  return out;
}
