/**
 * The lines of the rows in view, as the `d` of one SVG path per colour.
 *
 * @typedef {import("./layout.js").Layout} Layout
 * @typedef {import("./layout.js").Edge} Edge
 *
 * @typedef {object} Metrics
 * @property {number} row    Height of a row, px.
 * @property {number} lane   Width of a lane, px.
 * @property {number} inset  Left of lane 0, px.
 * @property {number} max    Lanes further right are drawn here.
 * @property {number} trail  Room for the trail of the leaf left of the lanes, px.
 */

export const ACTIVE = -1; // key of the active path among the hues

/**
 * @param {Metrics} m
 * @param {number} lane
 */
export const laneX = (m, lane) => m.inset + (Math.min(lane, m.max) + 0.5) * m.lane;

/**
 * @param {Layout} layout
 * @param {number} start  First row.
 * @param {number} end    Last row, inclusive.
 * @param {Metrics} m
 * @returns {Map<string, string>}  Key `hue` or `hue:dots` -> path data; y is relative to the top of row `start`.
 */
export function lanePaths(layout, start, end, m) {
  /** @type {Map<string, string[]>} */
  const parts = new Map();
  const draw = (/** @type {string} */ key, /** @type {string} */ d) => {
    const list = parts.get(key);
    if (list) list.push(d);
    else parts.set(key, [d]);
  };
  straight(layout, start, end, m, draw);
  for (const edge of layout.edges) {
    if (edge.to < start || edge.from > end) continue;
    const key = String(edge.active ? ACTIVE : edge.hue);
    if (edge.elided) stubs(edge, start, m, (d) => draw(`${key}:dots`, d));
    else draw(key, branch(edge, start, end, m));
  }
  return new Map([...parts].map(([key, list]) => [key, list.join("")]));
}

/**
 * Runs of nodes that follow each other in one lane.
 * @param {Layout} layout
 * @param {number} start
 * @param {number} end
 * @param {Metrics} m
 * @param {(key: string, d: string) => void} draw
 */
function straight(layout, start, end, m, draw) {
  const { nodes, parent, lane, active, tree } = layout;
  const last = Math.min(end + 1, nodes.length - 1);
  for (let row = Math.max(start, 1); row <= last; row++) {
    const node = nodes[row];
    if (parent[node] < 0 || parent[node] !== nodes[row - 1]) continue;
    const key = String(active.has(node) ? ACTIVE : tree.hue[node]);
    draw(key, `M${laneX(m, lane[node])} ${mid(m, row - 1 - start)}v${m.row}`);
  }
}

/**
 * @param {Metrics} m
 * @param {number} row
 */
const mid = (m, row) => (row + 0.5) * m.row;

/**
 * An S from one lane's row to the next row of another.
 * @param {number} x
 * @param {number} y
 * @param {number} toX
 * @param {number} toY
 */
const bend = (x, y, toX, toY) => `M${x} ${y}C${x} ${y + (toY - y) * 0.6} ${toX} ${y + (toY - y) * 0.4} ${toX} ${toY}`;

/**
 * @param {Edge} edge
 * @param {number} start
 * @param {number} end
 * @param {Metrics} m
 */
function branch(edge, start, end, m) {
  const x = laneX(m, edge.trunk);
  const hang = edge.lane !== edge.trunk; // not the last sibling: it leaves the trunk
  let d = "";
  let top = edge.from;
  if (edge.start !== edge.trunk) {
    d += bend(laneX(m, edge.start), mid(m, top - start), x, mid(m, top + 1 - start));
    top += 1;
  }
  const y0 = mid(m, Math.max(top, start - 1) - start);
  const y1 = mid(m, Math.min(edge.to, end + 1) - start);
  if (y1 > y0) d += `M${x} ${y0}V${y1}`;
  if (hang) d += bend(x, mid(m, edge.to - 1 - start), laneX(m, edge.lane), mid(m, edge.to - start));
  return d;
}

/**
 * @param {Edge} edge
 * @param {number} start
 * @param {Metrics} m
 * @param {(d: string) => void} draw
 */
function stubs(edge, start, m, draw) {
  const x = laneX(m, edge.trunk);
  draw(bend(laneX(m, edge.start), mid(m, edge.from - start), x, mid(m, edge.from + 0.85 - start)));
  const foot = mid(m, edge.to - start);
  draw(`M${x} ${foot - m.row * 0.85}V${foot}`);
  if (edge.lane !== edge.trunk) draw(bend(x, foot - m.row * 0.7, laneX(m, edge.lane), foot));
}
