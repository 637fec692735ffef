// Times gorun beside llama.cpp, turn by turn on the same machine, and prints a
// table for docs/performance.md.
//
//   node compare.mjs GORUN PEER ROUNDS MODEL.gguf ...
//
// GORUN is the program; PEER a folder with node-llama-cpp and a bench.mjs that
// takes MODEL PROMPT GEN THREADS REPS DEPTH KV and prints a line of JSON
// {pp_tps, tg_tps} for each repetition. Every figure is the median of ROUNDS, with the
// quartiles; shares are of the limits that gorun measured in the same round.
//
// Environment: PROMPT and GEN are numbers of tokens, DEPTH those that are in the
// cache before the generated ones (with it no prompts are timed), KV is the type
// of the cache, THREADS the number of threads.
import {execFileSync} from "node:child_process";
import {basename, join, resolve} from "node:path";

const [,, gorun, peer, rounds = "9", ...files] = process.argv;
const models = files.map(f => resolve(f));
const prompt = process.env.PROMPT ?? "512", gen = process.env.GEN ?? "32", threads = process.env.THREADS ?? "2";
const depth = process.env.DEPTH ?? "0", kv = process.env.KV ?? "f16", atDepth = depth !== "0";

function ours(model) {
  const out = execFileSync(gorun, ["bench", model, "-p", atDepth ? "0" : prompt, "-n", gen, "-d", depth, "--kv", kv, "-r", "1", "-t", threads, "--json"], {maxBuffer: 1 << 24});
  const results = JSON.parse(out), tg = results.pop(), pp = results.pop();
  return {
    pp: pp?.tokens_per_second.median, tg: tg.tokens_per_second.median,
    peak: pp?.share_of_fp32_peak.median, bandwidth: tg.share_of_read_bandwidth.median,
    read: tg.machine.read_bytes_per_second, flops: pp?.machine.fp32_flops_per_second,
  };
}

function theirs(model) {
  const out = execFileSync("node", [join(peer, "bench.mjs"), model, atDepth ? "16" : prompt, gen, threads, "1", depth, kv], {cwd: peer, maxBuffer: 1 << 24});
  const line = JSON.parse(out.toString().trim().split("\n").pop());
  return {pp: line.pp_tps, tg: line.tg_tps};
}

function quantile(values, q) {
  const v = [...values].sort((a, b) => a - b), x = q * (v.length - 1), lo = Math.floor(x);
  return v[lo] + (x - lo) * (v[Math.min(lo + 1, v.length - 1)] - v[lo]);
}

const show = (values, digits = 1) =>
  values.some(x => !(x > 0)) ? "" : `${quantile(values, .5).toFixed(digits)} (${quantile(values, .25).toFixed(digits)}-${quantile(values, .75).toFixed(digits)})`;

console.log(`${rounds} rounds, interleaved; ${atDepth ? `depth ${depth}, KV ${kv}` : `prompt ${prompt}`}, generated ${gen}, ${threads} threads; median (quartiles)\n`);
console.log("| model | pp t/s | of fp32 peak | x peer | tg t/s | of read bandwidth | x peer |");
console.log("|---|---|---|---|---|---|---|");
const limits = {read: [], flops: []};
for (const model of models) {
  const a = [], b = [];
  for (let i = 0; i < +rounds; i++) {
    a.push(ours(model));
    b.push(theirs(model));
  }
  const ratio = key => a.map((x, i) => x[key] / b[i][key]);
  limits.read.push(...a.map(x => x.read / 1e9));
  limits.flops.push(...a.map(x => x.flops / 1e9));
  console.log(`| ${basename(model)} | ${show(a.map(x => x.pp))} | ${show(a.map(x => x.peak), 2)} | ${show(ratio("pp"), 2)} | ` +
    `${show(a.map(x => x.tg))} | ${show(a.map(x => x.bandwidth), 2)} | ${show(ratio("tg"), 2)} |`);
}
console.log(`\nmachine: ${show(limits.read)} GB/s read${atDepth ? "" : `, ${show(limits.flops, 0)} GFLOP/s float32`}`);
