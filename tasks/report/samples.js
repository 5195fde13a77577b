// ---- the samples ----
const browser = document.getElementById("browser");
const SIGNS = { right: "✓", partial: "≈", wrong: "✗", no_answer: "∅", truncated: "✂", unsupported: "∅", filtered: "⊘", model_error: "!", judge_failed: "!", not_applicable: "–", unscored: "–" };
const NAMED = 4; // metrics that a row names; more are counted
let ROW = 46;
let S = null;
let opening = null;

function open() {
  opening ??= unpack(data).then(async (index) => {
    S = prepare(index);
    await ready(S.n ? [0] : [], S.d.items.id.length ? [0] : []);
    await build();
    unpackAhead().catch(() => { /* the search itself says what is wrong */ });
    return S;
  }).catch((problem) => { browser.replaceChildren(trouble(problem)); });
  return opening;
}

const column = (coded) => (i) => coded.of[coded.at[i]];

function prepare(d) {
  const rows = d.rows;
  const n = rows.item.length;
  const item = (read) => (i) => (rows.item[i] === null ? "" : read(rows.item[i]) ?? "");
  const suite = item(column(d.items.suite));
  const family = item(column(d.items.family));
  const category = (i) => (family(i) ? `${suite(i)}/${family(i)}` : suite(i));
  const ofItem = (name) => { const read = cell("items", name); return (i) => (rows.item[i] === null ? null : read(rows.item[i])); };
  return {
    d, n, suite, family, category, part: { rows: parts(d.starts.rows, n), items: parts(d.starts.items, d.items.id.length) },
    id: item((at) => d.items.id[at]), level: item(column(d.items.level)), language: item(column(d.items.language)),
    template: item(column(d.items.template)), asked: (i) => (rows.item[i] === null ? null : beginning(rows.item[i])), answer: ofItem("answer"), facts: ofItem("facts"),
    number: (i) => (rows.item[i] === null ? null : d.items.number[rows.item[i]]),
    prompt: (i) => { const at = rows.item[i]; return at === null ? null : cell("items", promptOf(column(rows.model)(i)))(at) ?? cell("items", "prompt")(at); },
    model: column(rows.model), outcomes: column(rows.outcomes), scoredBy: column(rows.scored_by), ...judgedBy(d, ""), finish: cell("rows", "finish_reason"),
    reply: cell("rows", "text"), reasoning: cell("rows", "reasoning"), marks: cell("rows", "marks"), error: cell("rows", "error"), kind: cell("rows", "error_kind"),
    latency: (i) => rows.latency_s[i],
    several: rows.outcomes.of.some(Boolean), lowest: rows.scored_by.of.some(Boolean), scoreTitle: (name) => d.scores[name] ?? name,
    title: (key) => d.titles[key] || key.split("/").pop() || key,
    list: Int32Array.from({ length: n }, (_, i) => i), chosen: -1, sort: null, pattern: null, ticket: 0,
    view: "list", models: models(d), pair: [0, 1], item: -1, columns: [],
  };
}

// Those that have samples, as the tables order them.
function models(d) {
  const there = new Set(d.rows.model.at.map((at) => d.rows.model.of[at]));
  return [...new Set([...d.targets.map((one) => one.name), ...there])].filter((name) => there.has(name));
}

// What a question begins with where it differs from others of its kind.
function beginning(at) {
  const from = cell("items", "begins")(at) ?? 0;
  return (cell("items", "question")(at) ?? cell("items", "prompt")(at))?.slice(from, from + 960).replace(/\s+/g, " ").slice(0, 240) ?? null;
}

const promptOf = (model) => `prompt [${S.d.targets.find((one) => one.name === model)?.prompt}]`;

// What a sample came to: by the score, or by one metric alone.
function judgedBy(d, name) {
  const { rows } = d;
  const metric = d.metrics.find((one) => one.name === name);
  if (!metric) return { metric: "", value: (i) => rows.value[i], outcome: (i) => rows.outcome.of[rows.outcome.at[i]], reason: cell("rows", "reason") };
  const places = new Map(metric.row.map((i, place) => [i, place]));
  const own = (i) => chunkOf("rows", i)?.metrics.find((one) => one.name === name);
  return {
    metric: name,
    value: (i) => metric.value[places.get(i)] ?? null,
    outcome: (i) => (places.has(i) ? metric.outcome.of[metric.outcome.at[places.get(i)]] : "unscored"),
    reason: (i) => { const found = own(i); const place = found?.at.get(offset("rows", i)); return place === undefined ? null : found.reason.of[found.reason.at[place]]; },
    has: (i) => places.has(i),
  };
}

