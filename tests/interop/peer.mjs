// Real pi, asked from a test; prints JSON.
//   node peer.mjs read FILE | extend FILE | write ROOT          pi-agent-core 0.80.10
//   node peer.mjs manager FILE | manager-write ROOT             pi-coding-agent 1.6.0
// With several FILEs it prints a list.
import { tmpdir } from "node:os";

const [command, ...places] = process.argv.slice(2);

async function describe(session) {
  const context = await session.buildContext();
  const entries = await session.getEntries();
  const labels = {};
  for (const entry of entries) {
    const label = await session.getLabel(entry.id);
    if (label) labels[entry.id] = label;
  }
  return {
    file: (await session.getMetadata()).path,
    leafId: await session.getLeafId(),
    entries,
    branch: (await session.getBranch()).map((entry) => entry.id),
    messages: context.messages,
    model: context.model,
    thinkingLevel: context.thinkingLevel,
    activeToolNames: context.activeToolNames,
    name: (await session.getSessionName()) ?? null,
    labels,
  };
}

const user = (text) => ({ role: "user", content: [{ type: "text", text }], timestamp: 1767225600000 });
const assistant = (text) => ({
  role: "assistant",
  content: [{ type: "text", text }],
  api: "faux",
  provider: "faux",
  model: "faux-1",
  usage: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } },
  stopReason: "stop",
  timestamp: 1767225600000,
});

async function harness(place) {
  const pi = await import("pi-harness/node");
  const env = new pi.NodeExecutionEnv({ cwd: tmpdir() });
  if (command === "write") {
    const repo = new pi.JsonlSessionRepo({ fs: env, sessionsRoot: place });
    const session = await repo.create({ cwd: "/demo/proj", metadata: { by: "pi" } });
    await session.appendModelChange("faux", "faux-2");
    await session.appendMessage(user("one"));
    const first = await session.appendMessage(assistant("answer one"));
    await session.appendMessage(user("two ☕ \u2028"));
    await session.appendMessage(assistant("answer two"));
    await session.appendLabel(first, "first answer");
    await session.moveTo(first, { summary: "what was tried" });
    await session.appendThinkingLevelChange("high");
    await session.appendCustomMessageEntry("note", "from an application", true, { a: [1, null] });
    await session.appendActiveToolsChange(["read"]);
    const third = await session.appendMessage(user("three"));
    await session.appendCompaction("the story so far", third, 1234, { files: [] });
    await session.appendMessage(assistant("answer three"));
    await session.appendSessionName("a name\nof two lines");
    await session.moveTo(third);
    return describe(session);
  }
  const session = new pi.Session(await pi.JsonlSessionStorage.open(env, place));
  if (command === "extend") await session.appendMessage(user("said by pi"));
  return describe(session);
}

async function manager(place) {
  const url = new URL("./node_modules/@earendil-works/pi-coding-agent/dist/core/session-manager.js", import.meta.url);
  const { SessionManager } = await import(url);
  if (command === "manager-write") return seen(grown(SessionManager.create("/demo/proj", place)));
  return seen(SessionManager.open(place));
}

function grown(session) {
  session.appendModelChange("faux", "faux-2");
  session.appendMessage(user("one"));
  const first = session.appendMessage(assistant("answer one"));
  session.appendMessage(user("two"));
  session.appendMessage(assistant("answer two"));
  session.appendLabelChange(first, "first answer");
  session.branch(first);
  session.appendThinkingLevelChange("high");
  const third = session.appendMessage(user("three ☕"));
  session.appendMessage(assistant("answer three"));
  session.appendCompaction("the story so far", third, 1234);
  session.appendSessionInfo("a name");
  session.branchWithSummary(first, "what was tried");
  session.appendMessage(user("four"));
  session.appendMessage(assistant("answer four"));
  return session;
}

function seen(session) {
  const context = session.buildSessionContext();
  return {
    file: session.getSessionFile(),
    leafId: session.getLeafId(),
    entries: session.getEntries().map((entry) => entry.id),
    branch: session.getBranch().map((entry) => entry.id),
    messages: context.messages,
    model: context.model,
    thinkingLevel: context.thinkingLevel,
    name: session.getSessionName() ?? null,
  };
}

const answers = [];
for (const place of places) answers.push(await (command.startsWith("manager") ? manager(place) : harness(place)));
console.log(JSON.stringify(answers.length === 1 ? answers[0] : answers));
