// Times gorun beside llama.cpp, in turn on the same machine, and prints a table for docs/performance.md.
//
//   node compare.mjs [OPTION ...] GORUN FOLDER MODEL.gguf ...
//
// GORUN is the program; in FOLDER, `npm install node-llama-cpp` was run (-: without llama.cpp). What is timed:
//
//   (nothing else asked for)   reading a prompt, and decoding
//   --depth N                  decoding, with N tokens in the cache
//   --busy N                   reading and decoding, quiet and beside N processes that compute for ever
//   --first                    from the start of the process to the first token; read the file before, so that it is cached
//
//   --rounds 9   turns of each     --reps 1      repetitions in a turn    --threads 2
//   --prompt 512                   --gen 32      tokens                   --kv f16     type of the cache
//   --states FOLDER                where llama.cpp keeps what it has read to reach the depth, which can take it an hour
//
// A figure is the median of all repetitions, with the quartiles; a ratio is that of the repetitions with the same number, and
// a share is of the limit that gorun measured in the same repetition.
import {execFileSync, spawn} from "node:child_process";
import {once} from "node:events";
import {basename, dirname, join, resolve} from "node:path";
import {createInterface} from "node:readline";
import {fileURLToPath} from "node:url";
import {parseArgs} from "node:util";

const number = fallback => ({type: "string", default: fallback});
const {values: option, positionals: [gorun, folder, ...models]} = parseArgs({allowPositionals: true, options: {
  rounds: number("9"), reps: number("1"), threads: number("2"), prompt: number("512"), gen: number("32"), depth: number("0"), busy: number("0"),
  kv: {type: "string", default: "f16"}, states: {type: "string"}, first: {type: "boolean", default: false},
}});
const text = "It was a dark and stormy night";

// Speed has the values of each repetition, by the name of the figure.
class Speed {
  add(values) {
    for (const [name, list] of Object.entries(values)) {
      (this[name] ??= []).push(...list);
    }
  }
}

function ours(model, prompt, gen) {
  const out = execFileSync(gorun, ["bench", model, "-p", prompt, "-n", gen, "-d", option.depth, "--kv", option.kv, "-r", option.reps,
    "-t", option.threads, "--json"], {maxBuffer: 1 << 24});
  const values = {};
  for (const r of JSON.parse(out)) {
    if (r.test.startsWith("pp")) {
      Object.assign(values, {pp: r.tokens_per_second.values, peak: r.share_of_fp32_peak.values, flops: [r.machine.fp32_flops_per_second / 1e9]});
    } else {
      Object.assign(values, {tg: r.tokens_per_second.values, bandwidth: r.share_of_read_bandwidth.values, read: [r.machine.read_bytes_per_second / 1e9]});
    }
  }
  return values;
}

// Peer is a process of peer.mjs.
class Peer {
  constructor(model) {
    const driver = join(dirname(fileURLToPath(import.meta.url)), "peer.mjs");
    this.process = spawn("node", [driver, folder, model, option.threads, ...(option.states ? [option.states] : [])], {stdio: ["pipe", "pipe", "inherit"]});
    this.answers = createInterface({input: this.process.stdout})[Symbol.asyncIterator]();
  }
  async ask(order) {
    this.process.stdin.write(JSON.stringify(order) + "\n");
    const {value, done} = await this.answers.next();
    if (done) {
      throw new Error(`llama.cpp ended before it answered ${JSON.stringify(order)}`);
    }
    return JSON.parse(value);
  }
  async speed(prompt, gen) {
    const values = {pp: [], tg: []};
    for (let i = 0; i < +option.reps; i++) {
      if (prompt !== "0") {
        values.pp.push((await this.ask({prompt: +prompt, kv: option.kv})).pp);
      }
      values.tg.push((await this.ask({gen: +gen, depth: +option.depth, kv: option.kv})).tg);
    }
    return values;
  }
  async close() {
    this.process.stdin.end();
    await once(this.process, "exit");
  }
}

async function beside(processes, work) {
  const all = Array.from({length: processes}, () => spawn("node", ["-e", "for (;;) {}"]));
  try {
    return await work();
  } finally {
    all.forEach(p => p.kill());
  }
}

