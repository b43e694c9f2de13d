// The parts of the live tree that need no page. `npm test` in pi_nb/views/frontend, or pytest.
import assert from "node:assert/strict";
import { test } from "node:test";

const src = new URL("../../pi_nb/views/frontend/src/", import.meta.url);
const { cycleHeads, LIVE, ROOT, Tree } = await import(new URL("tree.js", src));
const { Layout } = await import(new URL("layout.js", src));
const { lanePaths } = await import(new URL("lanes.js", src));
const { haystack, passes, ranges, words } = await import(new URL("filter.js", src));
const { actionOf, target } = await import(new URL("moves.js", src));
const { clock, count, grouped, money, quote, reading, shortSession, wording } = await import(new URL("wording.js", src));
const { pieces } = await import(new URL("json.js", src));
const { related, words: changes } = await import(new URL("diff.js", src));
const { comparison } = await import(new URL("replies.js", src));
const { isDark } = await import(new URL("theme.js", src));

const say = (id, parent, more = {}) => ({ id, parent, type: "message", role: "user", text: id, ...more });
const grow = (...pairs) => {
  const tree = new Tree();
  tree.append(pairs.map(([id, parent, more]) => say(id, parent, more)));
  return tree;
};
const ids = (tree, nodes) => nodes.map((node) => (node === ROOT ? "/" : tree.rows[node].id));
const lay = (tree, leaf, options = {}) => new Layout(tree, { active: new Set(tree.path(tree.node(leaf))), ...options });
const dice = (seed) => () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;

/** A log with all that can be wrong with one: unknown, later and own parents, repeated ids, cycles, cursor moves. */
function wild(size, seed) {
  const next = dice(seed);
  const any = () => `e${Math.floor(next() * size * 1.1)}`;
  return Array.from({ length: size }, (_, i) => {
    const id = next() < 0.04 ? any() : `e${i}`;
    const parent = next() < 0.05 ? null : next() < 0.8 ? `e${Math.max(0, i - 1)}` : any();
    return say(id, parent, { type: next() < 0.1 ? "leaf" : "message", role: ["user", "assistant", "toolResult"][i % 3] });
  });
}

test("children come from the parent alone, in log order, and the path leads from the session down", () => {
  const tree = grow(["a", null], ["b", "a"], ["c", "a"], ["d", "b"]);
  assert.deepEqual(ids(tree, tree.children(ROOT)), ["a"]);
  assert.deepEqual(ids(tree, tree.children(tree.node("a"))), ["b", "c"]);
  assert.deepEqual(ids(tree, tree.path(tree.node("d"))), ["/", "a", "b", "d"]);
  assert.equal(tree.node(null), ROOT);
  assert.equal(tree.node("nobody"), -1);
  assert.deepEqual(tree.path(-1), []);
});

test("an unknown parent hangs the entry on the session, until the parent appears", () => {
  const tree = grow(["b", "a"], ["c", "b"]);
  assert.deepEqual(ids(tree, tree.children(ROOT)), ["b"]);
  assert.equal(tree.faults.get(tree.node("b")), "orphan");
  tree.append([say("a", null)]);
  assert.deepEqual(ids(tree, tree.path(tree.node("c"))), ["/", "a", "b", "c"]);
  assert.equal(tree.faults.size, 0);
});

test("a cycle is cut at the entry that is first in the log, an entry that is its own parent included", () => {
  const tree = grow(["x", null], ["a", "c"], ["b", "a"], ["c", "b"], ["s", "s"]);
  assert.deepEqual(ids(tree, tree.path(tree.node("c"))), ["/", "a", "b", "c"]);
  assert.equal(tree.faults.get(tree.node("a")), "cycle");
  assert.equal(tree.faults.get(tree.node("s")), "cycle");
  assert.deepEqual(cycleHeads([1, 0, 2, -1, 3]), [0, 2]);
});

test("a repeated id keeps its place and takes the last row", () => {
  const tree = grow(["a", null], ["b", "a"], ["c", "a"], ["b", "c", { text: "again" }]);
  assert.equal(tree.size, 4);
  assert.equal(tree.rows[tree.node("b")].text, "again");
  assert.deepEqual(ids(tree, tree.path(tree.node("b"))), ["/", "a", "c", "b"]);
});

