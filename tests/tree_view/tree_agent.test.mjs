// The prompt box and what goes with it, as far as no page is needed: whose text is in the box, what a key does, what a
// move leaves, which cell wrote a prompt, what can be done with an entry.
import assert from "node:assert/strict";
import { test } from "node:test";

const src = new URL("../../pi_nb/views/frontend/src/", import.meta.url);
const load = (name) => import(new URL(name, src));
const { Draft, remember } = await load("draft.js");
const { speech, keyed, asCell, promptIn } = await load("speaking.js");
const { leftBehind } = await load("left.js");
const { which } = await load("cells.js");
const { offersFor } = await load("actions.js");
const { next } = await load("menu.js");
const { Tree } = await load("tree.js");

const agent = (more = {}) => ({ phase: "", doing: "", steer: [], follow_up: [], next_turn: [], returned: [], returned_number: 0, problem: "", question: null, ...more });

test("a click brings a text and a click elsewhere takes it away again, as long as nobody has touched it", () => {
  const draft = new Draft();
  draft.offer("old prompt");
  assert.equal(draft.text, "old prompt");
  draft.offer("another");
  assert.deepEqual([draft.text, draft.kept], ["another", []]);
  draft.offer(null);
  assert.equal(draft.text, "");
  draft.offer("old prompt");
  draft.type("old prompt, better");
  draft.offer(null);
  assert.equal(draft.text, "old prompt, better");
});

test("what somebody wrote stays in the box; the text a click brings waits beside it", () => {
  const draft = new Draft();
  draft.type("mine");
  draft.offer("theirs");
  assert.deepEqual([draft.text, draft.kept], ["mine", ["theirs"]]);
  draft.swap();
  assert.deepEqual([draft.text, draft.kept], ["theirs", ["mine"]]);
  draft.swap();
  assert.deepEqual([draft.text, draft.kept], ["mine", ["theirs"]]);
  draft.drop();
  assert.deepEqual([draft.text, draft.kept], ["mine", []]);
});

test("what is sent is on its way until the kernel has it, and back in the box if it will not have it", () => {
  const draft = new Draft();
  draft.type("one");
  const one = draft.post("prompt");
  draft.type("two");
  const two = draft.post("steer");
  draft.type("three");
  assert.deepEqual([draft.text, draft.posted, draft.unsaid], ["three", [one, two], "one\n\ntwo\n\nthree"]);
  draft.arrived(one);
  draft.refused(two);
  assert.deepEqual([draft.text, draft.posted, draft.unsaid], ["two\n\nthree", [], "two\n\nthree"]);
});

test("what was not said comes back once, in front of what is being written", () => {
  const draft = new Draft();
  draft.type("now");
  assert.ok(draft.giveBack(["first", "second"], 1));
  assert.equal(draft.text, "first\n\nsecond\n\nnow");
  assert.equal(draft.giveBack(["first", "second"], 1), false);
  assert.equal(draft.giveBack([], 2), false);
});

test("a draft is remembered for its session, and forgotten when it is sent", () => {
  const kept = new Map();
  globalThis.sessionStorage = { getItem: (k) => kept.get(k) ?? null, setItem: (k, v) => kept.set(k, v), removeItem: (k) => kept.delete(k) };
  const draft = new Draft();
  const off = remember(draft, "s1");
  draft.type("half a thought");
  const later = new Draft();
  remember(later, "s1");
  assert.equal(later.text, "half a thought");
  const other = new Draft();
  remember(other, "s2");
  assert.equal(other.text, "");
  const posted = later.post("prompt");
  assert.equal(kept.size, 1); // not yet
  later.arrived(posted);
  assert.deepEqual([...kept], []);
  off();
  globalThis.sessionStorage = { getItem: () => null, setItem: () => { throw new Error("full"); } };
  remember(new Draft(), "s3");
  delete globalThis.sessionStorage;
  assert.doesNotThrow(() => remember(new Draft(), "s4")());
});

test("what the box is for follows from the agent, the session and the kernel", () => {
  const mode = (more = {}, now = {}) => speech({ agent: agent(more), status: "idle", link: "ok", ...now }).mode;
  assert.equal(speech({ agent: null, status: "idle", link: "ok" }).mode, "none");
  assert.equal(mode(), "ask");
  assert.equal(mode({}, { link: "busy" }), "ask"); // it is queued, and said so
  assert.equal(mode({}, { link: "closed" }), "off");
  assert.equal(mode({}, { status: "read-only" }), "off");
  assert.equal(mode({}, { past: true }), "off");
  assert.equal(mode({ phase: "run" }, { status: "running" }), "run");
  assert.equal(mode({ phase: "run" }, { status: "running", past: true }), "run");
  assert.equal(mode({ phase: "summary" }, { status: "running" }), "busy");
  assert.equal(mode({}, { status: "running" }), "busy");
  assert.match(speech({ agent: agent(), status: "idle", link: "ok" }).hint, /Enter sends, Shift\+Enter/);
});

