// What all parts of the page's script share. The parts are joined into one strict function (tasks/report/html.py).
const words = JSON.parse(document.getElementById("words").textContent);
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
const number = (n) => n.toLocaleString(document.documentElement.lang);
const decimal = (n, places) => n.toLocaleString(document.documentElement.lang, { useGrouping: false, ...places });
const exactly = (places) => ({ minimumFractionDigits: places, maximumFractionDigits: places });

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
  if (given !== "" && !Number.isNaN(Number(given))) return Number(given);
  const [first] = given.replaceAll("\u2212", "-").match(/^[+-]?\d[\d\u202f]*([.,]\d+)?/) ?? [];
  return first === undefined ? given : Number(first.replaceAll("\u202f", "").replace(",", "."));
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

// ---- what is folded: opened by what leads there, and for paper ----
const folded = () => [...document.querySelectorAll("details.fold")];
function unfold() {
  let there = null;
  try { there = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { /* no address of ours */ }
  const fold = there?.querySelector(":scope > details.fold");
  if (!fold || fold.open) return;
  fold.open = true;
  there.scrollIntoView();
}
addEventListener("hashchange", unfold);
document.querySelector(".side").addEventListener("click", (event) => { if (event.target.closest("a")?.hash === location.hash) unfold(); });
unfold();
let printed = [];
addEventListener("beforeprint", () => { printed = folded().filter((one) => !one.open); for (const one of printed) one.open = true; });
addEventListener("afterprint", () => { for (const one of printed) one.open = false; });

// ---- what goes on to the right says so, until its end is reached ----
const edge = (box) => box.classList.toggle("on", box.scrollWidth - box.clientWidth - Math.abs(box.scrollLeft) > 4);
const edges = new ResizeObserver((entries) => { for (const entry of entries) edge(entry.target); });
for (const box of document.querySelectorAll(".scroll, .side ul")) {
  edges.observe(box);
  box.addEventListener("scroll", () => edge(box), { passive: true });
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
