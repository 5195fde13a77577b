"use strict";
(() => {
  const words = JSON.parse(document.getElementById("words").textContent);
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const number = (n) => n.toLocaleString(document.documentElement.lang);

  // Everything from a model goes through here: text only, with deceptive characters made visible.
  const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\r(?!\n)/gu;
  const code = (sign) => `U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  const plain = (text) => text.replace(UNSEEN, (sign) => `⟦${code(sign)}⟧`);

  function make(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name === "class") element.className = value;
      else if (name === "on") for (const [event, run] of Object.entries(value)) element.addEventListener(event, run);
      else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== undefined && child !== null && child !== ""));
    return element;
  }

  function show(element, text, pattern) {
    const put = (piece, marked) => {
      let end = 0;
      const box = marked ? make("mark") : element;
      for (const found of piece.matchAll(UNSEEN)) {
        box.append(piece.slice(end, found.index), make("span", { class: "unseen", title: code(found[0]) }, `⟦${code(found[0])}⟧`));
        end = found.index + found[0].length;
      }
      box.append(piece.slice(end));
      if (marked) element.append(box);
    };
    let end = 0;
    let n = 0;
    if (pattern) {
      for (const found of text.matchAll(new RegExp(pattern.source, "giu"))) {
        if (!found[0] || ++n > 500) break;
        put(text.slice(end, found.index), false);
        put(found[0], true);
        end = found.index + found[0].length;
      }
    }
    put(text.slice(end), false);
    return element;
  }

  // ---- theme ----
  const theme = document.getElementById("theme");
  const kept = { get: () => { try { return localStorage.getItem("theme"); } catch { return null; } }, set: (value) => { try { localStorage.setItem("theme", value); } catch { /* a file may have no storage */ } } };
  function wear(value) {
    if (value === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = value;
    theme.lastElementChild.textContent = theme.dataset[value];
    theme.dataset.now = value;
  }
  wear(["light", "dark"].includes(kept.get()) ? kept.get() : "auto");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const next = { auto: "dark", dark: "light", light: "auto" }[theme.dataset.now];
    kept.set(next);
    wear(next);
  });

  // ---- tables that sort ----
  const worth = (row, at) => {
    const cell = row.cells[at];
    const given = cell.dataset.v ?? cell.textContent.trim();
    const value = Number(given.replace(/[\u202f\s]/g, ""));
    return given !== "" && !Number.isNaN(value) ? value : given;
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true }));
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, at) => {
      const button = make("button", { type: "button" }, ...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const first = head.classList.contains("num") ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const next = head.getAttribute("aria-sort") === first ? other : first;
        heads.forEach((one) => one.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", next);
        const sign = next === "ascending" ? 1 : -1;
        const rows = [...table.tBodies[0].rows].map((row) => [worth(row, at), row]);
        rows.sort((a, b) => sign * compare(a[0], b[0]));
        table.tBodies[0].append(...rows.map((pair) => pair[1]));
      });
    });
  }

  // ---- where we are ----
  const links = new Map([...document.querySelectorAll(".side a")].map((link) => [link.getAttribute("href").slice(1), link]));
  const seen = new Set();
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) seen[entry.isIntersecting ? "add" : "delete"](entry.target.id);
    const now = [...links.keys()].find((id) => seen.has(id));
    for (const [id, link] of links) id === now ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
  }, { rootMargin: "-10% 0px -70% 0px" });
  for (const id of links.keys()) watch.observe(document.getElementById(id));

  // ---- the samples ----
  const browser = document.getElementById("browser");
  const data = document.getElementById("data");
  const SIGNS = { right: "✓", partial: "≈", wrong: "✗", no_answer: "∅", truncated: "✂", model_error: "!", judge_failed: "!", not_applicable: "–", unscored: "–" };
  const ROW = 46;
  let S = null;
  let opening = null;

  async function unpack() {
    const text = data.textContent;
    if (data.dataset.encoding !== "gzip") return JSON.parse(text);
    if (typeof DecompressionStream === "undefined") throw new Error(words.old);
    const packed = atob(text);
    const bytes = new Uint8Array(packed.length);
    for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  function open() {
    opening ??= unpack().then((document_) => { S = prepare(document_); build(); return S; }).catch((problem) => {
      browser.replaceChildren(make("p", { class: "note warn" }, problem.message === words.old ? words.old : `${words.broken}: ${problem.message}`));
    });
    return opening;
  }

  function prepare(d) {
    const column = (coded) => (i) => coded.of[coded.at[i]];
    const text = (columns, name) => (i) => (columns[name] ? columns[name][i] : null);
    const rows = d.rows;
    const n = rows.item.length;
    const item = (read) => (i) => (rows.item[i] === null ? "" : read(rows.item[i]) ?? "");
    const suite = item(column(d.items.suite));
    const family = item(column(d.items.family));
    const category = (i) => (family(i) ? `${suite(i)}/${family(i)}` : suite(i));
    const scores = d.metrics.map((metric) => {
      const at = new Int32Array(n).fill(-1);
      metric.row.forEach((row, place) => { at[row] = place; });
      return { ...metric, at };
    });
    const judged = new Map();
    d.judged.row.forEach((row, place) => (judged.get(row) ?? judged.set(row, []).get(row)).push(place));
    return {
      d, n, suite, family, category, scores, judged,
      id: item((at) => d.items.id[at]), level: item(column(d.items.level)), language: item(column(d.items.language)),
      template: item(column(d.items.template)), prompt: item(text(d.items, "prompt")), answer: item(text(d.items, "answer")), facts: item(text(d.items, "facts")),
      model: column(rows.model), outcome: column(rows.outcome), reason: column(rows.reason), finish: column(rows.finish_reason),
      reply: text(rows, "text"), reasoning: text(rows, "reasoning"), error: text(rows, "error"), kind: text(rows, "error_kind"),
      value: (i) => rows.value[i], latency: (i) => rows.latency_s[i],
      title: (key) => d.titles[key] || key.split("/").pop() || key,
      list: Int32Array.from({ length: n }, (_, i) => i), chosen: -1, sort: null, pattern: null, ticket: 0,
    };
  }

  const FILTERS = ["model", "category", "level", "language", "outcome"];
  let controls = {};
  let grid, rowsBox, count, sample;

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
      select.addEventListener("change", apply);
      filters.append(make("label", {}, words[name], select));
    }
    const search = make("input", { type: "search", id: "f-search", autocomplete: "off", spellcheck: "false" });
    controls.search = search;
    let timer = 0;
    search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(apply, 150); });
    filters.append(make("label", { class: "search" }, words.search, search));
    filters.append(make("button", { type: "button", on: { click: () => { for (const one of Object.values(controls)) one.value = ""; apply(); } } }, words.reset));
    count = make("p", { class: "found", role: "status", "aria-live": "polite" });

    const head = make("div", { class: "line head", role: "row", "aria-rowindex": "1" });
    for (const [name, title, extra] of [["outcome", words.outcome, ""], ["model", words.model, ""], ["category", words.category, ""], ["value", words.score, "rest num"], ["latency", words.time, "rest num"]]) {
      const button = make("button", { type: "button", "aria-label": fill(words.sort, { name: title }) }, title);
      const cell = make("div", { role: "columnheader", "aria-sort": "none", class: extra }, button);
      button.addEventListener("click", () => sortBy(name, cell));
      head.append(cell);
    }
    rowsBox = make("div", { class: "rows", role: "rowgroup" });
    grid = make("div", { class: "grid", role: "grid", tabindex: "0", "aria-label": words.list, "aria-multiselectable": "false" }, make("div", { role: "rowgroup", class: "pinned" }, head), rowsBox);
    grid.addEventListener("scroll", () => requestAnimationFrame(paint), { passive: true });
    grid.addEventListener("keydown", keys);
    sample = make("article", { class: "sample", tabindex: "-1", "aria-live": "off" }, make("p", { class: "faint" }, words.pick));
    const left = Number(data.dataset.shown) < Number(data.dataset.total) ? make("p", { class: "note info" }, fill(words.left_out, { k: number(Number(data.dataset.shown)), n: number(Number(data.dataset.total)) })) : null;
    browser.replaceChildren(left ?? "", filters, count, make("div", { class: "panes" }, make("div", { class: "list" }, grid), sample));
    new ResizeObserver(() => paint()).observe(grid);
    apply();
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

  function contains(i, pattern, items) {
    const at = S.d.rows.item[i];
    if (at !== null) {
      items[at] ||= [S.id(i), S.prompt(i), S.answer(i), S.template(i)].some((text) => text && pattern.test(text)) ? 1 : 2;
      if (items[at] === 1) return true;
    }
    if ([S.reply(i), S.reason(i), S.reasoning(i), S.error(i), S.kind(i), S.model(i)].some((text) => text && pattern.test(text))) return true;
    for (const metric of S.scores) {
      const place = metric.at[i];
      if (place < 0) continue;
      if (metric.details?.[place] && pattern.test(metric.details[place])) return true;
      if (pattern.test(metric.reason.of[metric.reason.at[place]])) return true;
    }
    return (S.judged.get(i) ?? []).some((place) => S.d.judged.text?.[place] && pattern.test(S.d.judged.text[place]));
  }

  // Searching yields to the page every few milliseconds; a newer search ends an older one.
  async function apply() {
    const ticket = ++S.ticket;
    const wanted = Object.entries(controls).filter(([name, one]) => name !== "search" && one.value).map(([name, one]) => [name, one.value]);
    const pattern = finder(controls.search.value.trim());
    const found = [];
    const items = new Uint8Array(S.d.items.id.length);
    let until = performance.now() + 30;
    for (let i = 0; i < S.n; i++) {
      if (passes(i, wanted) && (!pattern || contains(i, pattern, items))) found.push(i);
      if ((i & 127) === 0 && performance.now() > until) {
        await new Promise((go) => setTimeout(go));
        if (ticket !== S.ticket) return;
        until = performance.now() + 30;
      }
    }
    S.pattern = pattern;
    S.list = Int32Array.from(found);
    order();
    grid.scrollTop = 0;
    count.textContent = fill(words.count, { k: number(S.list.length), n: number(S.n) });
    browser.dataset.ready = String(Number(browser.dataset.ready ?? 0) + 1);
    if (!S.list.includes(S.chosen)) choose(S.list.length ? S.list[0] : -1, false);
    else choose(S.chosen, false);
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
      const line = make("div", { class: "line row", role: "row", id: `s-${i}`, "aria-rowindex": String(place + 2), "aria-selected": String(i === S.chosen), on: { click: () => choose(i, false) } },
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
    describe(i);
    if (focus) sample.focus();
  }

  function keys(event) {
    if (event.target.closest("button") && event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const at = S.list.indexOf(S.chosen);
    const page = Math.max(1, Math.floor(grid.clientHeight / ROW) - 1);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: S.list.length - 1 }[event.key];
    if (to !== undefined && S.list.length) {
      event.preventDefault();
      choose(S.list[Math.min(S.list.length - 1, Math.max(0, to))], false);
    } else if (event.key === "Enter" && at >= 0) {
      event.preventDefault();
      sample.focus();
    }
  }

  function block(title, text, whole, folded) {
    if (text === null || text === undefined) return [];
    const body = show(make("pre", { tabindex: "0", dir: "auto", "aria-label": title }), text, S.pattern);
    if (!text) body.append(make("span", { class: "faint" }, `(${words.empty})`));
    const rest = whole ? make("p", { class: "facts-line" }, fill(words.cut, { k: number(text.length), n: number(whole) })) : null;
    if (folded) return [make("details", {}, make("summary", {}, title), body, rest)];
    return [make("h4", {}, title), body, rest].filter(Boolean);
  }

  // Any JSON as lists and tables, to a depth; nothing in it is trusted.
  function tree(value, depth = 0) {
    if (value === null || value === undefined) return make("span", { class: "faint" }, "–");
    if (typeof value === "boolean") return make("span", {}, value ? words.yes : words.no);
    if (typeof value !== "object") return show(make("span", { dir: "auto" }), String(typeof value === "number" ? Number(value.toPrecision(6)) : value), S.pattern);
    if (depth > 6) return show(make("code"), JSON.stringify(value));
    if (Array.isArray(value)) {
      if (!value.length) return make("span", { class: "faint" }, "–");
      const objects = value.every((one) => one && typeof one === "object" && !Array.isArray(one));
      const names = objects ? [...new Set(value.flatMap((one) => Object.keys(one)))] : [];
      if (objects && names.length <= 8) {
        const table = make("table", {}, make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, plain(name))))));
        table.append(make("tbody", {}, ...value.map((one) => make("tr", {}, ...names.map((name) => make("td", {}, tree(one[name], depth + 1)))))));
        return make("div", { class: "scroll" }, table);
      }
      if (value.every((one) => typeof one !== "object")) return tree(value.map(String).join(", "), depth + 1);
      return make("ol", {}, ...value.map((one) => make("li", {}, tree(one, depth + 1))));
    }
    const list = make("dl");
    for (const [name, one] of Object.entries(value)) list.append(make("dt", {}, plain(name)), make("dd", {}, tree(one, depth + 1)));
    return list;
  }

  function parsed(text) {
    try { return JSON.parse(text); } catch { return text; }
  }

  function details(metric, place) {
    const text = metric.details?.[place];
    if (!text) return null;
    const found = parsed(text);
    const box = make("details", {}, make("summary", {}, fill(words.details, { metric: plain(metric.name) })));
    if (!metric.name.includes(".")) box.open = true;
    if (found && typeof found === "object" && found.judges && typeof found.judges === "object") {
      for (const [judge, own] of Object.entries(found.judges)) {
        const { value, status, reason, details: rest, ...other } = own ?? {};
        box.append(make("h4", {}, fill(words.judge_of, { judge: plain(judge) }), ` · ${shares(value)} · ${plain(String(status ?? ""))}`));
        if (reason) box.append(show(make("p", { class: "said", dir: "auto" }), String(reason), S.pattern));
        if (rest && Object.keys(rest).length) box.append(tree(rest));
        box.append(tree(other));
      }
      const { judges, ...rest } = found;
      box.append(tree(rest));
    } else box.append(tree(found));
    return box;
  }

  function scoresOf(i) {
    const body = make("tbody");
    const more = [];
    for (const metric of S.scores) {
      const place = metric.at[i];
      if (place < 0) continue;
      const status = metric.status.of[metric.status.at[place]];
      const reason = metric.reason.of[metric.reason.at[place]];
      body.append(make("tr", {}, make("th", { scope: "row" }, plain(metric.name)), make("td", { class: "num" }, metric.value[place] === null ? "–" : String(Number(metric.value[place].toFixed(4)))), make("td", {}, words[status] ?? status), show(make("td", { dir: "auto" }), reason, S.pattern)));
      const box = details(metric, place);
      if (box) more.push(box);
    }
    if (!body.rows.length) return [];
    const head = make("thead", {}, make("tr", {}, ...[words.metric, words.score, words.status, words.reason].map((name, at) => make("th", { scope: "col", class: at === 1 ? "num" : "" }, name))));
    return [make("h4", {}, words.scores), make("div", { class: "scroll" }, make("table", {}, head, body)), ...more];
  }

  function judgesOf(i) {
    const places = S.judged.get(i);
    if (!places) return [];
    const j = S.d.judged;
    const box = make("details", {}, make("summary", {}, `${words.judge_replies} (${places.length})`));
    for (const place of places) {
      const name = [j.judge.of[j.judge.at[place]], j.step.of[j.step.at[place]], j.key.of[j.key.at[place]]].filter(Boolean).join(" · ");
      box.append(...block(plain(name), j.text?.[place] ?? j.error?.[place] ?? "", j.text_whole?.[place]));
    }
    return [box];
  }

  function siblings(i) {
    const at = S.d.rows.item[i];
    if (at === null) return [];
    const same = [];
    for (let other = 0; other < S.n && same.length < 40; other++) if (S.d.rows.item[other] === at && other !== i) same.push(other);
    if (!same.length) return [];
    const repeats = S.d.rows.repeat.some((repeat) => repeat > 0);
    const buttons = same.map((other) => make("button", { type: "button", on: { click: () => { if (!S.list.includes(other)) { for (const one of Object.values(controls)) one.value = ""; S.chosen = other; apply(); } else choose(other, false); } } },
      make("span", { class: `state ${S.outcome(other)}`, "data-sign": SIGNS[S.outcome(other)] }, plain(S.model(other)), repeats ? ` #${S.d.rows.repeat[other]}` : ""), ` ${words[S.outcome(other)]}`));
    return [make("h4", {}, words.others), make("div", { class: "chips" }, ...buttons)];
  }

  function call(i) {
    const r = S.d.rows;
    const facts = [];
    if (r.cached[i] !== null) facts.push(r.cached[i] ? words.cached : words.fresh);
    if (S.latency(i) !== null) facts.push(`${words.latency} ${S.latency(i).toFixed(3)} s`);
    if (r.tokens_in[i] !== null || r.tokens_out[i] !== null) facts.push(`${words.tokens} ${r.tokens_in[i] ?? "–"} → ${r.tokens_out[i] ?? "–"}`);
    if (S.finish(i)) facts.push(`${words.finish} ${plain(S.finish(i))}`);
    facts.push(`${words.repeat} ${r.repeat[i]}`);
    if (S.template(i)) facts.push(`${words.template} ${plain(S.template(i))}`);
    if (r.request_id[i]) facts.push(`${words.request} ${plain(r.request_id[i].slice(0, 16))}`);
    return [make("h4", {}, words.call), make("p", { class: "facts-line" }, facts.join(" · "))];
  }

  function describe(i) {
    if (i < 0) { sample.replaceChildren(make("p", { class: "faint" }, words.none)); return; }
    const { rows, items } = S.d;
    const at = rows.item[i];
    const place = S.list.indexOf(i);
    const outcome = S.outcome(i);
    const step = (by, name) => make("button", { type: "button", disabled: place + by < 0 || place + by >= S.list.length, on: { click: () => choose(S.list[place + by], true) } }, name);
    const facts = at === null || !S.facts(i) || S.facts(i) === "{}" ? [] : [make("details", {}, make("summary", {}, words.facts), tree(parsed(S.facts(i))))];
    sample.setAttribute("aria-label", `${plain(S.model(i))}, ${plain(S.title(S.category(i)))}, ${words[outcome]}`);
    sample.replaceChildren(
      make("div", { class: "steps" }, step(-1, words.previous), step(1, words.next)),
      make("h3", {}, make("span", { class: `state ${outcome}`, "data-sign": SIGNS[outcome] }, words[outcome]), make("span", {}, plain(S.model(i)))),
      make("p", { class: "facts-line" }, [S.title(S.category(i)), S.level(i), S.language(i), S.id(i) ].filter(Boolean).map(plain).join(" · ")),
      S.reason(i) ? show(make("p", { class: "said", dir: "auto" }), S.reason(i), S.pattern) : "",
      ...block(words.prompt, at === null ? null : S.prompt(i), items.prompt_whole?.[at]),
      ...(S.error(i) ? block(words.error, [S.kind(i), S.error(i)].filter(Boolean).join(": "), rows.error_whole?.[i]) : []),
      ...block(words.response, S.reply(i), rows.text_whole?.[i]),
      ...(S.reasoning(i) ? block(words.reasoning, S.reasoning(i), rows.reasoning_whole?.[i], true) : []),
      ...block(words.expected, at === null ? null : S.answer(i), items.answer_whole?.[at]),
      ...scoresOf(i), ...judgesOf(i), ...facts, ...siblings(i), ...call(i));
    sample.scrollTop = 0;
  }

  // A number in a table leads to its samples.
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a[data-model]");
    if (!link) return;
    event.preventDefault();
    await open();
    if (!S) return;
    for (const [name, one] of Object.entries(controls)) {
      const value = link.dataset[name] ?? "";
      one.value = value;
      if (one.selectedIndex === -1) one.value = "";
    }
    if (!link.dataset.search && controls.outcome) controls.outcome.value = "";
    await apply();
    document.getElementById("samples").scrollIntoView();
    document.getElementById("samples-h").focus({ preventScroll: true });
  });

  browser.hidden = false;
  browser.append(make("p", { class: "faint", role: "status" }, words.loading));
  new IntersectionObserver((entries, observer) => {
    if (entries.some((entry) => entry.isIntersecting)) { observer.disconnect(); open(); }
  }, { rootMargin: "1500px" }).observe(browser);
})();