const FILTERS = ["model", "category", "level", "language", "outcome"];
// A column of the list: its least width in rem, its share of what is left, and what it shows.
const COLUMNS = {
  number: { rem: 4, share: 0, text: (i) => (S.number(i) === null ? "–" : String(S.number(i))), by: (i) => S.number(i), num: true },
  outcome: { rem: 6.4, share: 0, text: (i) => words[S.outcome(i)], draw: (i) => (S.several ? drawOutcomes(i) : null), by: (i) => Object.keys(SIGNS).indexOf(S.outcome(i)) },
  model: { rem: 5.5, share: 5, text: (i) => S.model(i), by: (i) => S.model(i) },
  category: { rem: 5.5, share: 5, text: (i) => [S.title(S.category(i)), S.level(i), S.language(i)].filter(Boolean).join(" · "), by: (i) => S.category(i) },
  question: { rem: 9, share: 12, text: (i) => S.asked(i), of: "items" },
  expected: { rem: 5, share: 7, text: (i) => S.answer(i), of: "items" },
  response: { rem: 8, share: 11, text: (i) => S.reply(i) ?? S.error(i), of: "rows" },
  reason: { rem: 6, share: 8, text: (i) => S.reason(i), of: "rows" },
  value: { rem: 3.6, share: 0, text: (i) => shares(S.value(i)), by: (i) => S.value(i), num: true },
  latency: { rem: 4, share: 0, text: (i) => seconds(S.latency(i)), by: (i) => S.latency(i), num: true },
};
const FIRST = ["number", "outcome", "model", "question", "expected", "response", "value"];
const NARROW = ["outcome", "question", "value"];
const narrow = () => NARROW.filter((name) => name !== "value" || !S.several);
const usual = () => (matchMedia("(max-width: 34rem)").matches ? narrow() : FIRST.filter((name) => name !== "model" || S.models.length > 1));
const heads = { value: "score", latency: "time" };
// Of several scores a sample has the lowest.
const headOf = (name) => words[name === "value" && S.lowest ? "lowest" : heads[name] ?? name];
let controls = {};
let grid, headLine, rowsBox, count, sample, panes;

function options(name) {
  const counts = new Map();
  for (let i = 0; i < S.n; i++) counts.set(S[name](i), (counts.get(S[name](i)) ?? 0) + 1);
  if (name === "category") {
    // a suite stands before its families, and in the place of a single one
    for (let i = 0; i < S.n; i++) if (S.family(i)) counts.set(S.suite(i), (counts.get(S.suite(i)) ?? 0) + 1);
    for (const suite of new Set([...counts.keys()].map((key) => key.split("/")[0]))) {
      const own = [...counts.keys()].filter((key) => key.startsWith(`${suite}/`));
      if (own.length === 1) counts.delete(own[0]);
    }
  }
  const order = name === "outcome" ? Object.keys(SIGNS) : name === "model" ? S.models : [...counts.keys()];
  const keys = order.filter((key) => counts.has(key) && key !== "");
  if (name === "category") keys.sort();
  return keys.map((key) => [key, counts.get(key)]);
}

// A choice of the filters: its name, and what can be chosen.
function choice(name, listed, filters) {
  const select = make("select", { id: `f-${name}` }, make("option", { value: "" }, name === "metric" ? headOf("value") : words.all), ...listed.map(([value, text]) => make("option", { value }, plain(text))));
  select.addEventListener("change", () => change(true));
  controls[name] = select;
  filters.append(make("label", {}, words[name], select));
  return select;
}

