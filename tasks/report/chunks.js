// ---- chunks: the texts of samples and questions, unpacked as they are looked at ----
const KEPT = 64; // unpacked chunks that are kept; a screen needs a third of them at most
const SEARCHED = 3e8; // characters of texts that are kept for the next search, at most
const data = document.getElementById("data");
const held = new Map(); // a chunk's name and what it holds, the one used last at the end
const coming = new Map();

async function decode(text, encoding) {
  if (encoding !== "gzip") return JSON.parse(text);
  if (typeof DecompressionStream === "undefined") throw new Error(words.old);
  const packed = atob(text);
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const unpack = (from) => decode(from.textContent, from.dataset.encoding);

// The page may still be read while it is looked at: an element is whole when something follows it.
async function inPage(name) {
  for (;;) {
    const element = document.getElementById(name);
    const read = document.readyState !== "loading";
    if (element && (read || element.nextSibling)) return unpack(element);
    if (read) throw new Error(fill(words.lacking, { name }));
    await new Promise((go) => setTimeout(go, 20));
  }
}

// Scores and judges' replies are found by the sample that they are about.
function sorted(chunk) {
  for (const metric of chunk.metrics ?? []) metric.at = new Map(metric.row.map((row, place) => [row, place]));
  chunk.places = new Map();
  chunk.judged?.row.forEach((row, place) => (chunk.places.get(row) ?? chunk.places.set(row, []).get(row)).push(place));
  return chunk;
}

function load(name) {
  if (!coming.has(name)) {
    const made = inPage(name).then((chunk) => {
      held.set(name, sorted(chunk));
      while (held.size > KEPT) held.delete(held.keys().next().value);
    }).finally(() => coming.delete(name));
    coming.set(name, made);
  }
  return coming.get(name);
}

// Return a promise of what is not there yet of some samples and items, at most a screen of them; null where all is.
function ready(samples, items = []) {
  const names = new Set();
  for (const i of samples) names.add(`rows-${S.part.rows[i]}`);
  for (const at of items) if (at !== null) names.add(`items-${S.part.items[at]}`);
  const missing = [];
  for (const name of names) {
    const chunk = held.get(name);
    if (chunk) { held.delete(name); held.set(name, chunk); } else missing.push(name);
  }
  return missing.length ? Promise.all(missing.map(load)) : null;
}

const chunkOf = (kind, i) => held.get(`${kind}-${S.part[kind][i]}`);
const offset = (kind, i) => i - S.d.starts[kind][S.part[kind][i]];
const cell = (kind, name) => (i) => chunkOf(kind, i)?.[name]?.[offset(kind, i)] ?? null;

function parts(starts, n) {
  const found = new Int32Array(n);
  starts.forEach((start, part) => found.fill(part, start));
  return found;
}

// Run something for each of some samples (`kind` rows) or items, a chunk after another; `go` says whether to go on.
async function eachChunk(kind, list, run, go) {
  const byPart = new Map();
  for (const i of list) (byPart.get(S.part[kind][i]) ?? byPart.set(S.part[kind][i], []).get(S.part[kind][i])).push(i);
  let done = 0;
  for (const part of [...byPart.keys()].sort((a, b) => a - b)) {
    const own = byPart.get(part);
    const wait = kind === "rows" ? ready(own.slice(0, 1)) : ready([], own.slice(0, 1));
    if (wait) await wait;
    if (!go(done)) return false;
    own.forEach(run);
    done += own.length;
  }
  return true;
}

const requestId = (i) => cell("rows", "request_id")(i);

// ---- the texts of each chunk as one, to be searched: unpacked once, while nothing else is to do ----
const texts = new Map(); // a chunk's name and a promise of its text, and of where that of each row in it ends
let searched = 0;

function joined(chunk, kind, first, n) {
  const found = Array.from({ length: n }, (_, at) => (kind === "items" ? [S.d.items.id[first + at], column(S.d.items.template)(first + at)] : []));
  const add = (row, text) => { if (text) found[row].push(text); };
  for (const name of ["prompt", "answer", "text", "reason", "reasoning", "error", "error_kind"]) chunk[name]?.forEach((text, row) => add(row, text));
  for (const metric of chunk.metrics ?? []) metric.row.forEach((row, place) => { add(row, metric.details?.[place]); add(row, metric.reason.of[metric.reason.at[place]]); });
  chunk.judged?.row.forEach((row, place) => add(row, chunk.judged.text?.[place]));
  const lines = found.map((own) => own.join("\n"));
  let end = 0;
  return { text: lines.join("\n"), ends: lines.map((line) => (end += line.length + 1)), first };
}

function textOf(kind, part) {
  const name = `${kind}-${part}`;
  if (texts.has(name)) return texts.get(name);
  const first = S.d.starts[kind][part];
  const n = (S.d.starts[kind][part + 1] ?? S.part[kind].length) - first;
  const made = Promise.resolve(held.get(name) ?? inPage(name)).then((chunk) => {
    if (held.size < KEPT && !held.has(name)) held.set(name, sorted(chunk));
    const own = joined(chunk, kind, first, n);
    if ((searched += own.text.length) > SEARCHED) texts.delete(name);
    return own;
  });
  texts.set(name, made);
  return made;
}

// Run something with each row in whose texts a pattern is; what is searched for has no end of a line in it.
function eachMatch({ text, ends, first }, pattern, run) {
  const from = new RegExp(pattern, "giu");
  for (let row = 0, hit; (hit = from.exec(text)); run(first + row), from.lastIndex = ends[row]) while (ends[row] <= hit.index) row++;
}

async function unpackAhead() {
  const idle = globalThis.requestIdleCallback ?? ((run) => setTimeout(run, 50));
  for (const kind of ["items", "rows"]) {
    for (const part of S.d.starts[kind].keys()) {
      if (searched > SEARCHED) return;
      await new Promise((go) => idle(go));
      await textOf(kind, part);
    }
  }
}

const trouble = (problem) => make("p", { class: "note warn", role: "alert" }, problem.message === words.old ? words.old : `${words.broken}: ${problem.message}`);
