// Runs llama.cpp for compare.mjs:
//
//   node peer.mjs FOLDER MODEL.gguf THREADS [STATES]
//
// FOLDER has node-llama-cpp installed. In STATES it keeps what it has read to reach a depth, for later runs. Each line of
// standard input is an order in JSON, each line of standard output what came of it:
//
//   {"prompt": 512, "kv": "f16"}               {"pp": tokens/s}   of a prompt of so many tokens
//   {"gen": 32, "depth": 8192, "kv": "f16"}    {"tg": tokens/s}   of tokens one by one, with depth others in the cache
//   {"text": "Once"}                           {}                 when the first token after it is there
import {existsSync, renameSync, statSync} from "node:fs";
import {basename, join, resolve} from "node:path";
import {createInterface} from "node:readline";
import {pathToFileURL} from "node:url";

const [,, folder, file, threads, states] = process.argv;
const {getLlama} = await import(pathToFileURL(resolve(folder, join("node_modules", "node-llama-cpp", "dist", "index.js"))));
const llama = await getLlama({gpu: false, build: "never", logLevel: "error"});
const model = await llama.loadModel({modelPath: file});

const tokens = n => Array.from({length: n}, (_, i) => (i * 7919 + 13) % 500 + 3);
const seconds = since => (performance.now() - since) / 1e3;

async function open(size, kv) {
  const type = kv.toUpperCase(), other = {experimentalKvCacheKeyType: type, experimentalKvCacheValueType: type, flashAttention: true};
  return model.createContext({contextSize: size, batchSize: Math.min(size, 512), sequences: 1,
    threads: {ideal: +threads, min: +threads}, ...(kv === "f16" ? {} : other)});
}

// The context is kept from one order to the next, and so is what is in its cache, as far as it is asked for again.
let context, sequence, made;

async function hold(depth, room, kv) {
  const like = `${depth} ${room} ${kv}`;
  if (made === like) {
    const end = sequence.nextTokenIndex;
    return end > depth && sequence.eraseContextTokenRanges([{start: depth, end}]);
  }
  await context?.dispose();
  context = await open(depth + room + 16, kv);
  sequence = context.getSequence();
  made = like;
  await fill(depth, kv);
}

// fill reads the tokens up to a depth, or takes them from the file that an earlier run left.
async function fill(depth, kv) {
  const state = states && depth > 0 && join(states, `${basename(file)}.${statSync(file).size}.${depth}.${kv}.state`);
  if (state && existsSync(state)) {
    return sequence.loadStateFromFile(state, {acceptRisk: true});
  }
  const all = tokens(depth), piece = 512;
  for (let i = 0; i < depth; i += piece) {
    await sequence.evaluateWithoutGeneratingNewTokens(all.slice(i, i + piece));
    if (i > 0 && i % 4096 === 0) {
      console.error(`llama.cpp has read ${i} of ${depth} tokens`);
    }
  }
  if (state) {
    await sequence.saveStateToFile(state + ".part");
    renameSync(state + ".part", state);
  }
}

async function prompt(n, kv) {
  await hold(0, n, kv);
  const begin = performance.now();
  await sequence.evaluateWithoutGeneratingNewTokens(tokens(n));
  return {pp: n / seconds(begin)};
}

async function generate(n, depth, kv) {
  await hold(depth, n, kv);
  let count = -1, begin; // the first token is not timed: it comes with work that is done once
  for await (const _ of sequence.evaluate([5], {temperature: 0, yieldEogToken: true})) {
    begin ??= performance.now();
    if (++count === n) {
      break;
    }
  }
  return {tg: count / seconds(begin)};
}

async function first(text) {
  sequence = (await open(512, "f16")).getSequence();
  for await (const _ of sequence.evaluate(model.tokenize(text), {temperature: 0, yieldEogToken: true})) {
    return {};
  }
}

for await (const line of createInterface({input: process.stdin})) {
  const o = JSON.parse(line);
  const answer = await (o.text ? first(o.text) : o.prompt ? prompt(o.prompt, o.kv) : generate(o.gen, o.depth, o.kv));
  console.log(JSON.stringify(answer));
}
process.exit(0);
