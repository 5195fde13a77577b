// ---- questions against what is under test, with the texts ----
const LINE = 108;
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
  browser.querySelector(".columns").hidden = S.view === "matrix";
  panes.firstElementChild.replaceChildren(...(S.view === "list" ? [grid] : built()));
}

// A head has all that tells one from another: the model, the prompt and its text, the scores.
function headOfTarget(name) {
  const { model, prompt, texts, scores } = S.d.targets.find((one) => one.name === name) ?? { model: name, prompt: "", texts: {}, scores: {} };
  const suite = controls.category?.value.split("/")[0];
  const shown = Object.entries(scores).filter(([one]) => !suite || one === suite);
  const text = Object.entries(texts).filter(([one]) => !suite || one === suite).map((pair) => pair[1])[0];
  return make("div", { role: "columnheader" }, make("b", {}, plain(prompt || model)), prompt ? make("span", { class: "sub" }, plain(model)) : "",
    make("span", { class: "sub" }, shown.map(([one, score]) => (shown.length > 1 ? `${plain(S.title(one))} ${score}` : score)).join(" · ")),
    prompt && text ? make("span", { class: "sub asks", title: plain(text) }, plain(text)) : "");
}

function built() {
  const side = (at) => make("label", {}, ["A", "B"][at], make("select", { id: `side-${"ab"[at]}`, on: { change: (event) => { S.pair[at] = Number(event.target.value); drawMatrix(); contrast(); note(true); } } }, ...S.models.map((model, own) => make("option", { value: String(own), selected: S.pair[at] === own }, plain(model)))));
  const jump = (by, name) => make("button", { type: "button", on: { click: () => disagree(by) } }, name);
  const head = make("div", { class: "mline head", role: "row", "aria-rowindex": "1" }, make("div", { role: "columnheader" }, words.question), ...S.models.map(headOfTarget));
  matrixRows = make("div", { class: "rows", role: "rowgroup" });
  matrix = make("div", { class: "grid matrix", role: "grid", tabindex: "0", "aria-label": words.matrix }, make("div", { role: "rowgroup", class: "pinned" }, head), matrixRows);
  matrix.style.setProperty("--models", String(S.models.length));
  matrix.addEventListener("scroll", () => requestAnimationFrame(() => drawMatrix()), { passive: true });
  matrix.addEventListener("keydown", matrixKeys);
  return [make("div", { class: "filters sides" }, side(0), side(1), jump(-1, words.disagreement_back), jump(1, words.disagreement)), matrix];
}

// The samples of each question, by what is under test.
function together() {
  if (S.of) return S.of;
  S.of = new Map();
  const place = new Map(S.models.map((model, at) => [model, at]));
  for (let i = 0; i < S.n; i++) {
    const at = S.d.rows.item[i];
    if (at === null) continue;
    const own = S.of.get(at) ?? S.of.set(at, S.models.map(() => [])).get(at);
    own[place.get(S.model(i))].push(i);
  }
  return S.of;
}

// The questions of the samples that are listed, those that most get wrong first.
function arrange() {
  const of = together();
  const wrong = (at) => of.get(at).flat().filter(failed).length;
  const items = [...new Set(Array.from(S.list, (i) => S.d.rows.item[i]))].filter((at) => at !== null).map((at) => [wrong(at), at]);
  items.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  S.items = items.map((pair) => pair[1]);
  S.open = { at: -1, more: 0 };
  matrix.scrollTop = 0;
  if (!S.items.includes(S.item)) S.item = S.items.length ? S.items[0] : -1;
  return pick(S.item);
}

// Of several repeats the worst one stands for all.
const RANK = ["model_error", "filtered", "judge_failed", "truncated", "unsupported", "no_answer", "wrong", "partial", "unscored", "not_applicable", "right"];
function standing(at, model) {
  const own = together().get(at)[model];
  return own.length ? own.reduce((worst, i) => (RANK.indexOf(S.outcome(i)) < RANK.indexOf(S.outcome(worst)) ? i : worst)) : -1;
}

// Two replies of which each fails another metric have the same lowest score.
const unlike = (a, b) => a >= 0 && b >= 0 && (S.outcomes(a) !== S.outcomes(b) || S.outcome(a) !== S.outcome(b) || S.value(a) !== S.value(b));
const differ = (at) => unlike(...S.pair.map((model) => standing(at, model)));

// Whether any two of those under test differ on a question.
function apart(at) {
  if (at === null) return false;
  const [first, ...others] = S.models.map((_, model) => standing(at, model)).filter((i) => i >= 0);
  return others.some((i) => unlike(first, i));
}

const topOf = (place) => place * LINE + (S.open.at >= 0 && place > S.items.indexOf(S.open.at) ? S.open.more : 0);

function placesInView() {
  const open = S.open.at < 0 ? Infinity : S.items.indexOf(S.open.at);
  const of = (top) => (top > (open + 1) * LINE ? Math.max(open + 1, Math.floor((top - S.open.more) / LINE)) : Math.floor(top / LINE));
  return [Math.max(0, of(matrix.scrollTop)), Math.min(S.items.length, of(matrix.scrollTop + matrix.clientHeight) + 1)];
}

