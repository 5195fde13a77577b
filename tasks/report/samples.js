// ---- the samples ----
const browser = document.getElementById("browser");
const SIGNS = { right: "✓", partial: "≈", wrong: "✗", no_answer: "∅", truncated: "✂", model_error: "!", judge_failed: "!", not_applicable: "–", unscored: "–" };
const ROW = 46;
let S = null;
let opening = null;

function open() {
  opening ??= unpack(data).then(async (index) => {
    S = prepare(index);
    await ready(S.n ? [0] : [], S.d.items.id.length ? [0] : []);
    await build();
    return S;
  }).catch((problem) => { browser.replaceChildren(trouble(problem)); });
  return opening;
}

function prepare(d) {
  const column = (coded) => (i) => coded.of[coded.at[i]];
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
    template: item(column(d.items.template)), prompt: ofItem("prompt"), answer: ofItem("answer"), facts: ofItem("facts"),
    model: column(rows.model), outcome: column(rows.outcome), reason: cell("rows", "reason"), finish: cell("rows", "finish_reason"),
    reply: cell("rows", "text"), reasoning: cell("rows", "reasoning"), error: cell("rows", "error"), kind: cell("rows", "error_kind"),
    value: (i) => rows.value[i], latency: (i) => rows.latency_s[i],
    title: (key) => d.titles[key] || key.split("/").pop() || key,
    list: Int32Array.from({ length: n }, (_, i) => i), chosen: -1, sort: null, pattern: null, ticket: 0,
    view: "list", models: [...new Set(rows.model.at)].map((at) => rows.model.of[at]), pair: [0, 1], pairs: [], item: -1,
  };
}

const FILTERS = ["model", "category", "level", "language", "outcome"];
let controls = {};
let grid, rowsBox, count, sample, panes;

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
  const order = name === "outcome" ? Object.keys(SIGNS) : [...counts.keys()];
  const keys = order.filter((key) => counts.has(key) && key !== "");
  if (name === "category") keys.sort();
  return keys.map((key) => [key, counts.get(key)]);
}

function build() {
  const titled = { outcome: (key) => words[key], category: (key, keys) => (keys.includes(key.split("/")[0]) && key.includes("/") ? "– " : "") + S.title(key) };
  const filters = make("div", { class: "filters", role: "search" });
  for (const name of FILTERS) {
    const listed = options(name);
    if (listed.length < 2 && name !== "outcome" && name !== "model") continue;
    const select = make("select", { id: `f-${name}` }, make("option", { value: "" }, `${words.all}`));
    if (name === "outcome") select.append(make("option", { value: "not_right" }, words.not_right));
    controls[name] = select;
    const keys = listed.map((pair) => pair[0]);
    for (const [key, n] of listed) select.append(make("option", { value: key }, `${plain(titled[name] ? titled[name](key, keys) : key)} (${number(n)})`));
    select.addEventListener("change", () => change(true));
    filters.append(make("label", {}, words[name], select));
  }
  const search = make("input", { type: "search", id: "f-search", autocomplete: "off", spellcheck: "false" });
  controls.search = search;
  let timer = 0;
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => change(false), S.d.starts.rows.length > 1 ? 400 : 150); });
  filters.append(make("label", { class: "search" }, words.search, search));
  filters.append(make("button", { type: "button", on: { click: () => { for (const one of Object.values(controls)) one.value = ""; change(true); } } }, words.reset));
  count = make("p", { class: "found", role: "status", "aria-live": "polite" });

  const head = make("div", { class: "line head", role: "row", "aria-rowindex": "1" });
  for (const [name, title, extra] of [["outcome", words.outcome, ""], ["model", words.model, ""], ["category", words.category, ""], ["value", words.score, "rest num"], ["latency", words.time, "rest num"]]) {
    const button = make("button", { type: "button", "aria-label": fill(words.sort, { name: title }) }, title);
    const cell = make("div", { role: "columnheader", "aria-sort": "none", class: extra, "data-name": name }, button);
    button.addEventListener("click", () => sortBy(name, cell));
    head.append(cell);
  }
  rowsBox = make("div", { class: "rows", role: "rowgroup" });
  grid = make("div", { class: "grid", role: "grid", tabindex: "0", "aria-label": words.list, "aria-multiselectable": "false" }, make("div", { role: "rowgroup", class: "pinned" }, head), rowsBox);
  grid.addEventListener("scroll", () => requestAnimationFrame(paint), { passive: true });
  grid.addEventListener("keydown", keys);
  sample = make("article", { class: "sample", tabindex: "-1", "aria-live": "off" }, make("p", { class: "faint" }, words.pick));
  panes = make("div", { class: "panes" }, make("div", { class: "list" }, grid), sample);
  const line = make("div", { class: "tools" }, views(), count, exports());
  browser.replaceChildren(filters, line, panes);
  new ResizeObserver(() => paint()).observe(grid);
  return restore();
}

const inCategory = (i, wanted) => S.category(i) === wanted || S.suite(i) === wanted;

function passes(i, wanted) {
  for (const [name, value] of wanted) {
    if (name === "category") { if (!inCategory(i, value)) return false; }
    else if (name === "outcome" && value === "not_right") { if (["right", "not_applicable"].includes(S.outcome(i))) return false; }
    else if (S[name](i) !== value) return false;
  }
  return true;
}

