// ---- labels: what people say of judged replies, one after another, saved as the sheet that `label` reads ----
const desk = document.getElementById("desk");
if (desk) {
  const said = new Map();
  const place = `labels ${document.title}`;
  let is_kept = true;
  // A file may have no storage, and a page under `view` has none.
  const remember = () => { try { localStorage.setItem(place, JSON.stringify([...said])); } catch { is_kept = false; } };
  try { for (const [reply, value] of JSON.parse(localStorage.getItem(place) ?? "[]")) said.set(reply, value); } catch { is_kept = false; }
  // Labels are of replies, not of rows: a run that is resumed draws others under its name.
  const of = (row) => JSON.stringify([row.suite, row.model, row.metric, row.item_id, row.repeat]);

  const build_desk = (sheet) => {
    const rows = sheet.rows;
    let at = Math.max(0, rows.findIndex((row) => !said.has(of(row))));
    const status = make("p", { class: "status", role: "status" });
    const card = make("div", { class: "card" });
    const go = (to) => { at = Math.min(rows.length - 1, Math.max(0, to)); draw(); };
    const say = (value) => { said.set(of(rows[at]), value); remember(); go(at + 1); };
    const clear = () => { said.delete(of(rows[at])); remember(); draw(); };
    const number_box = make("input", { type: "number", min: "0", max: "1", step: "0.05", "aria-label": words.label_number, id: "label-number" });
    const told = () => { const value = number_box.valueAsNumber; if (value >= 0 && value <= 1) say(String(value)); };
    number_box.addEventListener("keydown", (event) => { if (event.key === "Enter") { told(); box.focus(); } event.stopPropagation(); });
    const csv = () => `\ufeff${sheet.head}${rows.map((row) => `${row.csv},${said.get(of(row)) ?? sheet.empty}\n`).join("")}`;
    const keep = () => save("labels.csv", [csv()], "text/csv");
    const keys = { y: () => say("1"), 1: () => say("1"), n: () => say("0"), 0: () => say("0"), h: () => say("0.5"), ArrowRight: () => go(at + 1), ArrowLeft: () => go(at - 1), u: () => go(at + 1), Backspace: clear, Delete: clear, s: keep };
    const button = (name, key, run) => make("button", { type: "button", "aria-keyshortcuts": key, on: { click: run } }, name, " ", make("kbd", {}, key));
    const box = make(
      "div", { class: "desk", tabindex: "0", role: "group", "aria-label": words.label_keys }, status, card,
      make("div", { class: "chips" }, button(words.yes, "y", keys.y), button(words.label_half, "h", keys.h), button(words.no, "n", keys.n), number_box, button(words.label_unsure, "u", keys.u), button(words.label_clear, "Backspace", clear), button(words.previous, "←", keys.ArrowLeft), button(words.next, "→", keys.ArrowRight), button(words.label_save, "s", keep)),
    );
    box.addEventListener("keydown", (event) => {
      const run = keys[event.key];
      if (!run || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      run();
    });
    const part = (title, text) => (text ? [make("h4", {}, title), show(make("pre", { tabindex: "0" }), text)] : []);
    // How wide the interval of this model's mean is by now, and how many more labels halve it: it narrows with the
    // root of their number. Where the judge says much of what people say, its difference from them is what counts.
    const narrower = (row) => {
      const own = rows.map((other) => [other, said.get(of(other))]).filter(([other, value]) => value !== undefined && ["suite", "model", "metric"].every((name) => other[name] === row[name]));
      if (own.length < 10) return fill(words.label_few, { n: 10 - own.length });
      const spread = (values) => { const mean = values.reduce((sum, one) => sum + one, 0) / values.length; return Math.sqrt(values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (values.length - 1)); };
      const least = Math.max(0.05, Math.min(spread(own.map((pair) => Number(pair[1]))), spread(own.map(([other, value]) => Number(value) - other.value))));
      const around = (196 * least) / Math.sqrt(own.length);
      return fill(words.label_width, { n: number(own.length), now: number(Math.round(around)), more: number(3 * own.length), then: number(Math.round(around / 2)) });
    };
    function draw() {
      const row = rows[at];
      const own = said.get(of(row));
      status.textContent = fill(words.label_status, { at: number(at + 1), n: number(rows.length), done: number(rows.filter((one) => said.has(of(one))).length), label: own ?? "–" });
      card.replaceChildren(
        show(make("p", { class: "sub" }), `${row.suite} · ${row.model} · ${row.metric}`),
        show(make("p", { class: "criterion", dir: "auto" }), row.criterion),
        make("div", {}, ...part(words.question, row.prompt), ...part(words.expected, row.reference)), make("div", {}, ...part(words.response, row.response ?? words.empty)),
        make("p", { class: "sub" }, narrower(row)),
      );
      number_box.value = own ?? "";
      desk.dataset.at = String(at);
    }
    desk.replaceChildren(...(is_kept ? [] : [show(make("p", { class: "unkept" }), words.label_unkept)]), box);
    draw();
    box.focus({ preventScroll: true });
    box.scrollIntoView();
  };

  const start = make("button", { type: "button", on: { click: () => unpack(document.getElementById("sheet")).then(build_desk) } }, words.label_start);
  desk.hidden = false;
  desk.append(start);
}