test("Enter sends, with Alt it follows up, with Shift it is a new line, and an input method's is its own", () => {
  const key = (more, mode = "ask") => keyed({ key: "Enter", shiftKey: false, altKey: false, ctrlKey: false, metaKey: false, ...more }, mode);
  assert.equal(key({}), "prompt");
  assert.equal(key({ ctrlKey: true }), "prompt");
  assert.equal(key({ metaKey: true }), "prompt");
  assert.equal(key({ shiftKey: true }), null);
  assert.equal(key({ isComposing: true }), null);
  assert.equal(key({}, "run"), "steer");
  assert.equal(key({ altKey: true }, "run"), "followup");
  assert.equal(key({ key: "Escape" }), "leave");
  assert.equal(key({ key: "a" }), null);
});

test("a cell asks the same, byte for byte", () => {
  assert.equal(asCell("a {b} $C `d`"), "%%pi\na {b} $C `d`");
  assert.equal(asCell("costs $`x`"), "%%pi --raw\ncosts $`x`");
});

test("a prompt's whole text is in its line", () => {
  const line = (content, role = "user") => JSON.stringify({ type: "message", message: { role, content } });
  assert.equal(promptIn(line("plain")), "plain");
  assert.equal(promptIn(line([{ type: "text", text: "a" }, { type: "image" }, { type: "text", text: "b" }])), "ab");
  assert.equal(promptIn(line("said", "assistant")), null);
  assert.equal(promptIn("{cut of"), null);
});

const row = (id, parent, more = {}) => ({ id, parent, type: "message", role: "user", text: id, tokens: 10, ...more });

test("a move leaves the messages that are not on the way to where it goes", () => {
  const tree = new Tree();
  tree.append([row("a", null), row("b", "a"), row("m", "b", { type: "model_change", role: undefined }), row("c", "m"), row("d", "a")]);
  assert.deepEqual(leftBehind(tree, "c", "a"), { messages: 2, tokens: 20 });
  assert.deepEqual(leftBehind(tree, "c", "d"), { messages: 2, tokens: 20 });
  assert.deepEqual(leftBehind(tree, "a", "c"), { messages: 0, tokens: 0 });
  assert.deepEqual(leftBehind(tree, "c", "c"), { messages: 0, tokens: 0 });
  assert.deepEqual(leftBehind(tree, null, "c"), { messages: 0, tokens: 0 });
  assert.deepEqual(leftBehind(tree, "d", null), { messages: 2, tokens: 20 });
  assert.deepEqual(leftBehind(tree, "lost", "a"), { messages: 0, tokens: 0 });
});

test("the cell that wrote a prompt is known by its number and text, also when it was run again or edited", () => {
  const seen = (number, text) => ({ number, text });
  const first = row("a", null, { cell: "2", cell_id: "x", text: "My name is  Ada…" });
  const again = row("b", null, { cell: "5", cell_id: "x", text: "My name is Bob" });
  const cells = [seen("1", "%load_ext pi_nb"), seen("5", "%%pi\nMy name is Bob"), seen("3", "%%pi\nMy name\nis Ada Lovelace")];
  assert.equal(which(again, [first, again], cells), 1);
  assert.equal(which(first, [first, again], cells), 1); // the same cell, though its text is another one now
  assert.equal(which(first, [first], cells), 2); // no number fits: its text does
  assert.equal(which(first, [first], cells.slice(0, 2)), -1);
  const gone = row("c", null, { cell: "5", text: "gone" });
  assert.equal(which(gone, [gone], [seen("5", "%%pi\nother now")]), 0);
  assert.equal(which(gone, [gone], [seen("6", "print('gone')")]), -1);
  assert.equal(which(first, [first], []), -1);
});

test("what can be done depends on the entry and on who is behind the view", () => {
  const ground = { agent: true, notebook: true, kernel: true, refusal: "", leaving: "" };
  const deeds = (entry, more = {}) => offersFor(entry, { ...ground, ...more }).filter((offer) => !offer.why).map((offer) => offer.deed);
  assert.deepEqual(deeds(row("a", null, { cell: "2" })), ["checkout", "compare", "label", "cell", "copycell", "copytext", "forkat", "forkbefore", "forkwhole", "download", "export"]);
  assert.deepEqual(deeds(row("b", "a", { role: "assistant" })), ["checkout", "compare", "label", "copytext", "forkat", "forkwhole", "download", "export"]);
  assert.deepEqual(deeds(null), ["forkwhole", "download", "export"]);
  assert.deepEqual(deeds(row("a", null, { cell: "2" }), { agent: false, notebook: false }), ["checkout", "compare", "label", "copycell", "copytext"]);
  assert.deepEqual(deeds(row("b", "a", { role: "assistant" }), { kernel: false, refusal: "A run is under way" }), ["compare", "label", "copytext"]);
});

test("the menu's keys go round, and letters jump", () => {
  const texts = ["Move", "Compare", "Copy", "Fork"];
  assert.equal(next("ArrowDown", 3, texts), 0);
  assert.equal(next("ArrowUp", 0, texts), 3);
  assert.equal(next("Home", 2, texts), 0);
  assert.equal(next("End", 0, texts), 3);
  assert.equal(next("c", 0, texts), 1);
  assert.equal(next("c", 1, texts), 2);
  assert.equal(next("c", 2, texts), 1);
  assert.equal(next("q", 2, texts), -1);
  assert.equal(next(" ", 2, texts), -1);
});