function finder(query) {
  if (!query) return null;
  return new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "iu");
}

function contains(i, pattern) {
  const chunk = chunkOf("rows", i);
  const at = offset("rows", i);
  const found = (text) => text && pattern.test(text);
  if ([S.reply(i), S.reason(i), S.reasoning(i), S.error(i), S.kind(i), S.model(i)].some(found)) return true;
  for (const metric of chunk.metrics) {
    const place = metric.at.get(at);
    if (place === undefined) continue;
    if (found(metric.details?.[place]) || found(metric.reason.of[metric.reason.at[place]])) return true;
  }
  return (chunk.places.get(at) ?? []).some((place) => found(chunk.judged.text?.[place]));
}

// Every text is looked through, chunk after chunk: the questions once, then what was said to the others.
async function search(list, pattern, ticket) {
  const go = (done) => {
    count.textContent = fill(words.searching, { k: number(done), n: number(list.length) });
    return ticket === S.ticket;
  };
  const { id, template } = S.d.items;
  const { item } = S.d.rows;
  const asked = new Uint8Array(id.length);
  const texts = ["prompt", "answer"].map((name) => cell("items", name));
  const look = (at) => { asked[at] = [id[at], template.of[template.at[at]], ...texts.map((read) => read(at))].some((text) => text && pattern.test(text)) ? 1 : 0; };
  const items = new Set(list.map((i) => item[i]).filter((at) => at !== null));
  if (!await eachChunk("items", items, look, () => go(0))) return null;
  const found = new Set(list.filter((i) => item[i] !== null && asked[item[i]]));
  const rest = list.filter((i) => !found.has(i));
  if (!await eachChunk("rows", rest, (i) => { if (contains(i, pattern)) found.add(i); }, (done) => go(found.size ? list.length - rest.length + done : done))) return null;
  return list.filter((i) => found.has(i));
}

// A newer choice ends an older one.
async function apply() {
  const ticket = ++S.ticket;
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
  order();
  grid.scrollTop = 0;
  count.textContent = fill(words.count, { k: number(S.list.length), n: number(S.n) });
  if (matrix) await arrange();
  else await choose(S.list.includes(S.chosen) ? S.chosen : S.list.length ? S.list[0] : -1, false);
  if (ticket === S.ticket) browser.dataset.ready = String(Number(browser.dataset.ready ?? 0) + 1);
}

function sortBy(name, cell) {
  const now = cell.getAttribute("aria-sort");
  const next = now === "ascending" ? "descending" : now === "descending" ? "none" : "ascending";
  for (const other of cell.parentElement.children) other.setAttribute("aria-sort", "none");
  cell.setAttribute("aria-sort", next);
  S.sort = next === "none" ? null : [name, next === "ascending" ? 1 : -1];
  order();
  grid.scrollTop = 0;
  paint();
  note(false);
}

function order() {
  if (!S.sort) { S.list.sort(); return; }
  const [name, sign] = S.sort;
  const rank = Object.fromEntries(Object.keys(SIGNS).map((key, place) => [key, place]));
  const of = name === "outcome" ? (i) => rank[S.outcome(i)] : (i) => S[name](i);
  const keyed = Array.from(S.list, (i) => [of(i), i]);
  const missing = (value) => value === null || value === undefined;
  keyed.sort(([a, i], [b, j]) => (missing(a) || missing(b) ? missing(a) - missing(b) || i - j : (typeof a === "number" ? sign * (a - b) : sign * (a < b ? -1 : a > b ? 1 : 0)) || i - j));
  S.list = Int32Array.from(keyed, (pair) => pair[1]);
}

const shares = (value) => (value === null || value === undefined ? "–" : `${Math.round(Number((1000 * value).toPrecision(12))) / 10}%`);
const seconds = (value) => (value === null || value === undefined ? "–" : value.toFixed(2));

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
    const outcome = S.outcome(i);
    const begins = [S.reason(i), S.reply(i) ?? S.error(i)].filter(Boolean).join(" · ").slice(0, 160);
    const line = make("div", { class: "line row", role: "row", id: `s-${i}`, "aria-rowindex": String(place + 2), "aria-selected": String(i === S.chosen), on: { click: () => { choose(i, false); note(true); } } },
      make("span", { role: "gridcell", class: `state ${outcome}`, "data-sign": SIGNS[outcome] }, words[outcome]),
      make("span", { role: "gridcell" }, plain(S.model(i))),
      make("span", { role: "gridcell" }, [plain(S.title(S.category(i))), S.level(i), S.language(i)].filter(Boolean).join(" · ")),
      make("span", { role: "gridcell", class: "rest num" }, shares(S.value(i))),
      make("span", { role: "gridcell", class: "rest num" }, seconds(S.latency(i))),
      make("span", { role: "gridcell", class: "snippet" }, plain(begins.replace(/\s+/g, " "))));
    line.style.top = `${place * ROW}px`;
    painted.push(line);
  }
  rowsBox.replaceChildren(...painted);
  const shown = S.list.subarray(first, last);
  if (shown.some((i) => !chunkOf("rows", i))) arrive(() => ready(shown), paint);
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