function build() {
  if (S.several) {
    // A row has room for the outcome of each metric that decides, and for a reason.
    ROW = 72;
    Object.assign(COLUMNS.outcome, { rem: 9.5, share: 13 });
  }
  const titled = { category: (key, keys) => (keys.includes(key.split("/")[0]) && key.includes("/") ? "– " : "") + S.title(key) };
  const filters = make("div", { class: "filters", role: "search" });
  for (const name of FILTERS) {
    const listed = options(name);
    if (listed.length < 2 && name !== "outcome") continue;
    const keys = listed.map((pair) => pair[0]);
    const all = name === "outcome" ? Object.keys(SIGNS).filter((key) => keys.includes(key) || S.d.metrics.some((one) => one.outcome.of.includes(key))).map((key) => [key, words[key]]) : listed.map(([key, n]) => [key, `${titled[name] ? titled[name](key, keys) : key} (${number(n)})`]);
    choice(name, name === "outcome" ? [["not_right", words.not_right], ...all] : all, filters);
  }
  const deciding = S.d.rows.outcomes.of.join("\n").split("\n").map((line) => line.split("\t")[0]);
  const later = (one) => Number(!deciding.includes(one.name));
  if (S.d.metrics.length) choice("metric", S.d.metrics.toSorted((a, b) => later(a) - later(b)).map((one) => [one.name, S.scoreTitle(one.name)]), filters);
  if (S.models.length > 1) choice("differs", [["yes", words.models_differ], ["no", words.models_agree]], filters);
  const search = make("input", { type: "search", id: "f-search", autocomplete: "off", spellcheck: "false" });
  controls.search = search;
  let timer = 0;
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => change(false), 100); });
  search.setAttribute("aria-keyshortcuts", "/");
  filters.append(make("label", { class: "search" }, `${words.search} (/)`, search));
  filters.append(make("button", { type: "button", on: { click: () => { for (const one of Object.values(controls)) one.value = ""; change(true); } } }, words.reset));
  count = make("p", { class: "found", role: "status", "aria-live": "polite" });

  headLine = make("div", { class: "line head", role: "row", "aria-rowindex": "1" });
  rowsBox = make("div", { class: "rows", role: "rowgroup" });
  grid = make("div", { class: "grid", role: "grid", tabindex: "0", "aria-label": words.list, "aria-multiselectable": "false" }, make("div", { role: "rowgroup", class: "pinned" }, headLine), rowsBox);
  grid.style.setProperty("--row", `${ROW}px`);
  grid.style.setProperty("--lines", S.several ? "3" : "2");
  grid.addEventListener("scroll", () => requestAnimationFrame(paint), { passive: true });
  grid.addEventListener("keydown", keys);
  sample = make("article", { class: "sample", tabindex: "-1", "aria-live": "off" }, make("p", { class: "faint" }, words.pick));
  panes = make("div", { class: "panes" }, make("div", { class: "list" }, grid), sample);
  const line = make("div", { class: "tools" }, views(), count, columnChoice(), exports());
  browser.replaceChildren(filters, line, panes);
  new ResizeObserver(() => paint()).observe(grid);
  return restore();
}

// Which columns the list has: their order is one, so that a link needs no more than their names.
function columnChoice() {
  const boxes = Object.keys(COLUMNS).map((name) => {
    const box = make("input", { type: "checkbox", value: name, on: { change: () => { lay(boxes.map((pair) => pair[1]).filter((one) => one.checked).map((one) => one.value)); paint(); note(true); } } });
    return [make("label", {}, box, headOf(name)), box];
  });
  return make("details", { class: "columns" }, make("summary", {}, words.columns), make("div", { class: "menu" }, ...boxes.map((pair) => pair[0])));
}

function lay(names) {
  S.columns = names.filter((name) => Object.hasOwn(COLUMNS, name));
  if (!S.columns.length) S.columns = usual();
  for (const box of browser.querySelectorAll(".columns input")) box.checked = S.columns.includes(box.value);
  const of = S.columns.map((name) => COLUMNS[name]);
  grid.style.setProperty("--columns", of.map((one) => (one.share ? `minmax(${one.rem}rem, ${one.share}fr)` : `${one.rem}rem`)).join(" "));
  grid.style.setProperty("--least", `${of.reduce((sum, one) => sum + one.rem + 0.6, 1)}rem`);
  headLine.replaceChildren(...S.columns.map((name) => {
    const sorted = S.sort?.[0] === name ? (S.sort[1] > 0 ? "ascending" : "descending") : "none";
    return make("div", { role: "columnheader", "aria-sort": sorted, class: COLUMNS[name].num ? "num" : "", "data-name": name }, make("button", { type: "button", "aria-label": fill(words.sort, { name: headOf(name) }), on: { click: () => sortBy(name) } }, headOf(name)));
  }));
}

