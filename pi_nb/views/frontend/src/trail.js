/**
 * Recorded moves of the leaf as dotted arcs left of the lanes, from the row that was left to the row that was gone
 * to. The newest is strongest; of many, the last few are shown unless all are asked for. Pure.
 */

import { grouped } from "./wording.js";

/**
 * @typedef {import("./log.js").Log} Log
 * @typedef {import("./layout.js").Layout} Layout
 * @typedef {import("./lanes.js").Metrics} Metrics
 *
 * @typedef {object} Arc
 * @property {number} from  Row.
 * @property {number} to    Row.
 * @property {number} age   How many moves came after it.
 */

export const LAST = 12; // moves that are drawn unless all are asked for
const IN_VIEW = 60; // arcs drawn at once, the newest
const BEYOND = 6; // rows out of view within which an arc is drawn in its own form

/**
 * The moves among the first `count` entries, newest first; each way between two rows once.
 * @param {Log} log
 * @param {number} count
 * @param {Layout} layout
 * @param {number} most
 * @returns {Arc[]}
 */
export function arcs(log, count, layout, most) {
  const total = log.movesUpTo(count);
  const rowOf = (/** @type {string|null} */ id) => layout.row[layout.nearest(layout.tree.node(id))] ?? -1;
  const seen = new Set();
  /** @type {Arc[]} */
  const out = [];
  for (let i = total - 1; i >= Math.max(0, total - most); i--) {
    const move = log.move(log.moves[i]);
    const [from, to] = [rowOf(move.from), rowOf(move.to)];
    const way = `${from} ${to}`;
    if (from < 0 || to < 0 || from === to || seen.has(way)) continue;
    seen.add(way);
    out.push({ from, to, age: total - 1 - i });
  }
  return out;
}

/**
 * How strong an arc is: 0 the newest, to 3.
 * @param {number} age
 */
export const fade = (age) => (age === 0 ? 0 : age < 4 ? 1 : age < LAST ? 2 : 3);

/**
 * @param {Arc[]} all     Newest first.
 * @param {number} start  First row in view.
 * @param {number} end    Last row in view.
 * @param {Metrics} m
 * @returns {{dots: string, ends: string}[]}  By how strong they are; y is relative to the top of row `start`.
 */
export function trailPaths(all, start, end, m) {
  const inside = (/** @type {number} */ row) => row >= start && row <= end;
  const shown = all.filter(({ from, to }) => inside(from) || inside(to)).slice(0, IN_VIEW);
  const out = [0, 1, 2, 3].map(() => ({ dots: "", ends: "" }));
  for (const arc of shown) {
    const to = out[fade(arc.age)];
    to.dots += curve(arc, start, end, m);
    to.ends += (inside(arc.from) ? spot(arc.from - start, m) : "") + (inside(arc.to) ? head(arc.to - start, m) : "");
  }
  return out;
}

/** Where arcs touch their rows. @param {Metrics} m */
const edge = (m) => m.trail - 3;

/**
 * @param {Metrics} m
 * @param {number} row
 */
const mid = (m, row) => (row + 0.5) * m.row;

/**
 * @param {Arc} arc
 * @param {number} start
 * @param {number} end
 * @param {Metrics} m
 */
function curve({ from, to }, start, end, m) {
  const x = edge(m);
  const out = Math.min(m.trail * 1.05, 7 + 4 * Math.log2(1 + Math.abs(from - to)));
  const [near, far] = from >= start && from <= end ? [from, to] : [to, from];
  const y = mid(m, near - start);
  const beyond = far < start - BEYOND || far > end + BEYOND;
  const down = far > near ? 1 : -1;
  if (!beyond) return `M${x} ${y}C${x - out} ${y} ${x - out} ${mid(m, far - start)} ${x} ${mid(m, far - start)}`;
  // It goes on out of sight: no more of it than can be seen, for dots are dear.
  return `M${x} ${y}q${-out * 0.75} 0 ${-out * 0.75} ${down * m.row}V${down > 0 ? mid(m, end + 1 - start) : -m.row}`;
}

/**
 * @param {number} row
 * @param {Metrics} m
 */
const spot = (row, m) => `M${edge(m) - 1} ${mid(m, row) - 1}h2v2h-2z`;

/**
 * @param {number} row
 * @param {Metrics} m
 */
const head = (row, m) => `M${edge(m) - 3} ${mid(m, row) - 3}l4.5 3l-4.5 3z`;

/**
 * What is drawn, in words.
 * @param {number} total
 * @param {boolean} all  All were asked for.
 */
export function legend(total, all) {
  if (!total) return "The leaf has not been moved yet: nothing to draw.";
  if (total === 1) return "Dotted: the one move of the leaf.";
  const which = all || total <= LAST ? `all ${total}` : `the last ${LAST} of ${grouped(total)}`;
  return `Dotted: ${which} moves of the leaf, the newest strongest.`;
}

