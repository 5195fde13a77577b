// ---- addresses, copies, exports ----
const button = (name, click) => make("button", { type: "button", on: { click } }, name);
let written = location.hash;
let waiting = 0;

const sampleParts = (i) => ({ item: S.id(i), of: S.model(i), repeat: String(S.d.rows.repeat[i]) });
const matrixParts = () => ({ ...filterParts(), view: "matrix", a: S.models[S.pair[0]], b: S.models[S.pair[1]], item: S.item < 0 ? "" : S.d.items.id[S.item] });

function filterParts() {
  const parts = {};
  for (const [name, one] of Object.entries(controls)) if (one.value && !one.disabled) parts[name] = one.value;
  if (S.columns.join() !== usual().join()) parts.columns = S.columns.join(" ");
  if (S.sort) parts.sort = `${S.sort[0]} ${S.sort[1] > 0 ? "ascending" : "descending"}`;
  return parts;
}

function fragment(parts) {
  return `#samples?${new URLSearchParams(Object.entries(parts).filter((pair) => pair[1]))}`;
}

const linkTo = (parts) => location.href.split("#")[0] + fragment(parts);

// What is shown stands in the address: a step back, a reload and a link that is sent show the same again.
function note(push) {
  clearTimeout(waiting);
  const to = () => {
    const now = fragment(S.view === "matrix" ? matrixParts() : { ...filterParts(), ...(S.chosen < 0 ? {} : sampleParts(S.chosen)) });
    if (now === location.hash || location.hash !== written) return; // another address was asked for meanwhile
    written = now;
    if (push) location.hash = now;
    else location.replace(now);
  };
  if (push) to();
  else waiting = setTimeout(to, 200); // a key that is held down must not flood the browser's history
}

async function change(push) {
  await apply();
  note(push);
}

async function restore() {
  const there = location.hash.startsWith("#samples?");
  const parts = new URLSearchParams(there ? location.hash.slice("#samples?".length) : "");
  written = location.hash;
  for (const [name, one] of Object.entries(controls)) {
    const given = parts.get(name) ?? "";
    one.value = given;
    // A suite stands in the place of its only family.
    if (one.selectedIndex === -1 && name === "category") one.value = given.split("/")[0];
    if (one.selectedIndex === -1) one.value = "";
  }
  const [column, direction] = (parts.get("sort") ?? "").split(" ");
  S.sort = Object.hasOwn(COLUMNS, column) ? [column, direction === "descending" ? -1 : 1] : null;
  lay((parts.get("columns") ?? "").split(" "));
  const item = S.d.items.id.indexOf(parts.get("item"));
  let missing = parts.has("item") && item < 0;
  if (parts.get("view") === "matrix") {
    const pair = ["a", "b"].map((side) => S.models.indexOf(parts.get(side)));
    S.pair = pair.map((at, side) => (at < 0 ? side : at));
    S.item = item;
  } else if (parts.has("item")) {
    S.chosen = S.d.rows.item.findIndex((at, i) => at === item && S.model(i) === parts.get("of") && String(S.d.rows.repeat[i]) === (parts.get("repeat") ?? "0"));
    missing = S.chosen < 0;
  }
  look(parts.get("view"));
  await apply();
  if (missing) count.textContent += ` ${words.missing}`;
  if (there) {
    document.getElementById("samples").scrollIntoView();
    document.getElementById("samples-h").focus({ preventScroll: true });
  }
}

addEventListener("hashchange", async () => {
  if (location.hash === written) return;
  if (location.hash && !location.hash.startsWith("#samples?")) { written = location.hash; return; }
  if (opening) await opening;
  else if (location.hash) await open();
  if (S && location.hash !== written) await restore();
});

async function copy(text, from) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = make("textarea", { class: "sr", "aria-hidden": "true" });
    box.value = text;
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
  const name = from.textContent;
  from.textContent = words.copied;
  setTimeout(() => { from.textContent = name; }, 1200);
}

// A text as it is, and the first block of code in it.
function copies(title, text) {
  const made = [make("button", { type: "button", class: "small", "aria-label": `${words.copy}: ${title}`, on: { click: (event) => copy(text, event.currentTarget) } }, words.copy)];
  const fenced = /```[^\n]*\n([\s\S]*?)```/.exec(text);
  if (fenced) made.push(make("button", { type: "button", class: "small", "aria-label": `${words.copy_code}: ${title}`, on: { click: (event) => copy(fenced[1], event.currentTarget) } }, words.copy_code));
  return text ? made : [];
}

function asked(at) {
  if (at === null) return { prompts: {}, expected: null, cut: [] };
  const names = ["prompt", ...S.models.map(promptOf)];
  const prompts = Object.fromEntries(names.map((name) => [name, cell("items", name)(at)]));
  return { prompts, expected: cell("items", "answer")(at), cut: [names.some((name) => whole("items", name, at)) && "prompt", whole("items", "answer", at) && "expected"] };
}