test("a provisional row comes, changes and goes without a trace", () => {
  const tree = grow(["a", null], ["b", "a"]);
  const before = JSON.stringify(tree);
  assert.equal(tree.setLive([say(LIVE, "a")]), true);
  assert.deepEqual(ids(tree, tree.children(tree.node("a"))), ["b", LIVE]);
  assert.equal(tree.setLive([say(LIVE, "a", { text: "more" })]), false);
  assert.equal(tree.rows[tree.live].text, "more");
  tree.setLive([say(LIVE, null)]);
  assert.deepEqual(ids(tree, tree.children(ROOT)), ["a", LIVE]);
  tree.setLive([]);
  assert.equal(JSON.stringify(tree), before);
  assert.equal(tree.live, -1);
});

test("several provisional rows come and go together, each found by its id", () => {
  const tree = grow(["a", null], ["b", "a"], ["c", "a"]);
  const before = JSON.stringify(tree);
  const [one, two] = [`${LIVE}1`, `${LIVE}2`];
  tree.setLive([say(one, "b"), say(two, "c")]);
  assert.deepEqual([ids(tree, tree.children(tree.node("b"))), ids(tree, tree.children(tree.node("c")))], [[one], [two]]);
  assert.deepEqual([tree.node(two), tree.isLive(tree.node(one)), tree.isLive(tree.node("c"))], [5, true, false]);
  assert.equal(tree.setLive([say(one, "b", { text: "x" }), say(two, "c", { text: "y" })]), false);
  assert.equal(tree.setLive([say(two, "c")]), true);
  assert.deepEqual([tree.lives, tree.node(one)], [[4], -1]);
  tree.setLive([]);
  assert.equal(JSON.stringify(tree), before);
});

test("rows appended one by one and all at once give the same tree, whatever is wrong with them", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const rows = wild(80, seed);
    const [one, all] = [new Tree(), new Tree()];
    for (const row of rows) one.append([row]);
    all.append(rows);
    assert.deepEqual(one.parent, all.parent, `seed ${seed}`);
    assert.deepEqual(one.faults, all.faults);
    assert.deepEqual([...one.rows.keys()].map((n) => one.children(n).sort()), [...all.rows.keys()].map((n) => all.children(n).sort()));
  }
});

test("every node gets one row below its parent's, in every order, filter and fold", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const tree = new Tree();
    tree.append(wild(120, seed));
    const next = dice(seed);
    const leaf = Math.floor(next() * tree.size);
    for (const order of ["active", "log"])
      for (const maxLanes of [1, 3, 6]) {
        const layout = new Layout(tree, { active: new Set(tree.path(leaf)), order, maxLanes });
        assert.equal(layout.count, tree.size);
        assert.equal(new Set(layout.nodes).size, tree.size);
        for (const node of layout.nodes) {
          if (node === ROOT) continue;
          assert.ok(layout.row[layout.parent[node]] < layout.row[node]);
          assert.equal(layout.level[node], layout.level[layout.parent[node]] + 1);
          assert.equal(layout.children(layout.parent[node])[layout.place[node] - 1], node);
          assert.equal(layout.setsize[node], layout.children(layout.parent[node]).length);
          assert.ok(layout.gutter[node] >= layout.lane[node]);
        }
        lanePaths(layout, 0, layout.count - 1, { row: 28, lane: 16, inset: 8, max: 12 });
      }
  }
});

test("no line runs through another branch's dot: lanes beside a row are free or its own", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const tree = new Tree();
    tree.append(wild(90, seed));
    const layout = lay(tree, null, { maxLanes: 500 });
    for (const edge of layout.edges)
      for (let row = edge.from + 1; row < edge.to; row++) {
        const node = layout.nodes[row];
        assert.ok(edge.start === edge.trunk && row === edge.from ? true : layout.lane[node] !== edge.trunk, `seed ${seed}, row ${row}`);
      }
  }
});

test("the context of the leaf is one block from the top, straight down the first lane", () => {
  const tree = grow(["a", null], ["b", "a"], ["c", "b"], ["d", "a"], ["e", "d"], ["f", "d"], ["g", "a"]);
  const layout = lay(tree, "e");
  assert.deepEqual(ids(tree, layout.nodes), ["/", "a", "d", "e", "f", "b", "c", "g"]);
  assert.deepEqual(layout.nodes.slice(0, 4).map((node) => layout.lane[node]), [0, 0, 0, 0]);
  assert.deepEqual(ids(tree, lay(tree, "e", { order: "log" }).nodes), ["/", "a", "b", "c", "d", "e", "f", "g"]);
});

