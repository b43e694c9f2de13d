/** How fast a log is played, and where along it something happened. Pure. */

const WHOLE = 20_000; // ms that playing a long log takes
const SLOW = 400; // ms for an entry of a short one
const SHORTEST = 60; // ms between two pictures
const CALM = 500; // ms between two when less motion is asked for

/**
 * @param {number} total  Entries.
 * @param {boolean} calm  Less motion is asked for.
 * @returns {{every: number, each: number}}  ms between two pictures, and for each entry.
 */
export function pace(total, calm) {
  const each = Math.min(SLOW, WHOLE / Math.max(1, total));
  return { every: Math.max(calm ? CALM : SHORTEST, each), each };
}

/**
 * Ticks for positions along a line `width` long, as the `d` of a path: at most one for each unit.
 * @param {number[]} positions  Sorted.
 * @param {number} total        Entries: the end of the line.
 * @param {number} width
 * @param {number} height
 */
export function ticks(positions, total, width, height) {
  let d = "";
  let last = -1;
  for (const position of positions) {
    const x = Math.round(((position + 1) / Math.max(1, total)) * width);
    if (x !== last) d += `M${x} 0v${height}`;
    last = x;
  }
  return d;
}
