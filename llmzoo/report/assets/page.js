// The two views, the list with its filters, the address, and the page that renews itself.

const ROW = 64; // height of a row of the list, as in page.css
const DEFAULTS = { q: "", run: "", agent: "", outcome: "", from: "", to: "", min: "", max: "", sort: "", errors: "", order: "", ep: "" };
const FILTERS = ["q", "run", "agent", "outcome", "from", "to", "min", "max", "sort", "errors"];
const at = (id) => document.getElementById(id);

let state = { view: "results", ...DEFAULTS };
let facts = null; // runs and their agents
let episodes = null;
let shown = []; // numbers of the listed episodes, in order
let hits = null; // of the search: 1 for each episode that holds the text
let searched = ""; // what `hits` are of
let searching = 0; // the number of the newest search

// --- the address ----------------------------------------------------------------------------------

function fromAddress() {
  const [view, query] = location.hash.slice(1).split("?");
  const given = new URLSearchParams(query ?? "");
  const found = { view: view === "episodes" ? "episodes" : "results", ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS)) if (given.has(name)) found[name] = given.get(name);
  return found;
}

function toAddress() {
  const told = new URLSearchParams();
  for (const name of Object.keys(DEFAULTS)) if (state[name] !== "") told.set(name, state[name]);
  const query = told.toString();
  return `#${state.view}${query && state.view === "episodes" ? `?${query}` : ""}`;
}

function noteAddress() {
  if (location.hash !== toAddress()) history.replaceState(null, "", toAddress());
}

// --- views ----------------------------------------------------------------------------------------

function showView() {
  for (const view of ["results", "episodes"]) {
    at(`view-${view}`).hidden = state.view !== view;
    if (state.view === view) at(`tab-${view}`).setAttribute("aria-current", "page");
    else at(`tab-${view}`).removeAttribute("aria-current");
  }
  const given = { ...state, view: "episodes" };
  const kept = new URLSearchParams(Object.entries(given).filter(([name, value]) => name !== "view" && value !== "")).toString();
  at("tab-episodes").href = `#episodes${kept ? `?${kept}` : ""}`; // the filters survive a look at the results
  at("view-episodes").classList.toggle("reading", state.ep !== "" && narrow());
}

function narrow() {
  return matchMedia("(max-width: 44rem)").matches;
}

// --- filters --------------------------------------------------------------------------------------

function fillForm() {
  for (const name of FILTERS) {
    const field = at(`f-${name}`);
    if (name === "errors") field.checked = state.errors !== "";
    else if (field !== document.activeElement || field.value !== state[name]) field.value = state[name];
  }
  const active = FILTERS.filter((name) => !["q", "sort"].includes(name) && state[name] !== "").length;
  at("active").textContent = active ? ` (${active})` : "";
  at("clear").hidden = FILTERS.every((name) => state[name] === "");
}

function readForm() {
  for (const name of FILTERS) state[name] = name === "errors" ? (at("f-errors").checked ? "1" : "") : at(`f-${name}`).value;
}

function bound(text, otherwise) {
  return text === "" || Number.isNaN(Number(text)) ? otherwise : Number(text);
}

function passes(i) {
  const c = episodes.columns;
  if (state.run !== "" && facts.runs[c.run[i]].name !== state.run) return false;
  if (c.step[i] < bound(state.from, -Infinity) || c.step[i] > bound(state.to, Infinity)) return false;
  if (state.agent !== "" && !c.acted[i].includes(state.agent)) return false;
  if (state.outcome === "solved" && !(c.success[i] >= 1)) return false;
  if (state.outcome === "partly" && !(c.success[i] > 0 && c.success[i] < 1)) return false;
  if (state.outcome === "unsolved" && c.success[i] > 0) return false;
  if (state.errors !== "" && c.errors[i] === 0) return false;
  if (state.min !== "" || state.max !== "") {
    const paid = episodes.paid(i, state.agent);
    if (!(paid >= bound(state.min, -Infinity) && paid <= bound(state.max, Infinity))) return false;
  }
  return !(state.q.trim() !== "" && !(hits && hits[i]));
}