const inCategory = (i, wanted) => S.category(i) === wanted || S.suite(i) === wanted;

function passes(i, wanted) {
  for (const [name, value] of wanted) {
    if (name === "category") { if (!inCategory(i, value)) return false; }
    else if (name === "metric") { if (S.has && !S.has(i)) return false; }
    else if (name === "differs") { if (apart(S.d.rows.item[i]) !== (value === "yes")) return false; }
    else if (name === "outcome" && value === "not_right") { if (!failed(i)) return false; }
    else if (S[name](i) !== value) return false;
  }
  return true;
}

function finder(query) {
  if (!query) return null;
  return new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "iu");
}

// Every text is looked through, chunk after chunk: the questions, then what was said to them.
async function search(list, pattern, ticket) {
  const { item, model } = S.d.rows;
  const found = { items: new Set(), rows: new Set() };
  const named = model.of.map((name) => pattern.test(name));
  let done = 0;
  for (const [kind, places] of [["items", list.map((i) => item[i]).filter((at) => at !== null)], ["rows", list]]) {
    const wanted = new Set(places.map((at) => S.part[kind][at]));
    for (const part of [...wanted].sort((a, b) => a - b)) {
      const own = await textOf(kind, part);
      if (ticket !== S.ticket) return null;
      eachMatch(own, pattern, (at) => found[kind].add(at));
      if (kind === "rows") count.textContent = fill(words.searching, { k: number(done += own.ends.length), n: number(S.n) });
    }
  }
  return list.filter((i) => found.rows.has(i) || found.items.has(item[i]) || named[model.at[i]]);
}

// A newer choice ends an older one.
async function apply() {
  const ticket = ++S.ticket;
  Object.assign(S, { has: null }, judgedBy(S.d, controls.metric?.value ?? ""));
  const matrix = S.view === "matrix";
  const wanted = Object.entries(controls).filter(([name, one]) => name !== "search" && one.value && !(matrix && name === "model")).map(([name, one]) => [name, one.value]);
  const pattern = finder(controls.search.value.trim());
  let found = [];
  for (let i = 0; i < S.n; i++) if (passes(i, wanted)) found.push(i);
  if (pattern) {
    try { found = await search(found, pattern, ticket); } catch (problem) { found = []; sample.replaceChildren(trouble(problem)); }
    if (!found) return;
  }
  S.pattern = pattern;
  S.list = Int32Array.from(found);
  if (!await order(ticket)) return;
  grid.scrollTop = 0;
  count.textContent = fill(words.count, { k: number(S.list.length), n: number(S.n) });
  if (matrix) await arrange();
  else await choose(S.list.includes(S.chosen) ? S.chosen : S.list.length ? S.list[0] : -1, false);
  if (ticket === S.ticket) browser.dataset.ready = String(Number(browser.dataset.ready ?? 0) + 1);
}

async function sortBy(name) {
  const now = S.sort?.[0] === name ? S.sort[1] : 0;
  S.sort = now < 0 ? null : [name, now ? -1 : 1];
  lay(S.columns);
  headLine.querySelector(`[data-name=${name}] button`).focus();
  if (!await order(++S.ticket)) return;
  grid.scrollTop = 0;
  paint();
  note(false);
}

// What a column sorts by; texts are unpacked for it, each cut to what tells them apart.
async function keysOf(name, ticket) {
  const { by, of, text } = COLUMNS[name];
  if (by) return by;
  const found = new Map();
  const { item } = S.d.rows;
  const key = (i) => (text(i) ?? "").slice(0, 80).toLocaleLowerCase();
  const go = (done) => { count.textContent = fill(words.searching, { k: number(done), n: number(S.list.length) }); return ticket === S.ticket; };
  if (of === "rows") return await eachChunk("rows", S.list, (i) => found.set(i, key(i)), go) ? (i) => found.get(i) : null;
  const first = new Map(Array.from(S.list, (i) => [item[i], i]).filter((pair) => pair[0] !== null));
  return await eachChunk("items", [...first.keys()], (at) => found.set(at, key(first.get(at))), go) ? (i) => found.get(item[i]) : null;
}

