// ---- one sample ----
function block(title, text, whole, folded, marks) {
  if (text === null || text === undefined) return [];
  const body = (marks ? marked(title, text, marks) : turns(title, text)) ?? show(make("pre", { tabindex: "0", dir: "auto", "aria-label": title }), text, S.pattern);
  if (!text) body.append(make("span", { class: "faint" }, `(${words.empty})`));
  const rest = whole ? make("p", { class: "facts-line" }, fill(words.cut, { k: number(text.length), n: number(whole) })) : null;
  if (folded) return [make("details", {}, make("summary", {}, title), body, rest)];
  return [make("div", { class: "titled" }, make("h4", {}, title), ...copies(title, text)), body, rest].filter(Boolean);
}

// A reply whose sentences without support are marked; what they claim is said on the mark, and below for readers of text.
function marked(title, text, marks) {
  const body = make("pre", { tabindex: "0", dir: "auto", "aria-label": title });
  let end = 0;
  for (const [start, stop, claims] of marks.spans) {
    if (start < end || stop > text.length) continue;
    show(body, text.slice(end, start), S.pattern);
    body.append(show(make("mark", { class: "unsupported", title: plain(claims.join("\n")) }), text.slice(start, stop), S.pattern));
    end = stop;
  }
  return show(body, text.slice(end), S.pattern);
}

// What nothing supports: the claims, first those that stand in the marked sentences.
function unsupported(marks) {
  if (!marks) return [];
  const list = (name, claims) => (claims.length ? [make("p", { class: "facts-line" }, name), make("ul", { class: "said" }, ...claims.map((claim) => show(make("li", { dir: "auto" }), claim, S.pattern)))] : []);
  return [make("details", { open: marks.elsewhere.length > 0 }, make("summary", {}, words.unsupported_claims),
    ...list(words.claims_marked, [...new Set(marks.spans.flatMap((one) => one[2]))]), ...list(words.claims_elsewhere, marks.elsewhere))];
}

function marksOf(i) {
  const marks = S.marks(i) ? parsed(S.marks(i)) : null;
  return marks && Array.isArray(marks.spans) ? marks : null;
}

