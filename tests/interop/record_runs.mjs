// Plays scenarios on real pi and writes down what happened, one JSON file each, in the form that check_golden reads.
//   node record_runs.mjs NODE_MODULES SCENARIOS.json FOLDER

import crypto from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, input, folder] = process.argv.slice(2);
const pi = path.join(modules, "pi-harness");
const nested = path.join(pi, "node_modules");
const inside = (...parts) => [nested, modules].map((root) => path.join(root, ...parts)).find((file) => fs.existsSync(file));
const load = (file) => import(pathToFileURL(file).href);
const core = await load(path.join(pi, "dist", "node.js"));
const ai = await load(inside("@earendil-works", "pi-ai", "dist", "index.js"));
const { Type } = await load(inside("typebox", "build", "index.mjs"));
const summaries = await load(path.join(pi, "dist", "harness", "messages.js"));

// ------------------------------------------------------------ the world of the recorded runs

const text = (value) => ({ type: "text", text: value });
const result = (value, details = {}, more = {}) => ({ content: [text(value)], details, ...more });

function tool(name, parameters, execute, more = {}) {
  const kinds = { string: () => Type.String(), number: () => Type.Number() };
  const properties = Object.fromEntries(Object.entries(parameters).map(([key, kind]) => [key, kinds[kind]()]));
  return { name, label: name, description: "A tool.", parameters: Type.Object(properties), execute, ...more };
}

function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new Error("tool saw abort"));
    if (signal?.aborted) return stop();
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), stop()), { once: true });
  });
}

const sleeper = (word) => async (_id, args, signal) => (await sleep(args.ms, signal), result(`${word}: ${args.text}`));
const saying = (say, more) => async (_id, args) => result(say(args), {}, more);
const tools = Object.fromEntries(
  [
    tool("echo", { text: "string" }, async (_id, a) => result(`echo: ${a.text}`, { len: a.text.length })),
    tool("add", { a: "number", b: "number" }, async (_id, a) => result(String(a.a + a.b), { sum: a.a + a.b })),
    tool("fail", { message: "string" }, async (_id, a) => { throw new Error(a.message); }),
    tool("slow", { ms: "number", text: "string" }, sleeper("slow")),
    tool("seq", { ms: "number", text: "string" }, sleeper("seq"), { executionMode: "sequential" }),
    tool("progress", { steps: "number" }, async (_id, a, _signal, update) => {
      for (let i = 1; i <= a.steps; i++) update(result(`step ${i}`, { i }));
      return result("all steps", { steps: a.steps });
    }),
    tool("finish", { text: "string" }, saying((a) => `finished: ${a.text}`, { terminate: true })),
    tool("read", { path: "string" }, saying((a) => `contents of ${a.path}`)),
    tool("write", { path: "string", content: "string" }, saying((a) => `wrote ${a.path}`)),
    tool("edit", { path: "string" }, saying((a) => `edited ${a.path}`)),
    tool("nodetails", {}, async () => ({})),
  ].map((made) => [made.name, made]),
);
const zero = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const nothing = { ...zero, totalTokens: 0, cost: { ...zero, total: 0 } };

function expand(value) {
  if (Array.isArray(value)) return value.map(expand);
  if (!value || typeof value !== "object") return value;
  if ("$repeat" in value) return (value.prefix ?? "") + value.$repeat.repeat(value.times);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expand(item)]));
}

const plain = (value) =>
  value === undefined
    ? undefined
    : JSON.parse(JSON.stringify(value, (_k, v) => (typeof v === "function" || v instanceof AbortSignal ? undefined : v)));

// ------------------------------------------------------------ one scenario

class Recorder {
  constructor(scenario) {
    this.scenario = scenario;
    this.setup = scenario.setup;
    this.counts = {};
    this.started = [];
    this.forks = [];
    this.out = { ...scenario, results: [], events: [], providerCalls: [] };
  }