// What went wrong is what a reader looks for; within both parts the order is that of asking.
const isFailed = (outcome) => !["right", "not_applicable"].includes(outcome);
const failed = (i) => isFailed(S.outcome(i));
const failuresFirst = (list) => { const first = list.filter(failed); const then = list.filter((i) => !failed(i)); list.set(first); list.set(then, first.length); return list; };

async function order(ticket) {
  if (!S.sort) { S.list.sort(); S.list = failuresFirst(S.list); return true; }
  const [name, sign] = S.sort;
  const of = await keysOf(name, ticket);
  if (!of || ticket !== S.ticket) return false;
  const keyed = Array.from(S.list, (i) => [of(i), i]);
  const missing = (value) => value === null || value === undefined;
  keyed.sort(([a, i], [b, j]) => (missing(a) || missing(b) ? missing(a) - missing(b) || i - j : (typeof a === "number" ? sign * (a - b) : sign * (a < b ? -1 : a > b ? 1 : 0)) || i - j));
  S.list = Int32Array.from(keyed, (pair) => pair[1]);
  count.textContent = fill(words.count, { k: number(S.list.length), n: number(S.n) });
  return true;
}

// The outcome of each metric that decides a sample; what has no score has none by any metric.
function linesOf(i) {
  const lines = S.outcomes(i).split("\n").map((line) => line.split("\t"));
  const [[, first]] = lines;
  return SCORED.includes(first) || lines.some((line) => line[1] !== first) ? lines : [["", first]];
}

// The same lines, that of the chosen metric first, then those of what fails the sample.
function outcomeLines(i) {
  if (!S.outcomes(i)) return [["", S.outcome(i)]];
  const lines = linesOf(i);
  if (S.metric && !lines.some((line) => line[0] === S.metric)) lines.push([S.metric, S.outcome(i)]);
  return lines.sort((a, b) => (b[0] === S.metric) - (a[0] === S.metric) || RANK.indexOf(a[1]) - RANK.indexOf(b[1]));
}

const SCORED = ["right", "partial", "wrong"];
const markTitle = ([name, outcome]) => (name ? S.scoreTitle(name) : words[outcome]);
const mark = (outcome, text) => make("span", { class: `state ${outcome}`, "data-sign": SIGNS[outcome] }, plain(text));

// What a judge that does not find a sample right by a metric says of it.
function judgeReason(i, name) {
  const metric = chunkOf("rows", i)?.metrics.find((one) => one.name === name);
  const details = metric?.details?.[metric.at.get(offset("rows", i))];
  const judges = Object.values((details && parsed(details)?.judges) || {});
  return reasonsIn(judges.find((one) => one?.value < 1))[0]?.[1] ?? "";
}

// Why a sample is not right; where it fails several metrics, also by which.
function reasonOf(i) {
  const lines = outcomeLines(i);
  const name = S.metric || S.scoredBy(i) || lines[0][0];
  const reason = S.reason(i) || judgeReason(i, name);
  const fails = lines.filter((line) => isFailed(line[1])).length;
  return reason && fails > 1 && !S.metric ? `${S.scoreTitle(name)}: ${reason}` : reason;
}

// What fails a sample and why, then what it passes.
function drawOutcomes(i) {
  const lines = outcomeLines(i);
  const reason = failed(i) ? reasonOf(i) : "";
  const further = new Map();
  for (const [, outcome] of lines.slice(NAMED)) further.set(outcome, (further.get(outcome) ?? 0) + 1);
  const marks = lines.slice(0, NAMED).map((line) => [line[1], markTitle(line), line[0] ? words[line[1]] : ""]);
  for (const [outcome, n] of further) marks.push([outcome, `+${n}`, words[outcome]]);
  // For those who hear it a sign is a word.
  const drawOne = ([outcome, text, word]) => [mark(outcome, text), make("span", { class: "sr" }, word), " "];
  const draw = (name, isDrawn) => { const drawn = marks.filter((one) => isDrawn(one[0])); return drawn.length ? make("span", { class: name }, ...drawn.flatMap(drawOne)) : ""; };
  const whole = plain([...lines.map((line) => (line[0] ? `${markTitle(line)} ${words[line[1]]}` : markTitle(line))), reason].filter(Boolean).join("; "));
  return make("span", { role: "gridcell", class: "several", title: whole },
    draw("fails", isFailed), reason ? make("span", { class: "why" }, plain(reason)) : "", draw("passes", (outcome) => !isFailed(outcome)));
}