function record(i, question) {
  const own = (name) => cell("rows", name)(i);
  const cut = [...question.cut, whole("rows", "text", i) && "response", whole("rows", "reasoning", i) && "reasoning"];
  return {
    item_id: S.id(i), suite: S.suite(i), family: S.family(i), level: S.level(i), language: S.language(i), model: S.model(i), repeat: S.d.rows.repeat[i],
    outcome: S.outcome(i), score: S.value(i), reason: S.reason(i) ?? "", prompt: question.prompts[promptOf(S.model(i))] ?? question.prompts.prompt ?? null, expected: question.expected,
    response: S.reply(i), reasoning: S.reasoning(i), error: S.error(i), latency_s: S.latency(i), tokens_in: own("tokens_in"), tokens_out: own("tokens_out"),
    request_id: requestId(i), cut: cut.filter(Boolean).join(" "),
  };
}

// The lines of the samples that are listed, in their order; null where the list has changed meanwhile.
async function lines(write) {
  const { list, ticket } = S;
  const { item } = S.d.rows;
  const go = (done) => { count.textContent = fill(words.saving, { k: number(done), n: number(list.length) }); return ticket === S.ticket; };
  const questions = new Map([[null, asked(null)]]);
  const items = new Set(Array.from(list, (i) => item[i]).filter((at) => at !== null));
  if (!await eachChunk("items", items, (at) => questions.set(at, asked(at)), () => go(0))) return null;
  const place = new Map(Array.from(list, (i, at) => [i, at]));
  const found = new Array(list.length);
  if (!await eachChunk("rows", list, (i) => { found[place.get(i)] = write(record(i, questions.get(item[i]))); }, go)) return null;
  count.textContent = fill(words.count, { k: number(list.length), n: number(S.n) });
  return found;
}

// A cell that a spreadsheet may take for a formula gets an apostrophe before it (as tasks/report/exports.py).
const FORMULA = /^[\t\r\n]|^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]/u;
function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return String(value);
  return `"${(FORMULA.test(value) ? `'${value}` : value).replaceAll('"', '""')}"`;
}

function save(name, texts, type) {
  const url = URL.createObjectURL(new Blob(texts, { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function exports() {
  const name = `samples_${document.title.split(" · ").pop().replace(/[^\w.-]/g, "_").slice(0, 60)}`;
  const keep = async (ending, write, type, head) => {
    try {
      const found = await lines(write);
      if (found) save(`${name}.${ending}`, [head(found), ...found], type);
    } catch (problem) { sample.replaceChildren(trouble(problem)); }
  };
  let names = "";
  const row = (one) => { names = Object.keys(one).join(","); return `${Object.values(one).map(csvCell).join(",")}\r\n`; };
  const csv = () => keep("csv", row, "text/csv", (found) => `\ufeff${found.length ? names : ""}\r\n`);
  const jsonl = () => keep("jsonl", (one) => `${JSON.stringify(one)}\n`, "application/jsonl", () => "");
  return make("div", { class: "exports" }, `${words.save} `, button("CSV", csv), button("JSONL", jsonl));
}

// ---- keys that work anywhere on the page, but where something is typed or labelled ----
async function step(by) {
  if (S.view === "matrix") { const at = S.items.indexOf(S.item) + by; if (at >= 0 && at < S.items.length) await pick(S.items[at]); }
  else { const at = S.list.indexOf(S.chosen) + by; if (at >= 0 && at < S.list.length) await choose(S.list[at], false); }
  note(false);
}

// The next sample of a question on which those under test differ; in the grid, the next on which A and B do.
async function nextApart(by) {
  if (S.view === "matrix") { disagree(by); return; }
  const n = S.list.length;
  const from = S.list.indexOf(S.chosen);
  const now = S.d.rows.item[S.chosen];
  for (let k = 1; k <= n; k++) {
    const i = S.list[(from + by * k + n * k) % n];
    if (S.d.rows.item[i] !== now && apart(S.d.rows.item[i])) { await choose(i, false); note(false); return; }
  }
}

const KEYS = { "/": () => controls.search.focus(), j: () => step(1), k: () => step(-1), n: () => nextApart(1), p: () => nextApart(-1) };
addEventListener("keydown", async (event) => {
  const run = KEYS[event.key];
  if (!run || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, .desk")) return;
  event.preventDefault();
  await open();
  if (!S) return;
  const { top, bottom } = browser.getBoundingClientRect();
  if (top > innerHeight / 2 || bottom < 0) browser.scrollIntoView();
  await run();
});

browser.hidden = false;
browser.append(make("p", { class: "faint", role: "status" }, words.loading));
if (location.hash.startsWith("#samples?")) open();
else {
  new IntersectionObserver((entries, observer) => {
    if (entries.some((entry) => entry.isIntersecting)) { observer.disconnect(); open(); }
  }, { rootMargin: "1500px" }).observe(browser);
}