function ordered(numbers) {
  const c = episodes.columns;
  const paid = new Map(["best", "worst"].includes(state.sort) ? numbers.map((i) => [i, episodes.paid(i, state.agent)]) : []);
  const known = (value, otherwise) => (Number.isNaN(value) ? otherwise : value);
  const latest = (a, b) => c.step[b] - c.step[a] || c.run[a] - c.run[b] || a - b;
  const orders = {
    "": latest,
    first: (a, b) => c.step[a] - c.step[b] || c.run[a] - c.run[b] || a - b,
    best: (a, b) => known(paid.get(b), -Infinity) - known(paid.get(a), -Infinity) || latest(a, b),
    worst: (a, b) => known(paid.get(a), Infinity) - known(paid.get(b), Infinity) || latest(a, b),
    errors: (a, b) => c.errors[b] - c.errors[a] || latest(a, b),
    long: (a, b) => c.turns[b] - c.turns[a] || latest(a, b),
  };
  return numbers.sort(orders[state.sort] ?? latest);
}

function list(progress = 1) {
  const numbers = [];
  for (let i = 0; i < episodes.count; i++) if (passes(i)) numbers.push(i);
  shown = ordered(numbers);
  const of = shown.length === episodes.count ? "" : ` of ${episodes.count.toLocaleString("en")}`;
  const busy = progress < 1 ? `, searched ${Math.round(progress * 100)}%` : "";
  at("found").textContent = `${shown.length.toLocaleString("en")}${of} ${episodes.count === 1 ? "episode" : "episodes"}${busy}`;
  at("rows").style.height = `${shown.length * ROW}px`;
  drawRows();
}

// Search, where it is for another text, and list what there is.
async function refresh() {
  const wanted = state.q.trim();
  const mine = ++searching;
  if (wanted !== "" && wanted !== searched) {
    hits = new Uint8Array(episodes.count);
    searched = ""; // until all is looked through
    list(0);
    const told = (progress) => {
      if (mine !== searching) return false;
      list(progress);
      return true;
    };
    if (!(await episodes.search(wanted, hits, told))) return; // a newer one goes on
    searched = wanted;
  } else list();
  at("list").setAttribute("aria-busy", "false");
}

// --- the list -------------------------------------------------------------------------------------

function drawRows() {
  const box = at("list");
  const first = Math.max(0, Math.floor(box.scrollTop / ROW) - 4);
  const last = Math.min(shown.length, first + Math.ceil(box.clientHeight / ROW) + 9);
  const rows = [];
  for (let place = first; place < last; place++) rows.push(row(shown[place], place));
  at("rows").replaceChildren(...rows);
  const chosen = shown.indexOf(episodes.keys.get(state.ep));
  if (chosen >= first && chosen < last) box.setAttribute("aria-activedescendant", `row-${shown[chosen]}`);
  else box.removeAttribute("aria-activedescendant");
}

function row(i, place) {
  const c = episodes.columns;
  const paid = Object.entries(c.returns[i]).map(([agent, value]) => `${agent} ${decimals(value)}`);
  const made = element(
    "div",
    { class: "row", role: "option", id: `row-${i}`, "aria-selected": String(episodes.names[i] === state.ep), "aria-posinset": place + 1, "aria-setsize": shown.length },
    element("span", { class: "what" }, `Iteration ${c.step[i]} `, element("small", {}, facts.runs.length > 1 ? facts.runs[c.run[i]].name : `seed ${c.seed[i]}`)),
    element("span", { class: `rate ${outcome(c.success[i])}` }, c.success[i] >= 1 ? "✓ solved" : c.success[i] > 0 ? `${share(c.success[i])} solved` : "✗ unsolved"),
    element("span", { class: "paid" }, paid.join(" · ")),
    element("span", { class: "flags" }, c.errors[i] ? `${c.errors[i]} ${c.errors[i] === 1 ? "error" : "errors"}` : ""),
  );
  made.style.top = `${place * ROW}px`;
  made.addEventListener("click", () => choose(i));
  return made;
}

function choose(i) {
  const before = state.ep;
  state.ep = episodes.names[i];
  if (narrow() && before === "") history.pushState(null, "", toAddress()); // so that "back" leads to the list
  else noteAddress();
  showView();
  drawRows();
  openEpisode(true);
}

