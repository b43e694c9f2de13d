// Going back in time, the trail of the leaf, and the history of checkouts: their parts that need no page.
import assert from "node:assert/strict";
import { test } from "node:test";

const src = new URL("../../pi_nb/views/frontend/src/", import.meta.url);
const { Tree } = await import(new URL("tree.js", src));
const { Layout } = await import(new URL("layout.js", src));
const { below, Log } = await import(new URL("log.js", src));
const { Past } = await import(new URL("past.js", src));
const { History } = await import(new URL("history.js", src));
const { pace, ticks } = await import(new URL("pace.js", src));
const { arcs, fade, LAST, legend, trailPaths } = await import(new URL("trail.js", src));
const { told } = await import(new URL("telling.js", src));

const say = (id, parent, more = {}) => ({ id, parent, type: "message", role: "user", text: id, ...more });
const move = (id, parent, target, more = {}) => ({ id, parent, type: "leaf", text: "", target, ...more });
const dice = (seed) => () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
const store = (rows) => {
  const made = { log: new Log(), tree: new Tree() };
  made.log.append(rows);
  made.tree.append(rows);
  return made;
};

/** A log as sessions write them: branches, moves of the leaf, labels, tool results. */
function sound(size, seed) {
  const next = dice(seed);
  const rows = [];
  let leaf = null;
  while (rows.length < size) {
    const id = `e${rows.length}`;
    const any = rows.length ? rows[Math.floor(next() * rows.length)].id : null;
    if (next() < 0.15 && rows.length) rows.push(move(id, leaf, (leaf = next() < 0.1 ? null : any)));
    else rows.push(next() < 0.1 ? { ...say(id, leaf), type: "label", target: any, label: next() < 0.7 ? id : undefined } : say(id, leaf, { role: ["user", "assistant", "toolResult"][rows.length % 3] })), (leaf = id);
  }
  return rows;
}

/** And one with all that can be wrong: repeated ids, later, unknown and own parents. */
function wild(size, seed) {
  const next = dice(seed);
  const any = () => `e${Math.floor(next() * size * 1.1)}`;
  return Array.from({ length: size }, (_, i) => {
    const id = next() < 0.06 ? any() : `e${i}`;
    return say(id, next() < 0.75 ? `e${Math.max(0, i - 1)}` : any(), { type: next() < 0.1 ? "leaf" : "message", target: any() });
  });
}

test("the leaf, the labels and the name after any entry", () => {
  const { log } = store([say("a", null), { ...say("n", "a"), type: "session_info", text: "Boats" }, { ...say("l", "n"), type: "label", target: "a", label: "first" },
    move("m", "l", "a"), move("r", "a", null), { ...say("u", null), type: "label", target: "a" }]);
  assert.deepEqual([0, 1, 2, 3, 4, 5, 6].map((count) => log.leafAt(count)), [null, "a", "n", "l", "a", null, "u"]);
  assert.deepEqual([0, 2, 3, 6].map((count) => log.labelsAt(count).get("a")), [undefined, undefined, "first", undefined]);
  assert.equal(log.labelsAt(3), log.labelsAt(5), "the same object while nothing changes");
  assert.deepEqual([1, 2, 6].map((count) => log.nameAt(count)), [null, "Boats", "Boats"]);
  assert.deepEqual([3, 4, 5].map((count) => log.movesUpTo(count)), [0, 1, 2]);
  assert.deepEqual([log.moveAt(4).from, log.moveAt(4).to, log.moveAt(5).to, log.moveAt(3)], ["l", "a", null, null]);
  assert.deepEqual([below([], 3), below([1, 2, 2, 5], 2), below([1, 2, 2, 5], 9)], [0, 1, 4]);
});

const drawn = ({ nodes, lane, gutter, level, place, setsize, edges, parent }) => ({
  nodes, edges: edges.map(({ hue, ...edge }) => edge),
  each: nodes.map((node) => [lane[node], gutter[node], level[node], place[node], setsize[node], parent[node]]),
});

for (const [name, grow] of Object.entries({ sound, wild }))
  test(`the past is what a tree of the first entries is: ${name} logs`, () => {
    for (let seed = 1; seed <= 12; seed++) {
      const rows = grow(60, seed);
      const now = store(rows);
      const past = new Past();
      const filter = (tree) => (node) => node === 0 || seed % 2 === 0 || tree.rows[node].type !== "leaf";
      const order = [...Array(61).keys()];
      for (const count of [...order, ...order.reverse(), 7, 33]) {
        const moment = past.at(now, count);
        const alone = new Tree();
        alone.append(rows.slice(0, count));
        const active = new Set(alone.path(alone.node(moment.leaf)));
        const options = { active, folded: new Set(), maxLanes: 4 };
        const lens = { key: String(seed % 2), visible: filter(moment.tree), hoist: 0 };
        const expected = new Layout(alone, { ...options, visible: filter(alone), order: "log" });
        assert.deepEqual(drawn(past.layout(moment, lens, options)), drawn(expected), `${name} ${seed} at ${count}`);
      }
    }
  });