  async record() {
    const root = fs.mkdtempSync(path.join(os.tmpdir(), "recorded-"));
    try {
      this.env = new core.NodeExecutionEnv({ cwd: root });
      this.repo = new core.JsonlSessionRepo({ fs: this.env, sessionsRoot: path.join(root, "sessions") });
      const metadata = this.setup.metadata ? { metadata: this.setup.metadata } : {};
      this.session = await this.repo.create({ cwd: "/demo/proj", ...metadata });
      this.provide();
      this.build();
      for (const action of this.scenario.actions) await this.perform(action, "main");
      await Promise.all(this.started);
      await new Promise((resolve) => setTimeout(resolve, 20));
      return await this.outcome();
    } finally {
      fs.rmSync(root, { recursive: true, force: true });
    }
  }

  provide() {
    const models = [
      { id: "faux-1", reasoning: false, contextWindow: 128000, maxTokens: 16384 },
      { id: "faux-2", reasoning: true, contextWindow: 200000, maxTokens: 32000 },
    ];
    const pace = this.setup.tokensPerSecond ? { tokensPerSecond: this.setup.tokensPerSecond } : {};
    const names = { provider: "faux", api: "faux" };
    this.faux = ai.fauxProvider({ ...names, models, tokenSize: { min: 4, max: 4 }, ...pace });
    this.models = ai.createModels();
    this.models.setProvider(this.faux.provider);
    this.faux.setResponses(
      expand(this.scenario.replies).map((reply) => ({
        role: "assistant", stopReason: "stop", usage: nothing, timestamp: 0, ...reply,
      })),
    );
    const ask = this.models.streamSimple.bind(this.models);
    this.models.streamSimple = (model, context, options) => {
      const kept = ["reasoning", "sessionId", "maxTokens"].filter((name) => options?.[name] !== undefined);
      const call = {
        model: model.id,
        systemPrompt: context.systemPrompt,
        messages: plain(context.messages),
        tools: (context.tools ?? []).map((item) => item.name),
        options: Object.fromEntries(kept.map((name) => [name, options[name]])),
      };
      this.out.providerCalls.push(call);
      const stream = ask(model, context, options);
      stream.result().then((message) => (call.reply = plain(message)));
      return stream;
    };
  }

  build() {
    const { model, tools: names, systemPrompt, ...options } = this.setup;
    this.harness = new core.AgentHarness({
      ...options,
      env: this.env,
      session: this.session,
      models: this.models,
      model: this.faux.getModel(model ?? "faux-1"),
      systemPrompt: systemPrompt ?? "SYS",
      tools: (names ?? []).map((name) => tools[name]),
    });
    this.harness.subscribe((event) => this.hear(event));
    const hooks = ["before_agent_start", "context", "before_provider_request", "tool_call", "tool_result",
      "session_before_compact", "session_before_tree"];
    for (const name of hooks) this.harness.on(name, (event) => this.answer(name, event));
  }

  count(key) {
    return (this.counts[key] = (this.counts[key] ?? 0) + 1);
  }

  async hear(event) {
    const record = recordOf(event);
    this.out.events.push(record);
    for (const [index, trigger] of this.scenario.triggers.entries()) {
      const { nth, ...on } = trigger.on;
      if (!Object.entries(on).every(([key, value]) => record[key] === value)) continue;
      if (this.count(`trigger ${index}`) !== (nth ?? 1)) continue;
      for (const action of trigger.do) {
        if (action.op === "throw") throw new Error(action.message ?? "thrown");
        const done = this.perform(action, `trigger:${record.type}`);
        if (action.op === "abort" || action.nowait) this.started.push(done);
        else await done;
      }
    }
  }

  async answer(name, event) {
    let chosen;
    for (const [index, hook] of this.scenario.hooks.entries()) {
      const matches = Object.entries(hook.match ?? {}).every(([key, value]) => event[key] === value);
      if (hook.type !== name || !matches) continue;
      const number = this.count(`hook ${index}`);
      if (hook.nth === undefined || hook.nth === number) chosen = hook;
    }
    if (!chosen) return undefined;
    if (chosen.throw) throw new Error(chosen.throw);
    if (chosen.dropFirst !== undefined) return { messages: event.messages.slice(chosen.dropFirst) };
    return await this.resolved(chosen.return);
  }

  async resolved(value) {
    if (Array.isArray(value)) return Promise.all(value.map((item) => this.resolved(item)));
    if (value && typeof value === "object") {
      const entries = Object.entries(value).map(async ([key, item]) => [key, await this.resolved(item)]);
      return Object.fromEntries(await Promise.all(entries));
    }
    if (value === "@leaf") return await this.session.getLeafId();
    const found = typeof value === "string" && value.match(/^@e(\d+)$/);
    return found ? (await this.session.getEntries())[Number(found[1]) - 1].id : value;
  }

