// ---- items against models ----
const LINE = 34;
const WORDS = 1500; // of a text: more are not compared word by word, since the work grows with the product
let matrix, matrixRows;

function views() {
  if (S.models.length < 2) return null;
  const box = make("div", { class: "views", role: "group", "aria-label": words.view });
  for (const name of ["list", "matrix"]) box.append(make("button", { type: "button", id: `view-${name}`, "aria-pressed": String(S.view === name), on: { click: async () => { look(name); await apply(); note(true); } } }, words[`view_${name}`]));
  return box;
}

function look(name) {
  S.view = S.models.length > 1 && name === "matrix" ? "matrix" : "list";
  for (const one of ["list", "matrix"]) document.getElementById(`view-${one}`)?.setAttribute("aria-pressed", String(S.view === one));
  if (controls.model) controls.model.disabled = S.view === "matrix";
  if (S.view === "list") { panes.firstElementChild.replaceChildren(grid); return; }
  panes.firstElementChild.replaceChildren(...built());
}

function built() {
  const choice = (side) => make("label", {}, ["A", "B"][side], make("select", { id: `side-${"ab"[side]}`, on: { change: (event) => { S.pair[side] = Number(event.target.value); drawMatrix(); contrast(); note(true); } } }, ...S.models.map((model, at) => make("option", { value: String(at), selected: S.pair[side] === at }, plain(model)))));
  const jump = (by, name) => make("button", { type: "button", on: { click: () => disagree(by) } }, name);
  const head = make("div", { class: "mline head", role: "row", "aria-rowindex": "1" }, make("div", { role: "columnheader" }, words.question), ...S.models.map((model) => make("div", { role: "columnheader", title: plain(model) }, plain(model))));
  matrixRows = make("div", { class: "rows", role: "rowgroup" });
  matrix = make("div", { class: "grid matrix", role: "grid", tabindex: "0", "aria-label": words.matrix }, make("div", { role: "rowgroup", class: "pinned" }, head), matrixRows);
  matrix.style.setProperty("--models", String(S.models.length));
  matrix.addEventListener("scroll", () => requestAnimationFrame(drawMatrix), { passive: true });
  matrix.addEventListener("keydown", matrixKeys);
  return [make("div", { class: "filters sides" }, choice(0), choice(1), jump(-1, words.disagreement_back), jump(1, words.disagreement)), matrix];
}

// The items of the samples that are listed, those that most models get wrong first.
function arrange() {
  if (!S.of) {
    S.of = new Map();
    for (let i = 0; i < S.n; i++) {
      const at = S.d.rows.item[i];
      if (at === null) continue;
      const own = S.of.get(at) ?? S.of.set(at, S.models.map(() => [])).get(at);
      own[S.models.indexOf(S.model(i))].push(i);
    }
  }
  const wrong = (at) => S.of.get(at).flat().filter((i) => !["right", "not_applicable"].includes(S.outcome(i))).length;
  const items = [...new Set(Array.from(S.list, (i) => S.d.rows.item[i]))].filter((at) => at !== null).map((at) => [wrong(at), at]);
  items.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  S.items = items.map((pair) => pair[1]);
  matrix.scrollTop = 0;
  if (!S.items.includes(S.item)) S.item = S.items.length ? S.items[0] : -1;
  return pick(S.item);
}

// Of several repeats the worst one stands for all.
const RANK = ["model_error", "judge_failed", "truncated", "no_answer", "wrong", "partial", "unscored", "not_applicable", "right"];
function standing(at, model) {
  const own = S.of.get(at)[model];
  return own.length ? own.reduce((worst, i) => (RANK.indexOf(S.outcome(i)) < RANK.indexOf(S.outcome(worst)) ? i : worst)) : -1;
}

function differ(at) {
  const [a, b] = S.pair.map((model) => standing(at, model));
  return a >= 0 && b >= 0 && (S.outcome(a) !== S.outcome(b) || S.value(a) !== S.value(b));
}

function drawMatrix() {
  matrixRows.style.height = `${S.items.length * LINE}px`;
  matrix.setAttribute("aria-rowcount", String(S.items.length + 1));
  if (!S.items.length) { matrixRows.replaceChildren(make("p", { class: "faint found" }, words.none)); return; }
  const first = Math.max(0, Math.floor(matrix.scrollTop / LINE) - 4);
  const last = Math.min(S.items.length, Math.ceil((matrix.scrollTop + matrix.clientHeight) / LINE) + 4);
  const painted = [];
  for (let place = first; place < last; place++) {
    const at = S.items[place];
    const asked = cell("items", "asked")(at);
    const cells = S.models.map((_, model) => {
      const i = standing(at, model);
      const paired = S.pair.includes(model) ? " paired" : "";
      return i < 0 ? make("span", { role: "gridcell", class: `faint${paired}` }, "–") : make("span", { role: "gridcell", class: `state ${S.outcome(i)}${paired}`, "data-sign": SIGNS[S.outcome(i)], title: words[S.outcome(i)] }, shares(S.value(i)));
    });
    const line = make("div", { class: `mline row${differ(at) ? " differs" : ""}`, role: "row", id: `m-${at}`, "aria-rowindex": String(place + 2), "aria-selected": String(at === S.item), on: { click: () => { pick(at); note(true); } } }, make("span", { role: "gridcell", class: "asked" }, plain(asked || S.d.items.id[at])), ...cells);
    line.style.top = `${place * LINE}px`;
    painted.push(line);
  }
  matrixRows.replaceChildren(...painted);
  const shown = S.items.slice(first, last);
  if (shown.some((at) => !chunkOf("items", at))) arrive(() => ready([], shown), drawMatrix);
  if (document.getElementById(`m-${S.item}`)) matrix.setAttribute("aria-activedescendant", `m-${S.item}`);
  else matrix.removeAttribute("aria-activedescendant");
}