test("the past stays what it was while the log grows, provisional rows or not", () => {
  const rows = sound(40, 5);
  const now = store(rows.slice(0, 20));
  const past = new Past();
  const lens = (tree) => ({ key: "", visible: () => true, hoist: 0, tree });
  const at = (count) => drawn(past.layout(past.at(now, count), lens(now.tree), { active: new Set(), folded: new Set() }));
  now.tree.setLive([say("\0live", rows[19].id)]);
  const then = at(12);
  now.tree.setLive([]);
  now.tree.append(rows.slice(20));
  now.log.append(rows.slice(20));
  assert.deepEqual(at(12), then);
  const whole = new Layout(now.tree, { order: "log" });
  assert.deepEqual(at(40), drawn(whole));
});

const from = (...rows) => {
  const log = new Log();
  log.append(rows);
  return { log, history: new History(log) };
};

test("undo walks back through the moves, redo forward; a new checkout forgets what was undone", () => {
  const { log, history } = from(say("a", null), say("b", "a"), say("c", "b"), move("m1", "c", "a"), say("d", "a"), move("m2", "d", "b"));
  assert.deepEqual(history.undo("b"), { to: "d", how: "undoes", move: "m2" });
  assert.equal(history.redo("b"), null);
  log.append([move("u2", "b", "d", { undoes: "m2" })]);
  assert.deepEqual(history.undo("d"), { to: "c", how: "undoes", move: "m1" });
  log.append([move("u1", "d", "c", { undoes: "m1" })]);
  assert.equal(history.undo("c"), null);
  assert.deepEqual(history.redo("c"), { to: "d", how: "redoes", move: "u1" });
  log.append([move("r1", "c", "d", { redoes: "u1" })]);
  assert.deepEqual([history.undo("d").to, history.redo("d").to], ["c", "b"]);
  log.append([move("m3", "d", "a")]);
  assert.deepEqual([history.undo("a"), history.redo("a")], [{ to: "d", how: "undoes", move: "m3" }, null]);
  log.append([say("x", "a"), say("y", "x")]);
  assert.equal(history.undo("y").to, "d", "what was said since is left, not lost");
});

test("going back by a click is a checkout, and can be undone", () => {
  const { history } = from(say("a", null), say("b", "a"), move("m1", "b", "a"), move("m2", "a", "b"));
  assert.deepEqual(history.undo("b"), { to: "a", how: "undoes", move: "m2" });
});

test("the history is the same when it is read at once and piece by piece, whatever the marks say", () => {
  for (let seed = 1; seed < 30; seed++) {
    const next = dice(seed);
    const any = () => `e${Math.floor(next() * 30)}`;
    const rows = Array.from({ length: 40 }, (_, i) => (next() < 0.4 ? say(`e${i}`, any()) : move(`e${i}`, any(), any(), [{}, { undoes: any() }, { redoes: any() }][Math.floor(next() * 3)])));
    const whole = from(...rows);
    const { log, history } = from();
    for (const row of rows) log.append([row]), history.undo(log.leafAt(log.size)), history.redo(null);
    const leaf = log.leafAt(40);
    assert.deepEqual([history.undo(leaf), history.redo(leaf)], [whole.history.undo(leaf), whole.history.redo(leaf)]);
  }
});

test("playing takes twenty seconds at most, in pictures that can be seen, fewer when motion is not wanted", () => {
  for (const total of [0, 1, 12, 50, 333, 10_000, 100_000])
    for (const calm of [false, true]) {
      const { every, each } = pace(total, calm);
      assert.ok(every >= (calm ? 500 : 60) && every <= 500, `${total}`);
      assert.ok(every >= each, "no picture without something new");
      assert.ok(total * each <= 20_001, `${total}`);
    }
  assert.deepEqual(pace(10, false), { every: 400, each: 400 });
});

test("ticks are one for each place of the line, however many moves there were", () => {
  assert.equal(ticks([4, 9], 10, 100, 6), "M50 0v6M100 0v6");
  assert.equal(ticks([], 0, 100, 6), "");
  assert.ok(ticks(Array.from({ length: 50_000 }, (_, i) => i), 50_000, 1000, 6).match(/M/g).length <= 1001);
});