const shares = (value) => (value === null || value === undefined ? "–" : `${decimal(Math.round(Number((1000 * value).toPrecision(12))) / 10)}%`);
const seconds = (value) => (value === null || value === undefined ? "–" : decimal(value, exactly(2)));

// What is not unpacked yet is asked for when scrolling rests, and then drawn.
let resting = 0;
function arrive(wait, draw) {
  clearTimeout(resting);
  resting = setTimeout(() => { Promise.resolve(wait()).then(() => requestAnimationFrame(draw), () => { /* the sample says what is wrong */ }); }, 40);
}

function paint() {
  if (!S) return;
  rowsBox.style.height = `${S.list.length * ROW}px`;
  grid.setAttribute("aria-rowcount", String(S.list.length + 1));
  if (!S.list.length) { rowsBox.replaceChildren(make("p", { class: "faint found" }, words.none)); return; }
  const first = Math.max(0, Math.floor(grid.scrollTop / ROW) - 4);
  const last = Math.min(S.list.length, Math.ceil((grid.scrollTop + grid.clientHeight) / ROW) + 4);
  const painted = [];
  for (let place = first; place < last; place++) {
    const i = S.list[place];
    const line = make("div", { class: "line row", role: "row", id: `s-${i}`, "aria-rowindex": String(place + 2), "aria-selected": String(i === S.chosen), on: { click: () => { choose(i, false); note(true); } } },
      ...S.columns.map((name) => {
        const { text, num, draw } = COLUMNS[name];
        const drawn = draw?.(i);
        if (drawn) return drawn;
        const outcome = name === "outcome" ? S.outcome(i) : null;
        return make("span", { role: "gridcell", class: outcome ? `state ${outcome}` : num ? "num" : "", "data-sign": outcome ? SIGNS[outcome] : false }, plain((text(i) ?? "").slice(0, 240).replace(/\s+/g, " ")));
      }));
    line.style.top = `${place * ROW}px`;
    painted.push(line);
  }
  rowsBox.replaceChildren(...painted);
  const shown = S.list.subarray(first, last);
  const { item } = S.d.rows;
  const items = Array.from(shown, (i) => item[i]).filter((at) => at !== null);
  if (shown.some((i) => !chunkOf("rows", i)) || items.some((at) => !chunkOf("items", at))) arrive(() => ready(shown, items), paint);
  const there = S.list.indexOf(S.chosen);
  if (there >= first && there < last) grid.setAttribute("aria-activedescendant", `s-${S.chosen}`);
  else grid.removeAttribute("aria-activedescendant");
}

function reveal(place) {
  const head = grid.firstElementChild.offsetHeight;
  const top = place * ROW;
  if (top < grid.scrollTop) grid.scrollTop = top;
  else if (top + ROW + head > grid.scrollTop + grid.clientHeight) grid.scrollTop = top + ROW + head - grid.clientHeight;
}

function choose(i, focus) {
  S.chosen = i;
  if (i >= 0) reveal(S.list.indexOf(i));
  paint();
  const told = describe(i);
  if (focus) sample.focus();
  return told;
}

function keys(event) {
  if (event.target.closest("button") && event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const at = S.list.indexOf(S.chosen);
  const page = Math.max(1, Math.floor(grid.clientHeight / ROW) - 1);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: S.list.length - 1 }[event.key];
  if (to !== undefined && S.list.length) {
    event.preventDefault();
    choose(S.list[Math.min(S.list.length - 1, Math.max(0, to))], false);
    note(false);
  } else if (event.key === "Enter" && at >= 0) {
    event.preventDefault();
    sample.focus();
  }
}
