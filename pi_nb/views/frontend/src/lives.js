/**
 * The answers that are being written: one provisional row for each run, so that several at once grow side by side.
 *
 * A run that has written its answer says so; the row then stays until the entry is there, so that it does not vanish
 * and come back.
 */

/**
 * @typedef {import("./types.js").LiveRow} LiveRow
 * @typedef {import("./types.js").Row} Row
 */

const PARTING = 250; // ms between two looks at whether a finished row may go
const PATIENCE = 12; // such looks at most

export class Lives {
  /**
   * @param {() => boolean} waits    Whether entries are still to be expected.
   * @param {() => void} changed
   */
  constructor(waits, changed) {
    this.waits = waits;
    this.changed = changed;
    /** By run. @type {Map<string, LiveRow>} */ this.rows = new Map();
    /** Runs that have ended and wait for their entry. @type {Map<string, ReturnType<typeof setTimeout>>} */ this.parting = new Map();
  }

  /** @param {Record<string, LiveRow|null>} told  By run; null: its answer is complete. */
  take(told) {
    let changed = false;
    for (const [run, row] of Object.entries(told)) {
      this.#stay(run);
      if (row) this.rows.set(run, row), (changed = true);
      else if (this.rows.has(run)) this.#part(run, PATIENCE);
    }
    if (changed) this.changed();
  }

  /**
   * Entries came: the rows that became one of them go.
   * @param {Row[]} rows
   */
  arrived(rows) {
    for (const run of [...this.parting.keys()]) {
      const live = this.rows.get(run);
      const became = (/** @type {Row} */ row) => row.role === (live?.role ?? "assistant") && (live?.parent === undefined || live.parent === row.parent);
      if (rows.some(became)) this.#drop(run);
    }
  }

  clear() {
    for (const run of [...this.rows.keys()]) this.#drop(run);
  }

  /** @param {string} run */
  #drop(run) {
    this.#stay(run);
    this.rows.delete(run);
  }

  /** @param {string} run */
  #stay(run) {
    clearTimeout(this.parting.get(run));
    this.parting.delete(run);
  }

  /**
   * @param {string} run
   * @param {number} looks
   */
  #part(run, looks) {
    this.parting.set(run, setTimeout(() => {
      if (this.waits() && looks > 1) return this.#part(run, looks - 1);
      this.#drop(run);
      this.changed();
    }, PARTING));
  }
}