function step(by) {
  const here = shown.indexOf(episodes.keys.get(state.ep));
  const last = shown.length - 1;
  const next = here < 0 ? (by > last ? last : 0) : Math.min(last, Math.max(0, here + by));
  if (!shown.length || next === here) return;
  intoSight(next);
  choose(shown[next]);
}

function intoSight(place) {
  const box = at("list");
  const top = place * ROW;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight;
}

// --- an episode -----------------------------------------------------------------------------------

async function openEpisode(fromTop) {
  const i = episodes.keys.get(state.ep);
  const box = at("detail");
  if (i === undefined) {
    const none = episodes.count ? "Choose an episode. The arrow keys go through the list, / searches." : facts.absent;
    box.replaceChildren(element("p", { class: "empty" }, none));
    return;
  }
  const wanted = state.ep;
  const body = await episodes.body(i);
  if (wanted !== state.ep) return; // another has been chosen meanwhile
  const c = episodes.columns;
  const agents = facts.runs[c.run[i]].agents;
  const told = [`seed ${c.seed[i]}`];
  if (body.endings.length > 1) told.push(`${share(c.success[i])} of ${body.endings.length} endings solved`);
  if (facts.runs.length > 1) told.unshift(facts.runs[c.run[i]].name);
  box.replaceChildren(
    element("button", { type: "button", class: "back", onclick: leave }, "‹ All episodes"),
    element("div", { class: "top" }, element("h2", {}, `Iteration ${c.step[i]}`), element("span", { class: "sub" }, told.join(" · "))),
    ...endingChips(body.endings),
    tools(body),
    ...body.turns.map((turn) => turnSection(turn, Math.max(0, agents.indexOf(turn.agent)), state)),
  );
  box.dataset.episode = state.ep;
  if (fromTop) box.scrollTop = 0;
}

function tools(body) {
  const order = element("select", { id: "order" }, element("option", { value: "" }, "highest return first"), element("option", { value: "sampled" }, "as sampled"));
  order.value = state.order;
  order.addEventListener("change", () => set("order", order.value));
  const made = element("div", { class: "tools" }, element("label", {}, "Answers", order));
  return made;
}

async function set(name, value) {
  const focused = document.activeElement?.id;
  state[name] = value;
  noteAddress();
  await openEpisode(false);
  if (focused) at(focused)?.focus();
}

function leave() {
  state.ep = "";
  noteAddress();
  showView();
  drawRows();
}

// --- a page that renews itself --------------------------------------------------------------------

const KEPT = `llmzoo-report ${location.pathname}`;

// What the address does not say: where everything is scrolled to, what is open, who has the focus.
function keep() {
  if (!ready()) return; // what was kept before still has to be restored
  const box = at("list");
  const top = Math.floor(box.scrollTop / ROW);
  const focused = document.activeElement;
  const details = [...document.querySelectorAll("#view-results details[open], #more[aria-expanded=true]")].map((one) => one.id);
  const kept = {
    page: scrollY,
    list: { name: episodes && shown.length ? episodes.names[shown[top]] : "", within: box.scrollTop - top * ROW, top: box.scrollTop === 0 },
    detail: { name: state.ep, top: at("detail").scrollTop },
    open: details,
    focus: focused?.id ?? "",
    caret: focused?.id === "f-q" ? [focused.selectionStart, focused.selectionEnd] : null,
    paused: document.body.classList.contains("paused"),
  };
  sessionStorage.setItem(KEPT, JSON.stringify(kept));
}

function ready() {
  return "ready" in document.documentElement.dataset;
}

function kept() {
  return JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
}

function restoreOpen(found) {
  for (const id of found.open) {
    if (id === "more") at("more").setAttribute("aria-expanded", "true");
    else if (at(id)) at(id).open = true;
  }
  if (found.focus && at(found.focus)) at(found.focus).focus({ preventScroll: true });
  if (found.caret) at("f-q").setSelectionRange(...found.caret);
  scrollTo(0, found.page);
}

