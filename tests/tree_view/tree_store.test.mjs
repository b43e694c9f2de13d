// The talk between page and kernel: deltas by revision, epochs, requests, and what happens when messages are lost.
import assert from "node:assert/strict";
import { mock, test } from "node:test";

const src = new URL("../../pi_nb/views/frontend/src/", import.meta.url);
const { Store } = await import(new URL("store.js", src));
const { ViewState } = await import(new URL("state.js", src));

class Model {
  constructor(state = {}) {
    this.state = { rev: 0, status: "idle", ...state };
    this.handlers = new Map();
    this.sent = [];
  }
  get = (name) => this.state[name];
  on = (name, handler) => this.handlers.set(name, [...(this.handlers.get(name) ?? []), handler]);
  off = (name, handler) => this.handlers.set(name, (this.handlers.get(name) ?? []).filter((h) => h !== handler));
  send = (content) => {
    if (this.broken) throw new Error("closed");
    this.sent.push(content);
  };
  fire = (name, ...args) => (this.handlers.get(name) ?? []).forEach((handler) => handler(...args));
  say = (content) => this.fire("msg:custom", content);
  set = (name, value) => ((this.state[name] = value), this.fire(`change:${name}`));
}
const say = (id, parent) => ({ id, parent, type: "message", role: "user", text: id });
const delta = (from, rows, more = {}) => ({ op: "delta", epoch: "e", from, to: from + rows.length, rows, leaf: rows.at(-1)?.id ?? null, labels: {}, ...more });

function start(state) {
  const model = new Model(state);
  const store = new Store(model);
  const changes = [];
  store.subscribe((change) => changes.push(change));
  return { model, store, changes };
}

test("rows are asked for, applied, and asked for again when the log has grown", () => {
  const { model, store, changes } = start();
  store.sync();
  assert.deepEqual(model.sent[0], { op: "sync", id: 1, epoch: "", have: 0 });
  model.say(delta(0, [say("a", null)]));
  assert.equal(store.leaf, "a");
  model.set("rev", 2);
  assert.deepEqual(model.sent[1], { op: "sync", id: 2, epoch: "e", have: 1 });
  model.say(delta(1, [say("b", "a")]));
  assert.deepEqual([store.have, store.tree.size, changes], [2, 3, ["reset", "rows"]]);
  store.close();
});

test("one question is enough while its answer is on the way", () => {
  const { model, store } = start();
  for (let rev = 1; rev < 9; rev++) model.set("rev", rev);
  assert.equal(model.sent.length, 1);
  model.say(delta(0, [say("a", null)], { total: 1 }));
  assert.equal(model.sent.length, 2); // rev says there is more than the answer told
  store.close();
});

test("a long log comes in parts", () => {
  const { model, store } = start();
  store.sync();
  model.say(delta(0, [say("a", null)], { total: 2 }));
  assert.deepEqual(model.sent.at(-1), { op: "sync", id: 2, epoch: "e", have: 1 });
  model.say(delta(1, [say("b", "a")], { total: 2 }));
  assert.deepEqual([model.sent.length, store.have], [2, 2]);
  store.close();
});

test("a delta that came twice changes nothing, one that left something out is asked for again", () => {
  const { model, store } = start();
  model.say(delta(0, [say("a", null), say("b", "a")]));
  model.say(delta(1, [say("b", "a")]));
  assert.equal(store.have, 2);
  model.say(delta(5, [say("z", "b")]));
  assert.deepEqual([store.have, model.sent.at(-1).have], [2, 2]);
  store.close();
});

test("another epoch starts from nothing, even if its first message was lost", () => {
  const { model, store, changes } = start();
  model.say(delta(0, [say("a", null)], { labels: { a: "old" } }));
  model.say(delta(3, [say("y", null)], { epoch: "f" }));
  assert.deepEqual(model.sent.at(-1), { op: "sync", id: 1, epoch: "f", have: 0 });
  model.say(delta(0, [say("x", null)], { epoch: "f" }));
  assert.deepEqual([store.have, store.tree.rows.at(-1).id, store.labels.size], [1, "x", 0]);
  assert.equal(changes.at(-1), "rows");
  store.close();
});

test("labels come and go with deltas", () => {
  const { model, store } = start();
  model.say(delta(0, [say("a", null)], { labels: { a: "one" } }));
  model.say(delta(1, [], { labels: { a: null, b: "two" } }));
  assert.deepEqual([...store.labels], [["b", "two"]]);
  store.close();
});

