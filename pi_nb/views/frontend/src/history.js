/**
 * Checkouts that can be taken back, and done again. All of it follows from the log: a move that takes another back
 * says so (`undoes`), and so does one that does it again (`redoes`); any other is a checkout. So it is the same after
 * the page was left, in every view of the session, and for moves that were made in code. Pure.
 */

/**
 * @typedef {import("./log.js").Log} Log
 * @typedef {import("./log.js").Move} Move
 *
 * @typedef {object} Step  Where an undo or a redo leads.
 * @property {string|null} to
 * @property {"undoes"|"redoes"} how
 * @property {string} move  The entry that is taken back.
 */

export class History {
  /** @param {Log} log */
  constructor(log) {
    this.log = log;
    this.known = 0; // moves that have been looked at
    /** @type {Move[]} */ this.done = [];
    /** Moves that took one back, newest last. @type {Move[]} */ this.undone = [];
  }

  /** Take in what was appended. */
  #read() {
    const { moves } = this.log;
    while (this.known < moves.length) this.#take(this.log.move(moves[this.known++]));
  }

  /** @param {Move} move */
  #take(move) {
    if (move.undoes !== undefined && remove(this.done, move.undoes)) return void this.undone.push(move);
    if (move.redoes === undefined || !remove(this.undone, move.redoes)) this.undone.length = 0;
    this.done.push(move);
  }

  /**
   * The checkout to take back next; null if there is none.
   * @param {string|null} leaf
   * @returns {Step|null}
   */
  undo(leaf) {
    this.#read();
    return step(this.done, leaf, "undoes");
  }

  /**
   * The one to do again.
   * @param {string|null} leaf
   * @returns {Step|null}
   */
  redo(leaf) {
    this.#read();
    return step(this.undone, leaf, "redoes");
  }
}

/**
 * To where the leaf was before the newest move; a move from where it already is would change nothing.
 * @param {Move[]} moves
 * @param {string|null} leaf
 * @param {"undoes"|"redoes"} how
 * @returns {Step|null}
 */
function step(moves, leaf, how) {
  const move = moves.findLast(({ from }) => from !== leaf);
  return move ? { to: move.from, how, move: move.id } : null;
}

/**
 * @param {Move[]} moves
 * @param {string} id
 * @returns {boolean} Whether it was there; it and those after it are gone then.
 */
function remove(moves, id) {
  const at = moves.findLastIndex((move) => move.id === id);
  if (at >= 0) moves.length = at;
  return at >= 0;
}
