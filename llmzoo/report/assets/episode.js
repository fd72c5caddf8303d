// One episode as it is shown. Everything that a model or an environment wrote goes in as text, never
// as HTML.

const LONG = 900; // characters of a text that is folded
const GLYPHS = { goal: "◎", player: "●", player_on_goal: "●", wall: "", floor: "", box: "", box_on_goal: "", empty: "" };

function element(tag, given = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function decimals(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value); // not finite: its name
  const size = Math.abs(value);
  const digits = size >= 100 ? 1 : size < 0.1 ? 3 : 2;
  const text = Number.isInteger(value) ? String(size) : size < 0.0005 || size >= 1e6 ? size.toPrecision(2) : size.toFixed(digits);
  return value < 0 ? `−${text}` : text;
}

function share(value) {
  return typeof value === "number" ? `${Math.round(value * 100)}%` : "–";
}

function outcome(success) {
  return success >= 1 ? "all" : success > 0 ? "some" : "no";
}

// the text with what is searched for marked
function marked(text, wanted) {
  const words = wanted.trim().split(/\s+/).filter(Boolean);
  if (!words.length) return [text];
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const parts = text.split(new RegExp(`(${escaped.join("\\s+")})`, "gi"));
  return parts.map((part, n) => (n % 2 ? element("mark", {}, part) : part)).filter((part) => part !== "");
}

function board(drawn) {
  const { rows, block } = drawn;
  const grid = element("span", {
    class: rows.length > 9 ? "board small" : "board",
    role: "img",
    "aria-label": `board: ${rows.map((row) => row.map(([symbol]) => symbol).join("")).join(", ")}`,
  });
  grid.style.gridTemplateColumns = `repeat(${rows[0].length}, auto)`;
  rows.forEach((row, y) =>
    row.forEach(([symbol, kind], x) => {
      const edges = block ? `${(x + 1) % block || x + 1 === row.length ? "" : " right"}${(y + 1) % block || y + 1 === rows.length ? "" : " below"}` : "";
      const shown = GLYPHS[kind] ?? symbol;
      grid.append(element("span", { class: `${kind === "wrong" ? "wrong-cell" : kind}${edges}` }, shown));
    }),
  );
  return grid;
}

// a text in a box; a long one is folded
function words(text, wanted) {
  const said = element("div", { class: "said" }, ...marked(text, wanted));
  const length = text.length;
  if (length <= LONG) return [said];
  said.classList.add("clipped");
  const unfold = element("button", { type: "button", class: "unfold", "aria-expanded": "false" }, `Show all ${length.toLocaleString("en")} characters`);
  unfold.addEventListener("click", () => {
    const folded = said.classList.toggle("clipped");
    unfold.setAttribute("aria-expanded", String(!folded));
    unfold.textContent = folded ? `Show all ${length.toLocaleString("en")} characters` : "Show less";
  });
  if (wanted && plain(text).includes(plain(wanted))) unfold.click();
  return [said, unfold];
}

function advantage(value, widest) {
  const meter = element("span", { class: "meter", "aria-hidden": "true" });
  if (typeof value === "number" && widest > 0) {
    const bar = element("i", { class: value < 0 ? "minus" : "plus" });
    const width = (50 * Math.abs(value)) / widest;
    bar.style.width = `${width}%`;
    bar.style.left = value < 0 ? `${50 - width}%` : "50%";
    meter.append(bar);
  }
  return element("span", { class: "advantage" }, `advantage ${decimals(value)}`, meter);
}