function pick(at) {
  S.item = at;
  const place = S.items.indexOf(at);
  const head = matrix.firstElementChild.offsetHeight;
  if (place >= 0) {
    const top = place * LINE;
    if (top < matrix.scrollTop) matrix.scrollTop = top;
    else if (top + LINE + head > matrix.scrollTop + matrix.clientHeight) matrix.scrollTop = top + LINE + head - matrix.clientHeight;
  }
  drawMatrix();
  return contrast();
}

function disagree(by) {
  const n = S.items.length;
  const from = S.items.indexOf(S.item);
  for (let step = 1; step <= n; step++) {
    const at = S.items[(from + by * step + n * step) % n];
    if (differ(at)) { pick(at); note(false); return; }
  }
}

function matrixKeys(event) {
  const at = S.items.indexOf(S.item);
  const page = Math.max(1, Math.floor(matrix.clientHeight / LINE) - 1);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: S.items.length - 1 }[event.key];
  if (to !== undefined && S.items.length) {
    event.preventDefault();
    pick(S.items[Math.min(S.items.length - 1, Math.max(0, to))]);
    note(false);
  } else if (event.key === "n" || event.key === "p") disagree(event.key === "n" ? 1 : -1);
  else if (event.key === "Enter") { event.preventDefault(); sample.focus(); }
}

// Which words of two texts the other does not have there: the longest common subsequence, the equal ends set aside.
function compared(one, other) {
  const sides = [one, other].map((text) => text.match(/\s*\S+|\s+$/g) ?? []);
  const [a, b] = sides;
  let start = 0;
  while (start < a.length && start < b.length && a[start].trim() === b[start].trim()) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end].trim() === b[b.length - 1 - end].trim()) end++;
  const kept = sides.map((list) => list.map((_, at) => at < start || at >= list.length - end));
  const [x, y] = sides.map((list) => list.slice(start, list.length - end).map((word) => word.trim()));
  if (x.length <= WORDS && y.length <= WORDS) {
    const width = y.length + 1;
    const best = new Uint16Array((x.length + 1) * width);
    for (let i = x.length - 1; i >= 0; i--) for (let j = y.length - 1; j >= 0; j--) best[i * width + j] = x[i] === y[j] ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    for (let i = 0, j = 0; i < x.length && j < y.length;) {
      if (x[i] === y[j]) { kept[0][start + i++] = true; kept[1][start + j++] = true; } else if (best[(i + 1) * width + j] >= best[i * width + j + 1]) i++;
      else j++;
    }
  }
  return sides.map((list, side) => list.map((word, at) => [word, kept[side][at]]));
}

async function contrast() {
  if (S.item < 0) { sample.replaceChildren(make("p", { class: "faint" }, words.none)); return; }
  const at = S.item;
  const shown = S.pair.map((model) => standing(at, model));
  const wait = ready(shown.filter((i) => i >= 0), [at]);
  if (wait && !await unpacked(wait, () => S.view === "matrix" && S.item === at && S.pair.every((model, side) => standing(at, model) === shown[side]))) return;
  const texts = shown.map((i) => (i < 0 ? "" : S.reply(i) ?? S.error(i) ?? ""));
  const marked = compared(...texts);
  const sides = shown.map((i, side) => {
    const box = make("div", {}, make("h4", {}, `${["A", "B"][side]}: ${plain(S.models[S.pair[side]])}`));
    if (i < 0) return box;
    const body = make("pre", { tabindex: "0", dir: "auto", "aria-label": plain(S.model(i)) });
    for (const [word, same] of marked[side]) same ? show(body, word) : body.append(show(make("mark"), word));
    const facts = make("p", { class: "facts-line" }, make("span", { class: `state ${S.outcome(i)}`, "data-sign": SIGNS[S.outcome(i)] }, words[S.outcome(i)]), ` ${shares(S.value(i))} `);
    const open_ = button(words.open_sample, async () => { look("list"); for (const one of Object.values(controls)) one.value = ""; S.chosen = i; await apply(); note(true); sample.focus(); });
    box.append(facts, S.reason(i) ? show(make("p", { class: "said", dir: "auto" }), S.reason(i)) : "", body, make("p", { class: "titled" }, open_, ...copies(plain(S.model(i)), texts[side])), make("details", {}, make("summary", {}, words.scores), ...scoresOf(i).slice(1)), ...judgesOf(i));
    return box;
  });
  sample.setAttribute("aria-label", words.view_matrix);
  sample.replaceChildren(
    make("div", { class: "steps" }, button(words.copy_link, (event) => copy(linkTo(matrixParts()), event.currentTarget))),
    make("h3", {}, differ(at) ? words.they_differ : words.they_agree),
    make("p", { class: "facts-line" }, plain(S.d.items.id[at])),
    ...block(words.prompt, cell("items", "prompt")(at), whole("items", "prompt", at), true),
    ...block(words.expected, cell("items", "answer")(at), whole("items", "answer", at)),
    make("div", { class: "contrast" }, ...sides));
  sample.scrollTop = 0;
}
