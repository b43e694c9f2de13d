/** The log as the page knows it: its rows in the order of writing, and what was so after each of them. Pure. */

/**
 * @typedef {import("./types.js").Row} Row
 *
 * @typedef {object} Move  A recorded move of the leaf.
 * @property {number} position  Place of its entry in the log, from 0.
 * @property {string} id        Its entry.
 * @property {string|null} from
 * @property {string|null} to
 * @property {string} [undoes]  The move that it takes back.
 * @property {string} [redoes]  The taking back that it takes back.
 */

export class Log {
  constructor() {
    /** @type {Row[]} */ this.rows = [];
    /** Positions of the moves. @type {number[]} */ this.moves = [];
    /** Positions of labels and names. @type {number[]} */ this.names = [];
    /** What `labelsAt` worked out last. @type {{count: number, labels: Map<string, string>}} */
    this.labelled = { count: 0, labels: new Map() };
  }

  /** Entries. */
  get size() {
    return this.rows.length;
  }

  /** @param {Row[]} rows */
  append(rows) {
    for (const row of rows) {
      const position = this.rows.push(row) - 1;
      if (row.type === "leaf") this.moves.push(position);
      else if (row.type === "label" || row.type === "session_info") this.names.push(position);
    }
  }

  /**
   * The leaf after the first `count` entries.
   * @param {number} count
   * @returns {string|null}
   */
  leafAt(count) {
    const row = this.rows[count - 1];
    if (!row) return null;
    return row.type === "leaf" ? (row.target ?? null) : row.id;
  }

  /** @param {number} position  Of a move. @returns {Move} */
  move(position) {
    const row = this.rows[position];
    return { position, id: row.id, from: this.leafAt(position), to: row.target ?? null, undoes: row.undoes, redoes: row.redoes };
  }

  /**
   * The move that is the last of the first `count` entries; null if that is no move.
   * @param {number} count
   */
  moveAt(count) {
    return this.rows[count - 1]?.type === "leaf" ? this.move(count - 1) : null;
  }

  /**
   * How many moves there are among the first `count` entries.
   * @param {number} count
   */
  movesUpTo(count) {
    return below(this.moves, count);
  }

  /**
   * Labels after the first `count` entries, by the id they name. The same object as long as nothing about them changes.
   * @param {number} count
   * @returns {Map<string, string>}
   */
  labelsAt(count) {
    const last = below(this.names, count);
    if (this.labelled.count === last) return this.labelled.labels;
    /** @type {Map<string, string>} */
    const labels = new Map();
    for (const position of this.names.slice(0, last)) {
      const { type, target, label } = this.rows[position];
      if (type !== "label" || !target) continue;
      if (label) labels.set(target, label);
      else labels.delete(target);
    }
    this.labelled = { count: last, labels };
    return labels;
  }

  /**
   * Name of the session after the first `count` entries.
   * @param {number} count
   * @returns {string|null}
   */
  nameAt(count) {
    for (let i = below(this.names, count) - 1; i >= 0; i--) {
      const row = this.rows[this.names[i]];
      if (row.type === "session_info") return row.text || null;
    }
    return null;
  }
}

/**
 * How many of the sorted numbers are less than `limit`.
 * @param {number[]} sorted
 * @param {number} limit
 */
export function below(sorted, limit) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