function answerCard(answer, number, best, widest, wanted) {
  const parts = Object.entries(answer.parts);
  const card = element(
    "li",
    { class: best ? "answer best" : "answer" },
    element(
      "header",
      {},
      element("span", {}, `#${number + 1}`),
      element("span", {}, "return ", element("b", {}, decimals(answer.return))),
      answer.advantage === null ? null : advantage(answer.advantage, widest),
      answer.tokens === null || answer.tokens === undefined ? null : element("span", {}, `${answer.tokens} tokens`),
      answer.truncated ? element("span", { class: "mark" }, "cut off at the token limit") : null,
    ),
    ...(answer.text === "" ? [element("p", { class: "empty" }, "(empty)")] : words(answer.text, wanted)),
  );
  if (answer.sampled !== null) {
    const open = wanted !== "" && plain(answer.sampled).includes(plain(wanted)) && !plain(answer.text).includes(plain(wanted));
    card.append(element("details", { open }, element("summary", {}, "As sampled, with special tokens"), ...words(answer.sampled, wanted)));
  }
  if (answer.error !== null) card.append(element("p", { class: "wrong" }, "Error: ", ...marked(answer.error, wanted)));
  if (parts.length) card.append(element("div", { class: "parts", "aria-label": "reward components" }, ...parts.map(([name, value]) => element("span", {}, `${name} ${decimals(value)}`))));
  if (answer.reply !== null) {
    const open = wanted !== "" && plain(answer.reply).includes(plain(wanted));
    card.append(element("details", { open }, element("summary", {}, "What was read next"), ...words(answer.reply, wanted)));
  }
  if (answer.board !== null) card.append(element("div", { class: "after" }, element("span", { class: "label" }, "The board after it"), board(answer.board)));
  return card;
}

function sortedAnswers(answers, order) {
  const numbered = answers.map((answer, number) => ({ answer, number }));
  const rank = (value) => (typeof value === "number" ? value : -Infinity);
  if (order !== "sampled") numbered.sort((a, b) => rank(b.answer.return) - rank(a.answer.return) || a.number - b.number);
  return numbered;
}

function turnSection(turn, colour, state) {
  const values = turn.answers.map((answer) => answer.advantage).filter((value) => typeof value === "number");
  const widest = Math.max(0, ...values.map(Math.abs));
  const returns = turn.answers.map((answer) => answer.return).filter((value) => typeof value === "number");
  const highest = Math.max(...returns);
  const differ = returns.some((value) => value < highest);
  const long = turn.answers.some((answer) => answer.text.length > 400);
  const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.background = `var(--series-${colour % 8})`;
  const where = [`turn ${turn.turn + 1}`, turn.path === "" ? null : `branch ${turn.path}`, `${turn.answers.length} ${turn.answers.length === 1 ? "answer" : "answers"}`];
  return element(
    "section",
    { class: "turn" },
    element("h3", {}, swatch, turn.agent, element("small", {}, where.filter(Boolean).join(" · "))),
    element("div", { class: "prompt" }, element("span", { class: "label" }, "Prompt"), ...words(turn.prompt, state.q)),
    element(
      "ol",
      { class: long ? "answers long" : "answers" },
      ...sortedAnswers(turn.answers, state.order).map(({ answer, number }) =>
        answerCard(answer, number, differ && answer.return === highest, widest, state.q),
      ),
    ),
  );
}

const SEVERAL = 4; // endings that are named one by one

// how the lines ended: each, or of many how many so and how many so, with what they were paid
function endingChips(endings) {
  const solved = endings.filter((ending) => ending.success);
  const others = endings.filter((ending) => !ending.success);
  const chip = (good, text, totals) => element("li", { class: `chip ${good ? "all" : "no"}` }, `${good ? "✓" : "✗"} ${text}: ${totals}`);
  const each = (list) => list.map((ending) => chip(ending.success, ending.success ? "solved" : "not solved", paidTo([ending])));
  const chips = element("ul", { class: "endings", "aria-label": "endings" });
  if (endings.length <= SEVERAL) {
    chips.append(...each(endings));
    return [chips];
  }
  if (solved.length) chips.append(chip(true, `${solved.length} solved, on average`, paidTo(solved)));
  if (others.length) chips.append(chip(false, `${others.length} not solved, on average`, paidTo(others)));
  const all = element("ul", { class: "endings", "aria-label": "all endings" }, ...each(endings));
  return [chips, element("details", {}, element("summary", {}, `All ${endings.length} endings`), all)];
}

function paidTo(endings) {
  const agents = Object.keys(endings[0].totals);
  const mean = (agent) => endings.reduce((sum, ending) => sum + Number(ending.totals[agent]), 0) / endings.length;
  return agents.map((agent) => `${agent} ${decimals(mean(agent))}`).join(", ");
}