  async perform(action, where) {
    const record = { op: action.op, where, ok: true };
    try {
      const given = action.op === "abort" ? action : await this.resolved(action); // an abort begins at once
      const value = await operations[action.op](this, given);
      if (value !== undefined) record.value = plain(value);
    } catch (error) {
      record.ok = false;
      record.error = { name: error.name, code: error.code, message: error.message };
    }
    this.out.results.push(record);
  }

  async outcome() {
    const sessions = [this.session, ...this.forks];
    const paths = await Promise.all(sessions.map(async (session) => (await session.getMetadata()).path));
    const files = paths.map((file) => fs.readFileSync(file, "utf8").split("\n").filter(Boolean).map((l) => JSON.parse(l)));
    const contexts = await Promise.all(sessions.map(contextOf));
    const labels = {};
    for (const entry of files[0]) {
      const label = entry.type === "label" ? await this.session.getLabel(entry.targetId) : undefined;
      if (label !== undefined) labels[entry.targetId] = label;
    }
    const found = {
      ...this.out,
      jsonl: files[0],
      forks: files.slice(1),
      context: contexts[0],
      forkContexts: contexts.slice(1),
      llm: plain(core.convertToLlm((await this.session.buildContext()).messages)),
      labels,
      sessionName: (await this.session.getSessionName()) ?? null,
      unusedReplies: this.faux.getPendingResponseCount(),
    };
    return named(found, namesOf(files, paths));
  }
}

const operations = {
  prompt: (r, a) => r.harness.prompt(a.text, a.images ? { images: a.images } : undefined),
  steer: (r, a) => r.harness.steer(a.text),
  followUp: (r, a) => r.harness.followUp(a.text),
  nextTurn: (r, a) => r.harness.nextTurn(a.text),
  abort: (r) => r.harness.abort(),
  appendMessage: (r, a) => r.harness.appendMessage({ timestamp: 0, ...expand(a.message) }),
  seedMessages: async (r, a) => {
    for (const message of a.messages) await r.harness.appendMessage({ timestamp: 0, ...expand(message) });
  },
  setModel: (r, a) => r.harness.setModel(r.faux.getModel(a.model)),
  setThinkingLevel: (r, a) => r.harness.setThinkingLevel(a.level),
  setActiveTools: (r, a) => r.harness.setActiveTools(a.names),
  setTools: (r, a) => r.harness.setTools(a.names.map((name) => tools[name]), a.active),
  setResources: (r, a) => r.harness.setResources(a.resources),
  compact: (r, a) => r.harness.compact(a.instructions),
  navigate: (r, a) => r.harness.navigateTree(a.target, a.options),
  skill: (r, a) => r.harness.skill(a.name, a.extra),
  template: (r, a) => r.harness.promptFromTemplate(a.name, a.args),
  label: (r, a) => r.session.appendLabel(a.target, a.label),
  getLabel: (r, a) => r.session.getLabel(a.target),
  name: (r, a) => r.session.appendSessionName(a.name),
  getName: (r) => r.session.getSessionName(),
  custom: (r, a) => r.session.appendCustomEntry(a.customType, a.data),
  customMessage: (r, a) => r.session.appendCustomMessageEntry(a.customType, a.content, a.display, a.details),
  moveTo: (r, a) => r.session.moveTo(a.target, a.summary),
  getLeafId: (r) => r.session.getLeafId(),
  branchIds: async (r, a) => (await r.session.getBranch(a.from)).map((entry) => entry.id),
  fork: async (r, a) => {
    r.forks.push(await r.repo.fork(await r.session.getMetadata(), { cwd: "/demo/proj", ...(a.options ?? {}) }));
  },
  reopen: async (r) => {
    r.session = await r.repo.open(await r.session.getMetadata());
    r.build();
  },
  state: (r) => ({
    model: r.harness.getModel().id,
    thinkingLevel: r.harness.getThinkingLevel(),
    activeTools: r.harness.getActiveTools().map((item) => item.name),
  }),
};