test("indentation grows at branch points only", () => {
  const rows = Array.from({ length: 300 }, (_, i) => [`e${i}`, i ? `e${i - 1}` : null]);
  const layout = lay(grow(...rows, ["side", "e20"]), "e299");
  assert.equal(Math.max(...layout.lane), 1);
  assert.equal(layout.lane[layout.nodes.at(-1)], 1);
});

test("lanes stay few where branch points are many: far trunks become stubs", () => {
  const rows = [];
  for (let i = 0; i < 400; i++) rows.push([`m${i}`, i ? `m${i - 1}` : null], [`s${i}`, `m${i}`]);
  const layout = lay(grow(...rows), "m399", { maxLanes: 4 });
  assert.ok(Math.max(...layout.lane) <= 5);
  assert.ok(layout.edges.some((edge) => edge.elided) && layout.edges.some((edge) => !edge.elided));
  assert.ok(layout.adrift.has(layout.tree.node("s0")) && !layout.adrift.has(layout.tree.node("s399")));
  assert.equal(layout.forks.get(layout.tree.node("m0")), 1);
});

test("what a filter hides hands its children to the nearest visible ancestor", () => {
  const tree = grow(["u1", null], ["t", "u1", { role: "toolResult" }], ["u2", "t"], ["u3", "t"]);
  const layout = lay(tree, "u3", { visible: (node) => node === ROOT || passes("user", tree.rows[node], false) });
  assert.deepEqual(ids(tree, layout.nodes), ["/", "u1", "u3", "u2"]);
  assert.deepEqual(ids(tree, layout.children(tree.node("u1"))), ["u3", "u2"]);
  assert.equal(layout.row[tree.node("t")], -1);
  assert.equal(layout.nearest(tree.node("t")), tree.node("u1"));
});

test("branches are the tips that are shown, not the stubs that labels are", () => {
  const tree = new Tree();
  tree.append([say("a", null), { id: "l", parent: "a", type: "label", text: "x" }, say("b", "l"), say("c", "a"), { id: "n", parent: "c", type: "session_info", text: "x" }]);
  const talk = (node) => node === ROOT || tree.rows[node].type === "message";
  assert.equal(lay(tree, "n", { visible: talk }).branches, 2);
  assert.deepEqual(ids(tree, lay(tree, "n", { visible: talk }).nodes), ["/", "a", "c", "b"]);
  assert.equal(lay(tree, "n", { visible: talk, folded: new Set([tree.node("a")]) }).branches, 2);
});

test("a fold hides what is below it and knows how much", () => {
  const tree = grow(["a", null], ["b", "a"], ["c", "b"], ["d", "a"]);
  const layout = lay(tree, "d", { folded: new Set([tree.node("b")]) });
  assert.deepEqual(ids(tree, layout.nodes), ["/", "a", "d", "b"]);
  assert.equal(layout.hidden(tree.node("b")), 1);
  assert.equal(layout.hidden(tree.node("a")), 3);
  assert.ok(layout.expandable(tree.node("b")) && !layout.expandable(tree.node("c")));
});

test("a hoisted node is the top row and everything else is gone", () => {
  const tree = grow(["a", null], ["b", "a"], ["c", "b"], ["d", "a"]);
  assert.deepEqual(ids(tree, lay(tree, "d", { hoist: tree.node("b") }).nodes), ["b", "c"]);
});

test("a chain of 100,000 entries and 100,000 siblings need no stack", () => {
  const chain = new Tree();
  chain.append(Array.from({ length: 100_000 }, (_, i) => say(`e${i}`, i ? `e${i - 1}` : null)));
  assert.equal(lay(chain, "e99999").count, 100_001);
  const backwards = new Tree();
  backwards.append(Array.from({ length: 100_000 }, (_, i) => say(`e${i}`, i < 99_999 ? `e${i + 1}` : null)));
  assert.equal(lay(backwards, "e0").level[backwards.node("e0")], 100_001);
  const star = new Tree();
  star.append(Array.from({ length: 100_000 }, (_, i) => say(`e${i}`, null)));
  assert.equal(lay(star, "e7").nodes[1], star.node("e7"));
});