const METRICS = { row: 28, lane: 16, inset: 36, max: 12, trail: 26 };
const walked = (count) => {
  const rows = [...Array(30).keys()].map((i) => say(`e${i}`, i ? `e${i - 1}` : null));
  for (let i = 0; i < count; i++) rows.push(move(`m${i}`, i ? `e${((i - 1) * 7) % 29}` : "e29", `e${(i * 7) % 29}`));
  const { log, tree } = store(rows);
  return { log, layout: new Layout(tree, { visible: (node) => tree.rows[node].type !== "leaf" }) };
};

test("the trail is the last moves, newest first, each way once, older ones on demand", () => {
  const { log, layout } = walked(200);
  const last = arcs(log, log.size, layout, LAST);
  assert.equal(last.length, LAST);
  assert.deepEqual(last[0], { from: ((198 * 7) % 29) + 1, to: ((199 * 7) % 29) + 1, age: 0 });
  assert.deepEqual([...new Set(last.map(({ age }) => fade(age)))], [0, 1, 2]);
  const all = arcs(log, log.size, layout, Infinity);
  assert.ok(all.length > LAST && all.length <= 31, "the same way again is the same arc");
  assert.equal(new Set(all.map(({ from, to }) => `${from} ${to}`)).size, all.length);
  assert.deepEqual(arcs(log, 31, layout, LAST), [{ from: 30, to: 1, age: 0 }], "as it was after the first move");
  assert.deepEqual(arcs(log, 30, layout, LAST), []);
});

test("arcs are drawn for rows in view, inside their margin, and no longer than the view", () => {
  const { log, layout } = walked(200);
  const all = arcs(log, log.size, layout, Infinity);
  const paths = trailPaths(all, 10, 14, METRICS);
  const numbers = paths.flatMap(({ dots }) => [...dots.matchAll(/V(-?[\d.]+)/g)].map((match) => Number(match[1])));
  assert.ok(numbers.length > 0);
  for (const y of numbers) assert.ok(y >= -28 * 2 && y <= 28 * 8, String(y));
  const touching = all.filter(({ from, to }) => [from, to].some((row) => row >= 10 && row <= 14));
  assert.equal(paths.reduce((sum, { dots }) => sum + (dots.match(/M/g)?.length ?? 0), 0), touching.length);
  for (const { dots } of paths) for (const [, x] of dots.matchAll(/[MC](-?[\d.]+) /g)) assert.ok(Number(x) > -8 && Number(x) <= METRICS.trail);
});

test("what the dots are is said", () => {
  assert.match(legend(0, false), /has not been moved/);
  assert.match(legend(1, false), /one move/);
  assert.match(legend(7, false), /all 7 moves/);
  assert.match(legend(1340, false), /last 12 of 1,340 moves/);
  assert.match(legend(1340, true), /all 1340 moves/);
});

test("every entry is told in words", () => {
  const rows = { a: say("a", null, { text: "Where to?" }), m: move("m", "a", null) };
  const find = (id) => rows[id];
  assert.equal(told(say("x", null, { role: "assistant", text: "Rome or **Oslo**?" }), find), "assistant: Rome or Oslo?");
  assert.equal(told(say("x", null, { role: "assistant", text: "", tools: ["bash"], calls: ["ls"] }), find), "assistant: bash: ls");
  assert.equal(told(move("x", "a", "a"), find), "leaf moved to “Where to?”");
  assert.equal(told(move("x", "a", null), find), "leaf moved to the start of the session");
  assert.equal(told(move("x", "a", "0123456789abc"), find), "leaf moved to 01234567");
  assert.equal(told(move("x", "a", "a", { undoes: "m" }), find), "checkout undone: leaf back to “Where to?”");
  assert.equal(told(move("x", "a", "a", { redoes: "m" }), find), "checkout done again: leaf to “Where to?”");
  assert.equal(told({ ...say("x", "a"), type: "label", target: "a", label: "fork" }, find), "label “fork” on “Where to?”");
  assert.equal(told({ ...say("x", "a"), type: "label", target: "a" }, find), "label removed from “Where to?”");
  assert.equal(told({ ...say("x", "a"), type: "model_change", text: "p:m" }, find), "model set to p:m");
  assert.equal(told({ ...say("x", "a"), type: "session_info", text: "Boats" }, find), "session named “Boats”");
  assert.equal(told({ ...say("x", "a"), type: "unheard_of", text: "" }, find), "unheard_of: (empty)");
});
