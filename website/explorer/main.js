// Begins the page: reads its data, keeps the selection in the URL, mounts the views.

import * as access from "explorer/access";
import * as cluster from "explorer/cluster";
import { beginning, line as chooseLine, settled } from "explorer/choosing";
import { counted, el, grouped } from "explorer/dom";
import * as findings from "explorer/findings";
import { follow, kept } from "explorer/live";
import { decode } from "explorer/payload";
import { transport } from "explorer/playing";
import * as product from "explorer/product";
import * as source from "explorer/source";
import { read, State, written } from "explorer/state";
import * as theme from "explorer/theme";
import * as time from "explorer/time";
import * as verdict from "explorer/verdict";
import * as whatif from "explorer/whatif";

const VIEWS = { product, source, access, cluster, time, findings, whatif };

/** @param {string} id */
function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** @param {string} told none: all is well; behind its first line, a compiler's */
function trouble(told) {
  const [sentence, ...lines] = told.split("\n");
  byId("trouble").replaceChildren(el("p", {}, sentence), ...(lines.length ? [el("pre", {}, lines.join("\n"))] : []));
  byId("trouble").hidden = !told;
}

/** @param {string} id of the view that is scrolled to */
function goTo(id) {
  const section = byId(id);
  const heading = /** @type {HTMLElement} */ (section.querySelector("h2"));
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  section.scrollIntoView();
}

/** Links to views scroll there; the hash is the selection's. */
function navigation() {
  for (const link of document.querySelectorAll("nav a")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      goTo(/** @type {HTMLAnchorElement} */ (link).hash.slice(1));
    });
  }
}

/**
 * What the check says of the learner's kernel, before anything else.
 * @param {import("explorer/payload").Data} data
 */
function checked({ payload: { checked } }) {
  if (!checked) return;
  const lines = checked.told.filter(Boolean).map((words) => el("p", {}, words));
  byId("checked").append(el("div", { class: checked.passed ? "" : "trouble", "data-checked": checked.passed ? "passed" : "failed" }, lines));
}

/** @param {import("explorer/payload").Data} data */
function summary(data) {
  const { trace } = data;
  const name = trace.kernel === "kernel" ? "" : ` ${trace.kernel}`;
  const whose = `${data.payload.mine ? "your" : "the lesson’s"} kernel${name}`;
  const sizes = [trace.m, trace.n, trace.k].join("×");
  const problems = trace.groups.length > 0 ? trace.groups.map((group) => group.join("×")).join(", ")
    : trace.batch === 1 ? sizes : `${trace.batch} · ${sizes}`;
  const kept = data.blocks.length ? `, the history of ${counted(data.blocks.length, "block")} kept` : "";
  byId("summary").textContent =
    `${data.payload.lesson}: ${whose} at ${problems}, ${trace.variant}: ` +
    `${counted(trace.blocks, "block")} of ${grouped(trace.threads_per_block)} threads, ` +
    `${trace.traced_blocks >= trace.blocks ? "all" : grouped(trace.traced_blocks)} traced${kept}. ` +
    "Counted on the CPU device; no time here is a GPU’s.";
}

/** What is seen first, product, source and access side by side, fills what the bar above it leaves of the window. */
function stage() {
  const high = () => {
    const above = byId("stage").getBoundingClientRect().top + scrollY;
    byId("stage").style.setProperty("--high", `${Math.max(innerHeight - above - 8, 440)}px`);
  };
  addEventListener("resize", high);
  new ResizeObserver(high).observe(/** @type {Element} */ (document.querySelector("header.page")));
  high();
}

function begin() {
  const data = decode(byId("payload").textContent ?? "");
  const asked = read(location.hash);
  const state = new State(asked, (wanted, before) => settled(data, wanted, before));
  // A text's link names a line alone: then it is shown as where one begins.
  const line = asked.event === null && asked.warp === null && asked.line !== null && data.lines[asked.line] ? asked.line : null;
  if (!location.hash || !data.blocks[asked.block] || line !== null) state.set({ ...read(""), ...beginning(data) });
  if (line !== null) state.set(chooseLine(data, state.selection, line));
  const count = /** @type {HTMLElement} */ (document.querySelector("nav a[href='#findings']"));
  verdict.mount(byId("wrong"), count, data, () => {
    byId("findings").querySelector("[data-first]")?.dispatchEvent(new MouseEvent("click"));
    goTo("findings");
  });
  checked(data);
  summary(data);
  theme.choose(byId("theme"), () => state.redraw());
  navigation();
  transport(byId("transport"), data, state);
  stage();
  for (const [name, view] of Object.entries(VIEWS)) {
    const element = /** @type {HTMLElement} */ (byId(name).querySelector(".view"));
    element.replaceChildren();
    try {
      view.mount(element, data, state);
    } catch (error) {
      console.error(error); // one view's mistake leaves the others
      element.dataset.failed = "";
      element.replaceChildren("This view could not be drawn.");
    }
  }
  let waiting = 0;
  state.subscribe((now) => {
    byId("views").dataset.selection = written(now); // for whoever drives the page by program
    clearTimeout(waiting); // browsers allow some hundred changes of an address a minute
    waiting = window.setTimeout(() => history.replaceState(null, "", `#${written(now)}`), 150);
  });
  addEventListener("hashchange", () => state.set(read(location.hash)));
  const view = new URLSearchParams(location.search).get("view") ?? ""; // which a text's link names
  if (view in VIEWS) requestAnimationFrame(() => requestAnimationFrame(() => goTo(view)));
}

try {
  begin();
} catch (error) {
  trouble(error instanceof Error ? error.message : String(error));
}
kept();
document.documentElement.dataset.ready = String(Math.round(performance.now())); // ms since the page was asked for
follow(trouble);