// A conversation as turns, each with its role; what a turn calls is folded. Null if the text is none.
function turns(title, text) {
  const found = text.split(/(?:^|\n\n)(?=(?:system|developer|user|assistant|tool|function): )/).filter(Boolean);
  if (found.length < 2 && !/^(?:system|assistant|tool): /.test(text)) return null;
  if (!/^(?:system|developer|user|assistant|tool|function): /.test(found[0] ?? "")) return null;
  return make("div", { class: "turns", tabindex: "0", role: "group", "aria-label": title }, ...found.map((one) => {
    const role = one.slice(0, one.indexOf(": "));
    const lines = one.slice(role.length + 2).split("\n");
    const calls = [];
    while (role === "assistant" && /^[\w.:-]+\(.*\)$/.test(lines.at(-1) ?? "")) calls.unshift(lines.pop());
    const said = lines.join("\n");
    return make("div", { class: `turn ${role}` }, make("span", { class: "faint" }, role),
      said ? show(make("pre", { dir: "auto" }), said, S.pattern) : "",
      calls.length ? make("details", {}, make("summary", {}, calls.map((call) => call.slice(0, call.indexOf("("))).join(", ")), show(make("pre", { dir: "auto" }), calls.join("\n"), S.pattern)) : "");
  }));
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
      return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": words.table }, table);
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

// The first wrong step, marked: its line, and what the reference has beside it.
function firstError(found) {
  const one = found?.first_error;
  if (!one || typeof one !== "object" || !one.said) return [];
  const said = one.said[document.documentElement.lang] ?? one.said.en;
  return [make("p", { class: "first-error", dir: "auto" }, ...(one.line ? [make("mark", {}, plain(one.line)), make("br")] : []), plain(String(said)))];
}

// The reasons in what a judge said, wherever they stand (`reason`, `support_reason`), each with what it is about.
function reasonsIn(value, where = "") {
  if (!value || typeof value !== "object") return [];
  if (Array.isArray(value)) return value.flatMap((one) => reasonsIn(one, typeof one?.claim === "string" ? one.claim : where));
  return Object.entries(value).flatMap(([name, one]) => {
    if (!/(^|_)reason$/.test(name)) return reasonsIn(one, name);
    if (typeof one !== "string" || !one) return [];
    const of = name.replace(/_?reason$/, "");
    const beside = of ? [of, value[of]] : Object.values(value).filter((other) => other !== one && ["string", "number"].includes(typeof other));
    return [[[where, ...beside].filter((other) => other !== undefined && other !== "").join(" · "), one]];
  });
}

function details(metric, place) {
  const text = metric.details?.[place];
  if (!text) return [];
  const found = parsed(text);
  const name = make("summary", {}, fill(words.details, { metric: plain(S.scoreTitle(metric.name)) }));
  const box = make("details", {}, name);
  if (found && typeof found === "object" && found.judges && typeof found.judges === "object") {
    box.open = !metric.name.includes(".");
    for (const [judge, own] of Object.entries(found.judges)) {
      const { value, status, ...said } = own ?? {};
      box.append(make("h4", {}, fill(words.judge_of, { judge: plain(judge) }), ` · ${shares(value)} · ${plain(words[status] ?? String(status ?? ""))}`));
      const why = found.left_out?.[judge];
      if (why) box.append(make("p", { class: "said" }, fill(words.not_counted, { why: plain(String(why)) })));
      for (const [what, reason] of reasonsIn(said)) box.append(make("p", { class: "said", dir: "auto" }, what ? make("b", {}, plain(`${what}: `)) : "", show(make("span"), reason, S.pattern)));
    }
    box.append(make("details", {}, make("summary", {}, words.counted), tree(found)));
    return [box];
  }
  box.append(tree(found));
  return [...firstError(found), box];
}

function scoresOf(i) {
  const body = make("tbody");
  const more = [];
  const at = offset("rows", i);
  for (const metric of chunkOf("rows", i).metrics) {
    const place = metric.at.get(at);
    if (place === undefined) continue;
    const status = metric.status.of[metric.status.at[place]];
    const reason = metric.reason.of[metric.reason.at[place]];
    body.append(make("tr", {}, make("th", { scope: "row" }, plain(S.scoreTitle(metric.name))), make("td", { class: "num" }, metric.value[place] === null ? "–" : decimal(metric.value[place], { maximumFractionDigits: 4 })), make("td", {}, words[status] ?? status), show(make("td", { dir: "auto" }), reason, S.pattern)));
    more.push(...details(metric, place));
  }
  if (!body.rows.length) return [];
  const head = make("thead", {}, make("tr", {}, ...[words.metric, words.score, words.status, words.reason].map((name, at) => make("th", { scope: "col", class: at === 1 ? "num" : "" }, name))));
  return [make("h4", {}, words.scores), make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": words.scores }, make("table", {}, head, body)), ...more];
}

function judgesOf(i) {
  const { places: of, judged: j } = chunkOf("rows", i);
  const places = of.get(offset("rows", i));
  if (!places) return [];
  const box = make("details", {}, make("summary", {}, `${words.judge_replies} (${places.length})`));
  for (const place of places) {
    const name = [j.judge.of[j.judge.at[place]], j.step.of[j.step.at[place]], j.key.of[j.key.at[place]]].filter(Boolean).join(" · ");
    const text = j.text?.[place] ?? j.error?.[place] ?? "";
    const said = parsed(text);
    if (said && typeof said === "object" && !j.text_whole?.[place]) box.append(make("div", { class: "titled" }, make("h4", {}, plain(name)), ...copies(plain(name), text)), tree(said));
    else box.append(...block(plain(name), text, j.text_whole?.[place]));
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
  const buttons = same.map((other) => make("button", { type: "button", on: { click: () => { if (!S.list.includes(other)) { for (const one of Object.values(controls)) one.value = ""; S.chosen = other; change(true); } else { choose(other, false); note(true); } } } },
    make("span", { class: `state ${S.outcome(other)}`, "data-sign": SIGNS[S.outcome(other)] }, plain(S.model(other)), repeats ? ` #${S.d.rows.repeat[other]}` : ""), ` ${words[S.outcome(other)]}`));
  return [make("h4", {}, words.others), make("div", { class: "chips" }, ...buttons)];
}

function call(i) {
  const [cached, tokensIn, tokensOut, request] = [...["cached", "tokens_in", "tokens_out"].map((name) => cell("rows", name)(i)), requestId(i)];
  const facts = [];
  if (cached !== null) facts.push(cached ? (S.latency(i) === null ? words.given : words.cached) : words.fresh);
  if (S.latency(i) !== null) facts.push(fill(words.latency, { n: decimal(S.latency(i), exactly(3)) }));
  if (tokensIn !== null || tokensOut !== null) facts.push(`${words.tokens} ${tokensIn ?? "–"} → ${tokensOut ?? "–"}`);
  if (S.finish(i)) facts.push(`${words.finish} ${plain(S.finish(i))}`);
  facts.push(`${words.repeat} ${S.d.rows.repeat[i]}`);
  if (S.template(i)) facts.push(`${words.template} ${plain(S.template(i))}`);
  if (request) facts.push(`${words.request} ${plain(request.slice(0, 16))}`);
  return [make("h4", {}, words.call), make("p", { class: "facts-line" }, facts.join(" · "))];
}

// What the sample stands on is unpacked first; no more is shown of one that is not chosen any more by then.
async function unpacked(wait, still) {
  if (!wait) return true;
  sample.replaceChildren(make("p", { class: "faint" }, words.loading));
  try {
    await wait;
  } catch (problem) {
    if (still()) sample.replaceChildren(trouble(problem));
    return false;
  }
  return still();
}

const whole = (kind, name, i) => (i === null ? null : cell(kind, `${name}_whole`)(i));

// What a reply was given to stand on, beside what is claimed.
function contextsOf(facts) {
  const listed = facts?.retrieved_contexts ?? facts?.contexts;
  const texts = (Array.isArray(listed) ? listed : [listed]).map((one) => (typeof one === "string" ? one : one?.text)).filter((one) => typeof one === "string" && one.trim());
  return texts.flatMap((text, at) => block(`${words.context} ${number(at + 1)}`, text, 0));
}

async function describe(i) {
  if (i < 0) { sample.replaceChildren(make("p", { class: "faint" }, words.none)); return; }
  const at = S.d.rows.item[i];
  const wait = ready([i], [at]);
  if (wait && !await unpacked(wait, () => S.view === "list" && S.chosen === i)) return;
  const place = S.list.indexOf(i);
  const outcome = S.outcome(i);
  const step = (by, name) => make("button", { type: "button", disabled: place + by < 0 || place + by >= S.list.length, on: { click: () => { choose(S.list[place + by], true); note(false); } } }, name);
  const facts = at === null || !S.facts(i) || S.facts(i) === "{}" ? [] : [make("details", {}, make("summary", {}, words.facts), tree(parsed(S.facts(i))))];
  sample.setAttribute("aria-label", `${plain(S.model(i))}, ${plain(S.title(S.category(i)))}, ${words[outcome]}`);
  sample.replaceChildren(
    make("div", { class: "steps" }, button(words.copy_link, (event) => copy(linkTo({ ...sampleParts(i) }), event.currentTarget)), step(-1, words.previous), step(1, words.next)),
    make("h3", {}, ...outcomeLines(i).map((line) => mark(line[1], markTitle(line))), make("span", {}, plain(S.model(i)))),
    make("p", { class: "facts-line" }, [S.number(i) === null ? "" : `${words.number} ${S.number(i)}`, S.title(S.category(i)), S.level(i), S.language(i), S.id(i)].filter(Boolean).map(plain).join(" · ")),
    reasonOf(i) ? show(make("p", { class: "said", dir: "auto" }), reasonOf(i), S.pattern) : "",
    make("div", { class: "contrast" },
      make("div", {}, ...block(words.prompt, at === null ? null : S.prompt(i), whole("items", "prompt", at))),
      make("div", {},
        ...(S.error(i) ? block(words.error, [S.kind(i), S.error(i)].filter(Boolean).join(": "), whole("rows", "error", i)) : []),
        ...block(words.response, S.reply(i), whole("rows", "text", i), false, marksOf(i)),
        ...unsupported(marksOf(i)),
        ...(S.reasoning(i) ? block(words.reasoning, S.reasoning(i), whole("rows", "reasoning", i), true) : []),
        ...block(words.expected, at === null ? null : S.answer(i), whole("items", "answer", at)),
        ...(at === null ? [] : contextsOf(parsed(S.facts(i) || "{}"))))),
    ...scoresOf(i), ...judgesOf(i), ...facts, ...siblings(i), ...call(i));
  sample.scrollTop = 0;
}