test("a branch keeps its colour when the leaf moves, and a cursor move starts none", () => {
  const tree = grow(["a", null], ["b", "a"], ["l", "a", { type: "leaf" }], ["c", "a"], ["d", "c"]);
  const hue = (id) => tree.hue[tree.node(id)];
  assert.equal(hue("b"), hue("a"));
  assert.notEqual(hue("c"), hue("a"));
  assert.equal(hue("d"), hue("c"));
  assert.equal(tree.branches, 1);
});

test("lines of the rows in view are drawn, those of others are not", () => {
  const tree = grow(["a", null], ["b", "a"], ["c", "b"], ["d", "a"]);
  const paths = lanePaths(lay(tree, "c"), 0, 4, { row: 20, lane: 10, inset: 0, max: 9 });
  assert.deepEqual([...paths.keys()].sort(), ["-1", String(tree.hue[tree.node("d")])].sort());
  assert.equal(paths.get("-1"), "M5 10v20M5 30v20M5 50v20");
  assert.match(paths.get(String(tree.hue[tree.node("d")])), /^M5 30C.* 15 50M15 50V90$/);
  assert.equal(lanePaths(lay(tree, "c"), 4, 4, { row: 20, lane: 10, inset: 0, max: 9 }).has("-1"), false);
});

test("filters show what their names say", () => {
  const shown = (mode, row, labelled = false) => passes(mode, row, labelled);
  const calls = { type: "message", role: "assistant", text: "", tools: ["bash"] };
  assert.ok(shown("default", calls) && !shown("notools", calls) && shown("notools", { ...calls, text: "hm" }));
  assert.ok(!shown("default", { type: "leaf" }) && shown("all", { type: "leaf" }) && !shown("default", { type: "label" }));
  assert.ok(shown("default", { type: "model_change" }) && !shown("user", calls) && shown("labelled", calls, true));
});

test("a search finds words in text, calls, labels, models and ids, all of them, whatever their case", () => {
  const row = { id: "ab12", type: "message", role: "assistant", text: "The Opera", tools: ["bash"], calls: ["ls -la"], model: "gpt" };
  const hit = (query) => words(query).every((word) => haystack(row, "Fork").includes(word));
  assert.ok(hit("opera ls") && hit("FORK gpt") && hit("ab12") && hit("bash:") && !hit("opera munch"));
  assert.deepEqual(ranges("aXbxa", ["x", "xb"]), [[1, 4]]);
  assert.deepEqual(ranges("İ dot", ["dot"]), []); // lower case is longer here: no marks instead of wrong ones
});

test("keys with Ctrl, Alt or Cmd are left to the notebook", () => {
  const key = (name, more = {}) => actionOf({ key: name, ctrlKey: false, altKey: false, metaKey: false, ...more });
  assert.equal(key("j"), "down");
  assert.equal(key("Enter", { ctrlKey: true }), undefined);
  assert.equal(key("q"), undefined);
});

test("keys lead to rows, branch points, siblings, parents and children", () => {
  const tree = grow(["a", null], ["b", "a"], ["c", "b"], ["d", "c"], ["e", "a"], ["f", "c"]);
  const layout = lay(tree, "d");
  const go = (id, move) => ids(tree, [target(layout, layout.row[tree.node(id)], move)].filter((n) => n >= 0))[0];
  assert.equal(go("a", "down"), "b");
  assert.equal(go("d", "branchup"), "c");
  assert.equal(go("c", "branchup"), "a");
  assert.equal(go("a", "branchdown"), "c");
  assert.equal(go("d", "siblingdown"), "f");
  assert.equal(go("f", "siblingup"), "d");
  assert.equal(go("c", "siblingdown"), "e");
  assert.equal(go("c", "child"), "d");
  assert.equal(go("e", "parent"), "a");
  assert.equal(go("a", "end"), "e");
  assert.equal(go("e", "down"), "e");
  assert.equal(target(layout, -1, "up"), ROOT);
});