function restoreLists(found) {
  const place = shown.indexOf(episodes.keys.get(found.list.name));
  if (place >= 0 && !found.list.top) at("list").scrollTop = place * ROW + found.list.within;
  if (found.detail.name === state.ep) at("detail").scrollTop = found.detail.top;
  drawRows();
}

function renew() {
  const every = Number(document.documentElement.dataset.every);
  if (!every) return;
  let touched = 0;
  for (const kind of ["keydown", "pointerdown", "wheel", "touchmove"]) addEventListener(kind, () => (touched = performance.now()), { passive: true });
  at("pause").addEventListener("click", () => {
    const paused = document.body.classList.toggle("paused");
    at("pause").setAttribute("aria-pressed", String(paused));
    at("pause").textContent = paused ? "Go on" : "Pause";
  });
  if (kept()?.paused) at("pause").click();
  setInterval(() => {
    const busy = performance.now() - touched < 1500 || !getSelection().isCollapsed || document.hidden;
    if (ready() && !busy && !document.body.classList.contains("paused")) location.reload();
  }, every * 1000);
}

// --- the start ------------------------------------------------------------------------------------

function fillChoices() {
  const choices = (id, any, names) => at(id).replaceChildren(element("option", { value: "" }, any), ...names.map((name) => element("option", { value: name }, name)));
  choices("f-run", "all runs", facts.runs.map((run) => run.name));
  at("l-run").hidden = facts.runs.length < 2;
  choices("f-agent", "all agents", [...new Set(facts.runs.flatMap((run) => run.agents))]);
}

function listen() {
  let waiting = 0;
  const changed = () => {
    readForm();
    fillForm();
    noteAddress();
    at("list").scrollTop = 0;
    refresh();
    if (state.ep) openEpisode(false);
  };
  at("filters").addEventListener("input", (event) => {
    at("list").setAttribute("aria-busy", "true"); // until it shows what is asked for
    clearTimeout(waiting);
    waiting = setTimeout(changed, event.target.id === "f-q" ? 180 : 0);
  });
  at("filters").addEventListener("submit", (event) => event.preventDefault());
  at("filters").addEventListener("reset", () => setTimeout(changed));
  at("more").addEventListener("click", () => at("more").setAttribute("aria-expanded", String(at("more").getAttribute("aria-expanded") === "false")));
  at("list").addEventListener("scroll", drawRows, { passive: true });
  addEventListener("resize", () => {
    showView();
    drawRows();
  });
  addEventListener("keydown", (event) => {
    if (state.view !== "episodes" || event.ctrlKey || event.metaKey || event.altKey) return;
    const inField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "/" && !inField) at("f-q").focus();
    else if (event.key === "Escape" && narrow() && state.ep) leave();
    else if (inField || at("detail").contains(event.target)) return; // there the keys have their own meaning
    else if (event.key === "ArrowDown") step(1);
    else if (event.key === "ArrowUp") step(-1);
    else if (event.key === "PageDown") step(10);
    else if (event.key === "PageUp") step(-10);
    else if (event.key === "Home") step(-shown.length);
    else if (event.key === "End") step(shown.length);
    else return;
    event.preventDefault();
  });
}

async function show() {
  state = fromAddress();
  showView();
  if (!episodes) return; // they are still being opened
  fillForm();
  await refresh();
  await openEpisode(true);
}

async function start() {
  history.scrollRestoration = "manual";
  const before = kept();
  facts = JSON.parse(at("report").textContent);
  state = fromAddress();
  showView();
  renew();
  fillChoices();
  fillForm();
  if (before) restoreOpen(before);
  addEventListener("pagehide", keep);
  addEventListener("hashchange", show);
  if (typeof DecompressionStream === "undefined") {
    at("detail").textContent = "This browser cannot open the episodes: it lacks DecompressionStream, which browsers have since 2023.";
    document.documentElement.dataset.ready = "";
    return;
  }
  episodes = await Episodes.open(facts.runs);
  listen();
  await refresh();
  await openEpisode(false);
  if (before) restoreLists(before);
  const chosen = shown.indexOf(episodes.keys.get(state.ep));
  if (before?.detail.name !== state.ep && chosen >= 0) intoSight(chosen);
  document.documentElement.dataset.ready = "";
}

document.addEventListener("DOMContentLoaded", start);