// The outcome of a sample; of several metrics that decide, each with its own.
function outcomesOf(i) {
  if (!S.outcomes(i)) return make("span", { class: "outcomes" }, mark(S.outcome(i), `${words[S.outcome(i)]} ${shares(S.value(i))}`));
  return make("span", { class: "outcomes" }, ...linesOf(i).map((line) => mark(line[1], markTitle(line))));
}

function gridCell(at, model) {
  const i = standing(at, model);
  if (i < 0) return make("div", { role: "gridcell", class: "faint" }, "–");
  const text = (S.reply(i) ?? S.error(i) ?? "").slice(0, 4000);
  return make("div", { role: "gridcell", class: S.pair.includes(model) ? "paired" : "" }, outcomesOf(i), make("span", { class: "said", dir: "auto" }, plain(text)));
}

// `again`: what is drawn once more as its texts are there asks for no more of them.
function drawMatrix(again = false) {
  matrixRows.style.height = `${topOf(S.items.length)}px`;
  matrix.setAttribute("aria-rowcount", String(S.items.length + 1));
  if (!S.items.length) { matrixRows.replaceChildren(make("p", { class: "faint found" }, words.none)); return; }
  const [first, last] = placesInView();
  const shown = S.items.slice(first, last);
  matrixRows.replaceChildren(...shown.map((at, k) => {
    const asked = beginning(at);
    const open = at === S.open.at;
    const question = make("div", { role: "gridcell", class: "asked" }, make("span", { class: "faint" }, `${S.d.items.number[at]} `), make("span", { class: "said", dir: "auto" }, plain(asked || S.d.items.id[at])));
    const line = make("div", { class: `mline row${apart(at) ? " differs" : ""}${open ? " open" : ""}`, role: "row", id: `m-${at}`, "aria-rowindex": String(first + k + 2), "aria-selected": String(at === S.item), on: { click: () => { unfoldRow(at); note(true); } } }, question, ...S.models.map((_, model) => gridCell(at, model)));
    line.style.top = `${topOf(first + k)}px`;
    return line;
  }));
  const open = matrixRows.querySelector(".open");
  const more = open ? Math.max(0, open.offsetHeight - LINE) : S.open.more;
  if (more !== S.open.more) { S.open.more = more; drawMatrix(again); return; }
  const samples = shown.flatMap((at) => S.models.map((_, model) => standing(at, model))).filter((i) => i >= 0);
  if (!again && (shown.some((at) => !chunkOf("items", at)) || samples.some((i) => !chunkOf("rows", i)))) arrive(() => ready(samples, shown), () => drawMatrix(true));
  if (document.getElementById(`m-${S.item}`)) matrix.setAttribute("aria-activedescendant", `m-${S.item}`);
  else matrix.removeAttribute("aria-activedescendant");
}

function unfoldRow(at) {
  S.open = { at: S.open.at === at ? -1 : at, more: 0 };
  return pick(at);
}

function pick(at) {
  S.item = at;
  const place = S.items.indexOf(at);
  const head = matrix.firstElementChild.offsetHeight;
  drawMatrix();
  if (place >= 0) {
    const [top, end] = [topOf(place), Math.min(topOf(place + 1), topOf(place) + matrix.clientHeight - head)];
    if (top < matrix.scrollTop) matrix.scrollTop = top;
    else if (end + head > matrix.scrollTop + matrix.clientHeight) matrix.scrollTop = end + head - matrix.clientHeight;
    drawMatrix();
  }
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
  } else if (event.key === " ") { event.preventDefault(); unfoldRow(S.item); }
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
    const facts = make("p", { class: "facts-line" }, outcomesOf(i));
    const open_ = button(words.open_sample, async () => { look("list"); for (const one of Object.values(controls)) one.value = ""; S.chosen = i; await apply(); note(true); sample.focus(); });
    box.append(facts, S.reason(i) ? show(make("p", { class: "said", dir: "auto" }), S.reason(i)) : "", body, make("p", { class: "titled" }, open_, ...copies(plain(S.model(i)), texts[side])), make("details", {}, make("summary", {}, words.scores), ...scoresOf(i).slice(1)), ...judgesOf(i));
    return box;
  });
  sample.setAttribute("aria-label", words.view_matrix);
  sample.replaceChildren(
    make("div", { class: "steps" }, button(words.copy_link, (event) => copy(linkTo(matrixParts()), event.currentTarget))),
    make("h3", {}, differ(at) ? words.they_differ : words.they_agree),
    make("p", { class: "facts-line" }, plain(S.d.items.id[at])),
    ...(S.pair.every((model) => promptOf(S.models[model]) === promptOf(S.models[S.pair[0]])) ? block(words.prompt, S.prompt(shown.find((i) => i >= 0) ?? 0), whole("items", "prompt", at), true) : shown.filter((i) => i >= 0).flatMap((i) => block(`${words.prompt}: ${plain(S.model(i))}`, S.prompt(i), null, true))),
    ...block(words.expected, cell("items", "answer")(at), whole("items", "answer", at)),
    make("div", { class: "contrast" }, ...sides));
  sample.scrollTop = 0;
}