function recordOf(event) {
  if (event.type === "message_update") {
    const { partial, ...update } = event.assistantMessageEvent;
    return plain({ type: event.type, assistantMessageEvent: update });
  }
  const record = { ...event };
  for (const key of ["model", "previousModel"]) {
    if (record[key]) record[key] = { provider: record[key].provider, id: record[key].id };
  }
  return plain(record);
}

async function contextOf(session) {
  const context = await session.buildContext();
  return plain({
    leafId: await session.getLeafId(),
    model: context.model,
    thinkingLevel: context.thinkingLevel,
    activeToolNames: context.activeToolNames ?? null,
    messages: context.messages,
    roles: context.messages.map((message) => message.role),
  });
}

// ------------------------------------------------------------ stable names for ids, paths and fixed texts

function namesOf(files, paths) {
  const names = new Map();
  files.forEach((lines, number) => {
    names.set(paths[number], `<path S${number + 1}>`);
    names.set(lines[0].id, `S${number + 1}`);
    if (number === 0) lines.slice(1).forEach((entry, place) => names.set(entry.id, `e${place + 1}`));
  });
  return names;
}

function constant(file, name) {
  const source = fs.readFileSync(path.join(pi, "dist", "harness", "compaction", file), "utf8");
  const start = source.indexOf(`${name} = \``) + name.length + 4;
  return source.slice(start, source.indexOf("`;", start));
}

const summariser = constant("compaction.js", "SUMMARIZATION_SYSTEM_PROMPT");
const fixed = [
  [summaries.COMPACTION_SUMMARY_PREFIX, "<COMPACTION_PREFIX>"],
  [summaries.BRANCH_SUMMARY_PREFIX, "<BRANCH_PREFIX>"],
  [constant("branch-summarization.js", "BRANCH_SUMMARY_PREAMBLE"), "<BRANCH_PREAMBLE>"],
];
const suffixes = [summaries.COMPACTION_SUMMARY_SUFFIX, summaries.BRANCH_SUMMARY_SUFFIX];

function named(value, names) {
  const dropped = new Set(["timestamp", "createdAt", "signal"]);
  const inText = (word) => {
    if (names.has(word)) return names.get(word);
    if (word === summariser) return "<SUMMARIZATION_SYSTEM_PROMPT>";
    for (const [long, token] of fixed) word = word.replaceAll(long, token);
    if (/^<(COMPACTION|BRANCH)_PREFIX>/.test(word)) {
      const suffix = suffixes.find((end) => word.endsWith(end));
      if (suffix) word = `${word.slice(0, -suffix.length)}<SUMMARY_SUFFIX>`;
    }
    for (const [long, name] of names) if (long.length >= 20) word = word.replaceAll(long, name);
    word = word.replace(/\b[0-9a-f]{8}\b/g, (id) => names.get(id) ?? id);
    if (word.length <= 1500) return word;
    const sha256 = crypto.createHash("sha256").update(word).digest("hex");
    return { $long: { len: word.length, sha256, head: word.slice(0, 60), tail: word.slice(-60) } };
  };
  const visit = (item) => {
    if (typeof item === "string") return inText(item);
    if (Array.isArray(item)) return item.map(visit);
    if (!item || typeof item !== "object") return item;
    const entries = Object.entries(item).filter(([key]) => !dropped.has(key));
    return Object.fromEntries(entries.map(([key, inner]) => [names.get(key) ?? key, visit(inner)]));
  };
  const out = { ...value };
  const input = new Set(["scenario", "description", "setup", "replies", "triggers", "hooks", "actions"]);
  for (const key of Object.keys(out)) if (!input.has(key)) out[key] = visit(out[key]);
  for (const call of out.providerCalls) {
    const block = call.systemPrompt === "<SUMMARIZATION_SYSTEM_PROMPT>" && call.messages[0].content[0];
    if (block && typeof block.text !== "string") block.text = "<LONG_SUMMARIZATION_PROMPT>";
  }
  return out;
}

for (const scenario of JSON.parse(fs.readFileSync(input, "utf8"))) {
  const file = path.join(folder, `${scenario.scenario}.json`);
  fs.writeFileSync(file, JSON.stringify(await new Recorder(scenario).record()));
}
process.exit(0);
