// ---- addresses, copies, exports ----
const button = (name, click) => make("button", { type: "button", on: { click } }, name);
let written = location.hash;
let waiting = 0;

const sampleParts = (i) => ({ item: S.id(i), of: S.model(i), repeat: String(S.d.rows.repeat[i]) });
const matrixParts = () => ({ ...filterParts(), view: "matrix", a: S.models[S.pair[0]], b: S.models[S.pair[1]], item: S.item < 0 ? "" : S.d.items.id[S.item] });

function filterParts() {
  const parts = {};
  for (const [name, one] of Object.entries(controls)) if (one.value && !one.disabled) parts[name] = one.value;
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
    if (now === location.hash) return;
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
    one.value = parts.get(name) ?? "";
    if (one.selectedIndex === -1) one.value = "";
  }
  const [column, direction] = (parts.get("sort") ?? "").split(" ");
  S.sort = ["outcome", "model", "category", "value", "latency"].includes(column) ? [column, direction === "descending" ? -1 : 1] : null;
  for (const cell of grid.querySelectorAll("[role=columnheader]")) cell.setAttribute("aria-sort", S.sort && cell.dataset.name === column ? (S.sort[1] > 0 ? "ascending" : "descending") : "none");
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
  if (S) await restore();
  else if (location.hash) await open();
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

function record(i) {
  const { rows, items } = S.d;
  const at = rows.item[i];
  const cut = [["prompt", items.prompt_whole?.[at]], ["expected", items.answer_whole?.[at]], ["response", rows.text_whole?.[i]], ["reasoning", rows.reasoning_whole?.[i]]];
  return {
    item_id: S.id(i), suite: S.suite(i), family: S.family(i), level: S.level(i), language: S.language(i), model: S.model(i), repeat: rows.repeat[i],
    outcome: S.outcome(i), score: S.value(i), reason: S.reason(i), prompt: at === null ? null : S.prompt(i), expected: at === null ? null : S.answer(i),
    response: S.reply(i), reasoning: S.reasoning(i), error: S.error(i), latency_s: S.latency(i), tokens_in: rows.tokens_in[i], tokens_out: rows.tokens_out[i],
    request_id: rows.request_id[i], cut: cut.filter((pair) => pair[1]).map((pair) => pair[0]).join(" "),
  };
}

// A cell that a spreadsheet may take for a formula gets an apostrophe before it (as tasks/report/exports.py).
const FORMULA = /^[\t\r\n]|^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]/u;
function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return String(value);
  return `"${(FORMULA.test(value) ? `'${value}` : value).replaceAll('"', '""')}"`;
}

function save(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function exports() {
  const name = `samples_${document.title.split(" · ").pop().replace(/[^\w.-]/g, "_").slice(0, 60)}`;
  const listed = () => Array.from(S.list, record);
  const csv = () => {
    const rows = listed();
    const names = rows.length ? Object.keys(rows[0]) : [];
    save(`${name}.csv`, `\ufeff${[names, ...rows.map((row) => names.map((one) => csvCell(row[one])))].map((cells) => cells.join(",")).join("\r\n")}\r\n`, "text/csv");
  };
  const jsonl = () => save(`${name}.jsonl`, listed().map((row) => `${JSON.stringify(row)}\n`).join(""), "application/jsonl");
  return make("div", { class: "exports" }, `${words.save} `, button("CSV", csv), button("JSONL", jsonl));
}

browser.hidden = false;
browser.append(make("p", { class: "faint", role: "status" }, words.loading));
if (location.hash.startsWith("#samples?")) open();
else {
  new IntersectionObserver((entries, observer) => {
    if (entries.some((entry) => entry.isIntersecting)) { observer.disconnect(); open(); }
  }, { rootMargin: "1500px" }).observe(browser);
}