test("words about entries: roles, calls, failures, empty answers, kinds nobody knows", () => {
  const said = (row) => wording({ id: "x", parent: null, text: "", type: "message", ...row });
  assert.deepEqual(said({ role: "assistant", tools: ["bash"], calls: ["ls"] }).calls, [{ name: "bash", text: "ls" }]);
  assert.equal(said({ role: "assistant", error: "overloaded" }).text, "overloaded");
  assert.equal(said({ role: "assistant", error: "overloaded" }).tone, "error");
  assert.equal(said({ role: "assistant", thinking: true }).faint, "(thinking only)");
  assert.equal(said({ type: "rabbit" }).who, "rabbit");
  assert.equal(said({ role: "" }).who, "message");
});

test("words that differ between two texts, and nothing else, are marked", () => {
  assert.deepEqual(changes("a nice red dog", "a nice blue dog"), [["same", "a nice "], ["minus", "red"], ["plus", "blue"], ["same", " dog"]]);
  assert.deepEqual(changes("", "x"), [["plus", "x"]]);
  assert.deepEqual(changes("same", "same"), [["same", "same"]]);
  const next = dice(5);
  const text = (size) => Array.from({ length: size }, () => "abc"[Math.floor(next() * 3)]).join(" ");
  for (const size of [3, 40, 900]) {
    const [left, right] = [text(size), text(size + 7)];
    const pieces = changes(left, right);
    const of = (kind) => pieces.filter(([what]) => what === "same" || what === kind).map(([, part]) => part).join("");
    assert.deepEqual([of("minus"), of("plus")], [left, right]);
  }
  assert.ok(related(changes("walk to the opera", "walk to the park")) && !related(changes("Rome", "a table, please")));
});

test("Markdown is read without its marks, other stars and quotes stay, and a session goes by its end", () => {
  assert.equal(reading("# Hi **Ada**, run `ls *.py` - and 2**3**4, __init__, * x *, ``a``"), "Hi Ada, run ls *.py - and 2**3**4, __init__, * x *, ``a``");
  assert.equal(wording(say("a", null, { text: "**x**", role: "toolResult" })).text, "**x**");
  assert.equal(haystack(say("a", null, { text: "**x**" })).includes("**x**"), true);
  assert.equal(shortSession("01a22de2-3974-7aee-86a0-48ebd999b8a4"), "d999b8a4");
});

test("two contexts are compared without a kernel as with one", () => {
  const context = (entry, ...texts) => ({ entry, total: texts.length, tokens: texts.length, items: texts.map((text) => ({ id: text, role: "user", text, tokens: 1 })) });
  const costs = (id) => (id === "d" ? 0.5 : 0);
  const { common, common_tokens, sides } = comparison([context("c", "a", "b", "c"), context("e", "a", "b", "d", "e"), context("f", "a", "b", "c", "f")], costs);
  assert.deepEqual([common, common_tokens], [2, 2]);
  assert.deepEqual(sides.map((side) => [side.entry, side.total, side.items[0].text, side.shared, side.cost]), [["c", 1, "c", 3, 0], ["e", 2, "d", 2, 0.5], ["f", 2, "c", 3, 0]]);
  assert.throws(() => comparison([{ ...context("c", "a"), total: 99 }, context("a", "a")], costs), /too long/);
});

test("numbers, money, times and quotes are short", () => {
  assert.deepEqual([count(undefined), count(950), count(12345), count(1e6), count(99960)], ["", "950", "12.3k", "1M", "100k"]);
  assert.deepEqual([money(undefined), money(0.0001), money(0.01234), money(2)], ["", "<$0.001", "$0.012", "$2.00"]);
  assert.equal(clock("nonsense"), "");
  assert.match(clock("2020-01-02T03:04:05Z"), /^20\d\d-\d\d-\d\d \d\d:\d\d$/);
  assert.equal(grouped(1234567), "1,234,567");
  assert.equal(quote("  a\n b "), "“a b”");
});

test("coloured JSON says exactly what the JSON says", () => {
  const text = JSON.stringify({ 'a "b"': [1, -2.5e3, true, null, "x: 1 <img>"] }, null, 2);
  const cut = pieces(text);
  assert.equal(cut.map(([, part]) => part).join(""), text);
  assert.deepEqual(cut.filter(([kind]) => kind === "key").map(([, part]) => part), ['"a \\"b\\""']);
});

test("a ground is dark when the host's colour is; without one the system decides", () => {
  assert.equal(isDark("rgb(17, 17, 17)", false), true);
  assert.equal(isDark("rgb(255, 255, 255)", true), false);
  assert.equal(isDark("", true), true);
});