// speeds times both in turn: quiet, and beside busy processes if there shall be some.
async function speeds(model) {
  const prompt = option.depth === "0" ? option.prompt : "0", loads = option.busy === "0" ? [0] : [0, +option.busy];
  const results = loads.map(() => ({a: new Speed, b: new Speed}));
  const peer = folder === "-" ? null : new Peer(model);
  await peer?.speed(prompt, option.gen); // a warm-up; gorun has one in each turn
  for (let round = 0; round < +option.rounds; round++) {
    for (const [i, load] of loads.entries()) {
      await beside(load, async () => {
        results[i].a.add(ours(model, prompt, option.gen));
        results[i].b.add(await peer?.speed(prompt, option.gen) ?? {});
      });
    }
  }
  await peer?.close();
  return results;
}

async function firstTokens(model) {
  const a = [], b = [];
  for (let round = 0; round < +option.rounds; round++) {
    let begin = performance.now();
    execFileSync(gorun, ["run", model, "-p", text, "-n", "1", "--temp", "0", "--ctx", "512", "-t", option.threads], {stdio: ["ignore", "ignore", "inherit"]});
    a.push((performance.now() - begin) / 1e3);
    begin = performance.now();
    const peer = new Peer(model);
    await peer.ask({text});
    b.push((performance.now() - begin) / 1e3);
    await peer.close();
  }
  return {a, b};
}

function quantile(values, q) {
  const v = [...values].sort((a, b) => a - b), x = q * (v.length - 1), lo = Math.floor(x);
  return v[lo] + (x - lo) * (v[Math.min(lo + 1, v.length - 1)] - v[lo]);
}

const show = (values, digits = 1) =>
  values?.length ? `${quantile(values, .5).toFixed(digits)} (${quantile(values, .25).toFixed(digits)}-${quantile(values, .75).toFixed(digits)})` : "";
const ratio = (a, b) => b && a?.map((x, i) => x / b[i]);
const line = cells => console.log(`| ${cells.join(" | ")} |`);

function head(what, ...columns) {
  const repetitions = option.first ? "" : ` of ${option.reps} repetitions`;
  console.log(`${what}; ${option.rounds} rounds${repetitions}${folder === "-" ? "" : ", interleaved with llama.cpp"}; ${option.threads} threads; median (quartiles)\n`);
  line(["model", ...columns]);
  console.log("|---".repeat(columns.length + 1) + "|");
}

if (option.first) {
  head("From the start of the process to the first token", "s", "llama.cpp, s", "of its time");
} else if (option.busy !== "0") {
  head(`Beside ${option.busy} busy processes; prompt ${option.prompt}, generated ${option.gen}`,
    "pp t/s", "of quiet", "x peer", "x peer, quiet", "tg t/s", "of quiet", "x peer", "x peer, quiet");
} else if (option.depth !== "0") {
  head(`Depth ${option.depth}, KV ${option.kv}, generated ${option.gen}`, "tg t/s", "of read bandwidth", "x peer", "read, GB/s");
} else {
  head(`Prompt ${option.prompt}, generated ${option.gen}`, "pp t/s", "of fp32 peak", "x peer", "tg t/s", "of read bandwidth", "x peer", "read, GB/s", "GFLOP/s");
}
for (const model of models.map(m => resolve(m))) {
  const name = basename(model);
  if (option.first) {
    const {a, b} = await firstTokens(model);
    line([name, show(a, 2), show(b, 2), show(ratio(a, b), 2)]);
    continue;
  }
  const [{a, b}, busy] = await speeds(model);
  if (busy) {
    line([name, ...["pp", "tg"].flatMap(key =>
      [show(busy.a[key]), show(ratio(busy.a[key], a[key]), 2), show(ratio(busy.a[key], busy.b[key]), 2), show(ratio(a[key], b[key]), 2)])]);
  } else if (option.depth !== "0") {
    line([name, show(a.tg), show(a.bandwidth, 2), show(ratio(a.tg, b.tg), 2), show(a.read, 0)]);
  } else {
    line([name, show(a.pp), show(a.peak, 2), show(ratio(a.pp, b.pp), 2), show(a.tg), show(a.bandwidth, 2), show(ratio(a.tg, b.tg), 2), show(a.read, 0), show(a.flops, 0)]);
  }
}