test("requests have numbers of their own; acks resolve them, naks reject them, strangers are ignored", async () => {
  const { model, store } = start();
  const moved = store.request("checkout", { entry: "a" });
  const refused = store.request("checkout", { entry: "b" });
  const [first, second] = model.sent.map((message) => message.id);
  assert.notEqual(first, second);
  for (const odd of [null, 7, "x", {}, { op: "ack", id: 99 }, { op: "what" }]) model.say(odd);
  model.say({ op: "nak", id: second, error: "There is no entry b." });
  model.say({ op: "ack", id: first, leaf: "a" });
  assert.equal((await moved).leaf, "a");
  await assert.rejects(refused, /There is no entry b/);
  store.close();
});

test("a kernel that does not answer is busy after 300 ms and silent after 10 s, and well again when it speaks", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  const { model, store } = start();
  store.request("context", { entry: null });
  mock.timers.tick(250);
  assert.equal(store.link, "ok");
  mock.timers.tick(100);
  assert.equal(store.link, "busy");
  mock.timers.tick(10_000);
  assert.equal(store.link, "silent");
  model.say({ op: "ack", id: 1 });
  assert.equal(store.link, "ok");
  store.close();
  mock.timers.reset();
});

test("a lost question about rows is asked again some times, not for ever", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  const { model, store } = start();
  store.sync();
  for (let second = 0; second < 11; second++) mock.timers.tick(1000);
  assert.equal(model.sent.length, 2);
  for (let second = 0; second < 200; second++) mock.timers.tick(1000);
  assert.equal(model.sent.length, 7);
  assert.equal(store.link, "silent");
  model.set("rev", 5);
  assert.equal(model.sent.length, 8);
  store.close();
  mock.timers.reset();
});

test("a closed comm is said so, and whoever waits is told", async () => {
  const { model, store } = start();
  const asked = store.request("context", { entry: "a" });
  model.broken = true;
  store.sync();
  assert.equal(store.link, "closed");
  await assert.rejects(asked, /no connection/);
  await assert.rejects(store.request("checkout", { entry: "a" }), /no connection/);
  store.close();
});

test("a growing answer is a provisional child of the leaf and makes room for the entry", () => {
  const { model, store, changes } = start();
  model.say(delta(0, [say("a", null)]));
  model.say({ op: "live", rows: { "": { text: "Hel" } } });
  assert.deepEqual([store.tree.rows.at(-1).text, store.tree.rows.at(-1).parent], ["Hel", "a"]);
  model.say({ op: "live", rows: { "": { text: "Hello" } } });
  model.say(delta(1, [say("b", "a")]));
  assert.deepEqual([store.tree.rows.at(-1).text, store.tree.rows.at(-1).parent], ["Hello", "b"]);
  model.say({ op: "live", rows: { "": null } });
  assert.notEqual(store.tree.live, -1); // its entry is on the way
  model.say(delta(2, [{ id: "l", parent: "b", type: "label", text: "x on a", target: "a" }]));
  assert.notEqual(store.tree.live, -1); // that was something else
  model.say(delta(3, [{ ...say("c", "b"), role: "assistant" }]));
  assert.equal(store.tree.live, -1);
  assert.deepEqual(changes, ["reset", "rows", "live", "rows", "rows", "rows"]);
  store.close();
});

test("a written answer stays in view until its entry is there, however long that takes to arrive", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  const { model, store } = start({ status: "running" });
  model.say(delta(0, [say("a", null)]));
  model.say({ op: "live", rows: { "": { text: "Hello" } } });
  model.say({ op: "live", rows: { "": null } });
  const seen = [];
  store.subscribe(() => seen.push(store.tree.rows.at(-1).text));
  mock.timers.tick(900);
  assert.notEqual(store.tree.live, -1);
  model.say(delta(1, [{ ...say("b", "a"), role: "assistant", text: "Hello." }]));
  mock.timers.tick(5000);
  assert.deepEqual([seen, store.tree.size], [["Hello."], 3]);
  store.close();
  mock.timers.reset();
});

test("a kernel that is gone is known soon after the host says so, and one that answers is not gone", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  const { model, store } = start();
  model.say(delta(0, [say("a", null)]));
  model.fire("comm_live_update");
  model.say(delta(1, []));
  mock.timers.tick(2000);
  assert.equal(store.link, "ok");
  model.fire("comm_live_update");
  mock.timers.tick(1500);
  assert.equal(store.link, "closed");
  model.say(delta(1, []));
  assert.equal(store.link, "ok");
  store.close();
  mock.timers.reset();
});

