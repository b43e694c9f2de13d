/** Pointer and keys: which of them does what. */

import { actionOf, target } from "./moves.js";

/**
 * @typedef {import("./view.js").View} View
 * @typedef {import("./moves.js").Action} Action
 * @typedef {import("./moves.js").Move} Move
 */

const INSPECTED = "Inspect is on, so clicks only look; Enter still checks out. i, or the eye, turns it off.";
const FILTERS = /** @type {const} */ (["default", "notools", "user", "labelled", "all"]);

/** What needs the view, and perhaps the node in focus or the key. @type {Partial<Record<Action, (view: View, node: number, key: string) => unknown>>} */
const DEEDS = {
  left,
  right: (view, node) => (view.state.layout.folded.has(node) ? view.lens.fold(node) : move(view, "child")),
  checkout: (view, node) => view.leaf.checkout(node),
  leaf: (view) => view.toLeaf(),
  back,
  label: (view, node) => view.leaf.askLabel(node),
  compare: (view, node) => view.select(node),
  branches: (view, node) => view.compareBranches(node),
  undo: (view) => view.undoing.ask("undo"),
  redo: (view) => view.undoing.ask("redo"),
  time: (view) => view.time.toggle(),
  earlier: (view) => view.time.step(-1),
  later: (view) => view.time.step(1),
  trail: (view) => view.lens.toggleTrail(),
  inspect: (view) => view.lens.toggleInspect(),
  search: (view) => view.bar.input.focus(),
  help: (view) => view.lens.toggleHelp(),
  unfold: (view) => view.lens.unfold(),
  order: (view) => view.lens.toggleOrder(),
  hoist: (view, node) => view.lens.hoist(node),
  prompt: (view) => view.desk.focus(),
  menu: (view, node) => view.desk.menuAt(node),
  summary: (view) => view.desk.offerSummary(),
  cell: (view, node) => view.desk.jump(node),
  copycell: (view, node) => view.desk.copyCell(node),
  entry: (view) => view.panel.choose(view.panel.tab === "entry" ? "context" : "entry"),
  filter: (view, _node, key) => view.lens.setFilter(FILTERS[Number(key) - 1]),
};

/**
 * @param {View} view
 * @param {MouseEvent} event
 */
export function click(view, event) {
  const node = view.list.nodeAt(event);
  if (node < 0 || view.leaf.label.open) return;
  const part = event.target instanceof Element ? event.target.closest("[data-part]")?.getAttribute("data-part") : null;
  if (part === "fold") view.lens.fold(node);
  else if (part === "menu") view.desk.menuAt(node, event.clientX);
  else if (part === "cell") view.desk.jump(node);
  else if (event.altKey) view.look(node);
  else if (event.ctrlKey || event.metaKey) view.select(node);
  else if (view.state.inspect) view.look(node), view.notice.say(INSPECTED);
  else view.leaf.checkout(node);
}

/**
 * @param {View} view
 * @param {KeyboardEvent} event
 */
export function press(view, event) {
  const action = actionOf(event);
  if (!action || view.leaf.label.open) return;
  event.preventDefault();
  const { state } = view;
  const deed = DEEDS[action];
  if (deed) deed(view, state.layout.nodes[state.focusRow] ?? -1, event.key);
  else move(view, /** @type {Move} */ (action));
}

/**
 * Take the focus elsewhere.
 * @param {View} view
 * @param {Move} where
 */
function move(view, where) {
  const { state, list } = view;
  view.look(target(state.layout, state.focusRow, where, Math.floor(list.height / list.metrics.row) - 1));
}

/**
 * Fold; where that is done, to the parent.
 * @param {View} view
 * @param {number} node
 */
function left(view, node) {
  const { layout } = view.state;
  if (layout.expandable(node) && !layout.folded.has(node)) view.lens.fold(node);
  else move(view, "parent");
}

/**
 * Out of the help, the past, a search, a comparison; else to the leaf.
 * @param {View} view
 */
function back(view) {
  if (!view.help.hidden) view.lens.toggleHelp();
  else if (view.state.moment) view.time.now();
  else if (view.state.query) view.bar.clear();
  else if (view.state.selected.length || view.panel.tab === "compare") view.leaveCompare();
  else view.toLeaf();
}
