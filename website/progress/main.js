// The page: reads the file that the reader chooses or drops, and shows what it comes to.

import { el } from "explorer/dom";
import { follow } from "explorer/theme";
import { entry, isFact, read, standing, value } from "progress/rules";

/**
 * @typedef {import("progress/rules").Rules} Rules
 * @typedef {import("progress/rules").Kept} Kept
 * @typedef {import("progress/rules").Standing} Standing
 * @typedef {import("progress/rules").Earned} Earned
 *
 * @typedef {object} Payload
 * @property {Rules} rules
 * @property {Record<string, string>} urls pages of lessons, by their names
 * @property {string | null} home
 */

/** @param {string} id */
function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/**
 * @param {string} section
 * @param {...(Node | string)} children
 */
function show(section, ...children) {
  /** @type {Element} */ (byId(section).querySelector(".view")).replaceChildren(...children);
}

/** @type {Payload} */
const payload = JSON.parse(/** @type {string} */ (byId("payload").textContent));
const { rules } = payload;

/**
 * `Level 2, warp: 58 of 455 points.`
 * @param {Standing} now
 */
function levelText(now) {
  return `Level ${now.level}, ${now.name}: ${now.points} of ${now.of} points.`;
}

/** @param {Standing} now */
function showLevel(now) {
  const filled = el("div");
  filled.style.width = `${now.of ? (100 * now.points) / now.of : 0}%`;
  const next = now.next
    ? `Level ${now.level + 1}, ${now.next.name}, begins at ${now.next.points}.`
    : "There is none above.";
  const bar = el("div", { class: "bar", role: "img", "aria-label": `${now.points} of ${now.of} points` }, filled);
  show("level", el("p", { id: "points" }, levelText(now), " ", next), bar, el("p", { class: "note" }, rules.points.rule));
}

/** @param {Earned} one */
function whenText(one) {
  if (one.earned) return one.date ? `Earned ${one.date.slice(0, 10)}` : "Earned";
  return one.of > 1 ? `${one.done} of ${one.of}` : "Not yet";
}

/** @param {Standing} now */
function showAchievements(now) {
  const items = now.achievements.map((one) =>
    el(
      "li",
      { class: one.earned ? "earned" : "open", "data-id": one.id },
      el("h3", {}, one.title),
      el("p", { class: "how" }, one.how),
      el("p", { class: "when" }, whenText(one)),
    ),
  );
  const earned = now.achievements.filter((one) => one.earned).length;
  show("achievements", el("p", { id: "earned" }, `${earned} of ${items.length} earned.`), el("ul", { class: "achieved" }, ...items));
}

/**
 * @param {Kept} kept
 * @param {string | null} key
 */
function taskCell(kept, key) {
  if (key === null) return el("td", {}, "–");
  const found = entry(kept.tasks, key);
  if (isFact(rules, kept, "passed", key)) {
    return el("td", {}, "passed ", el("span", { class: "date" }, String(found.passed).slice(0, 10)));
  }
  const hints = value(found, ["hints"]);
  return el("td", {}, `not passed${hints ? `, ${hints} hint${hints > 1 ? "s" : ""}` : ""}`);
}

/**
 * @param {Kept} kept
 * @param {import("progress/rules").Row} row
 */
function quizText(kept, row) {
  if (Object.hasOwn(kept.quizzes, row.lesson)) {
    const quiz = kept.quizzes[row.lesson];
    return `${quiz.right} of ${quiz.of}`;
  }
  return row.questions ? "not taken" : "–";
}

/**
 * A lesson's name, which may be broken behind an underscore.
 * @param {string} lesson
 * @returns {(Node | string)[]}
 */
function named(lesson) {
  return lesson.split(/(?<=_)/).flatMap((part, index) => (index ? [el("wbr"), part] : [part]));
}

/**
 * @param {Kept} kept
 * @param {Standing} now
 */
function showLessons(kept, now) {
  const points = new Map(now.lessons.map((row) => [row.lesson, row.points]));
  const rows = rules.lessons.map((row) => {
    const url = payload.urls[row.lesson];
    const name = url ? [el("a", { href: url }, ...named(row.lesson))] : named(row.lesson);
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, ...name),
      taskCell(kept, row.exercise),
      taskCell(kept, row.hunt),
      el("td", {}, quizText(kept, row)),
      el("td", { class: "points" }, String(points.get(row.lesson))),
    );
  });
  const titles = ["Lesson", "Exercise", "Bug hunt", "Quiz", "Points"];
  const head = titles.map((title) => el("th", { scope: "col", ...(title === "Points" ? { class: "points" } : {}) }, title));
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
  show("lessons", el("div", { class: "scroll", tabindex: 0, role: "region", "aria-labelledby": "lessons-title" }, table));
}

/** @param {Kept} kept */
function showAll(kept) {
  const now = standing(rules, kept);
  showLevel(now);
  showAchievements(now);
  showLessons(kept, now);
}

/**
 * What the page says of the file.
 * @param {string} said what it comes to
 * @param {string} trouble or why it cannot be read
 */
function say(said, trouble) {
  byId("said").textContent = said;
  byId("trouble").textContent = trouble;
  byId("trouble").hidden = !trouble;
}

/** @param {File} file */
async function take(file) {
  try {
    const kept = read(await file.arrayBuffer());
    showAll(kept);
    const tasks = rules.lessons.flatMap((row) => (row.hunt === null ? [row.exercise] : [row.exercise, row.hunt]));
    const passed = tasks.filter((key) => isFact(rules, kept, "passed", key));
    say(`${file.name} has been read: ${passed.length} of ${tasks.length} tasks passed.`, "");
  } catch (error) {
    say("", error instanceof Error && !(error instanceof DOMException) ? error.message : `${file.name} cannot be read.`);
  }
}

const input = /** @type {HTMLInputElement} */ (byId("file"));
input.addEventListener("click", () => {
  input.value = ""; // so that the same file, which may have changed, can be chosen again
});
input.addEventListener("change", () => {
  const file = input.files?.[0];
  if (file) void take(file);
});

const shown = /** @type {HTMLInputElement} */ (byId("shown"));
const choose = () => document.body.classList.toggle("plain", !shown.checked);
shown.addEventListener("change", choose);
choose(); // a reloaded page may remember the box

for (const kind of ["dragenter", "dragover"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
}
document.addEventListener("dragleave", (event) => {
  if (event.relatedTarget === null) document.body.classList.remove("dropping");
});
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const file = event.dataTransfer?.files[0];
  if (file) void take(file);
});

if (payload.home !== null) {
  byId("home").append(el("a", { href: payload.home }, "The course"));
  byId("home").hidden = false;
}
follow();
showAll({ schema: 1, tasks: {}, quizzes: {} });