test("answers of several runs grow side by side, and each gives way to its own entry", () => {
  const { model, store } = start({ status: "running" });
  model.say(delta(0, [say("a", null), say("p1", "a")]));
  model.say({ op: "live", rows: { 1: { text: "one", parent: "p1" }, 2: { text: "two", parent: "p2" } } });
  const lives = () => store.tree.lives.map((node) => [store.tree.rows[node].text, store.tree.rows[node].parent]);
  assert.deepEqual(lives(), [["one", "p1"]]); // the other's prompt has not arrived
  model.say(delta(2, [say("p2", "a")]));
  assert.deepEqual(lives(), [["one", "p1"], ["two", "p2"]]);
  model.say({ op: "live", rows: { 2: { text: "", note: "again", parent: "p2" } } });
  model.say({ op: "live", rows: { 1: null, 2: null } });
  model.say(delta(3, [{ ...say("b2", "p2"), role: "assistant" }]));
  assert.deepEqual(lives(), [["one", "p1"]]);
  model.say(delta(4, [{ ...say("b1", "p1"), role: "assistant" }]));
  assert.deepEqual(lives(), []);
  store.close();
});

test("a kernel that says goodbye is gone at once, and one that speaks again is back", async () => {
  const { model, store } = start();
  model.say(delta(0, [say("a", null)]));
  const asked = store.request("context", { entry: "a" });
  model.say({ op: "bye" });
  await assert.rejects(asked, /no connection/);
  assert.deepEqual([store.link, store.tree.size], ["closed", 2]);
  model.say(delta(1, [say("b", "a")]));
  assert.deepEqual([store.link, store.tree.size], ["ok", 3]);
  store.close();
});

test("that a run has ended is learnt from the next delta, which is asked for when nothing is heard", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  const { model, store, changes } = start({ status: "running" });
  store.sync();
  model.say(delta(0, [say("a", null)], { status: "running" }));
  const asked = model.sent.length;
  mock.timers.tick(5100);
  assert.equal(model.sent.length, asked + 1);
  model.say(delta(1, [say("b", "a")], { status: "idle" }));
  assert.deepEqual([store.status, changes], ["idle", ["reset", "status", "rows"]]);
  mock.timers.tick(60_000);
  assert.equal(model.sent.length, asked + 1);
  store.close();
  mock.timers.reset();
});

test("an answer that comes to nothing goes away by itself", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  const { model, store } = start();
  model.say(delta(0, [say("a", null)]));
  model.say({ op: "live", rows: { "": { text: "Hel" } } });
  model.say({ op: "live", rows: { "": null } });
  mock.timers.tick(300);
  assert.deepEqual([store.tree.live, store.lives.rows.size], [-1, 0]);
  store.close();
  mock.timers.reset();
});

test("nothing is heard after close", () => {
  const { model, store, changes } = start();
  store.close();
  model.say(delta(0, [say("a", null)]));
  model.set("rev", 3);
  assert.deepEqual([changes, model.sent, store.have], [[], [], 0]);
});

test("the focus goes with the leaf until it is moved, and comes back to it", () => {
  const { model, store } = start();
  const state = new ViewState(store);
  model.say(delta(0, [say("a", null), say("b", "a")]));
  state.arrange();
  assert.equal(state.focus, "b");
  state.look(store.tree.node("a"));
  model.say(delta(2, [say("c", "b")]));
  state.arrange();
  assert.equal(state.focus, "a");
  state.look(state.leafNode);
  model.say(delta(3, [say("d", "c")]));
  state.arrange();
  assert.equal(state.focus, "d");
  store.close();
});

test("a focus that is folded or filtered away is shown on its nearest visible ancestor", () => {
  const { model, store } = start();
  const state = new ViewState(store);
  model.say(delta(0, [say("a", null), { ...say("t", "a"), role: "toolResult" }, say("b", "t"), say("z", "a")]));
  state.arrange();
  state.look(store.tree.node("t"));
  state.filter = "notools";
  state.arrange();
  assert.equal(state.layout.nodes[state.focusRow], store.tree.node("a"));
  state.look(store.tree.node("b"));
  state.folds.add("a");
  state.arrange();
  assert.equal(state.layout.nodes[state.focusRow], store.tree.node("a"));
  assert.ok(state.reveal(store.tree.node("b")));
  state.arrange();
  assert.equal(state.layout.nodes[state.focusRow], store.tree.node("b"));
  store.close();
});
