// The page: shows what a learner has done, which stands in it (./gemm progress --open) or in the file that the reader chooses or
// drops. What it comes to in points and achievements, ./gemm has written there.

import { el } from "explorer/dom";
import { follow } from "explorer/theme";

/**
 * @typedef {object} Row a lesson of the course
 * @property {string} lesson
 * @property {string} exercise its key in .progress.json
 * @property {string | null} hunt
 * @property {boolean} quiz whether there is one
 *
 * @typedef {object} Earned how an achievement stands
 * @property {string} id
 * @property {string} title
 * @property {string} how
 * @property {boolean} earned
 * @property {string | null} date
 * @property {number} done
 * @property {number} of
 *
 * @typedef {object} Standing what a file comes to: runner/learn/achievements.py has counted it
 * @property {number} points
 * @property {number} of
 * @property {number} level
 * @property {string} name
 * @property {{name: string, points: number} | null} next
 * @property {{lesson: string, points: number}[]} lessons
 * @property {Earned[]} achievements
 *
 * @typedef {object} Kept what .progress.json holds
 * @property {number} schema
 * @property {Record<string, {passed?: string, hints?: number}>} tasks
 * @property {Record<string, {right: number, of: number}>} quizzes
 * @property {Standing} [standing] older versions wrote none
 *
 * @typedef {object} Payload
 * @property {Row[]} lessons
 * @property {string} rule of points
 * @property {Kept | null} kept what the file held when this page was written for it alone
 * @property {boolean} points whether points and achievements are shown at first
 * @property {Kept} begin what a file holds before anything is done
 * @property {Record<string, string>} urls pages of lessons, by their names
 * @property {string | null} home
 */

/** @param {string} id */
function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** @type {Payload} */
const payload = JSON.parse(/** @type {string} */ (byId("payload").textContent));

/** @param {any} entry */
const isTask = (entry) => typeof (entry.passed ?? "") === "string" && Number.isInteger(entry.hints ?? 0);
/** @param {any} entry */
const isQuiz = (entry) => Number.isInteger(entry.right) && Number.isInteger(entry.of);

/**
 * What .progress.json holds, from its bytes. Throws a TypeError where that is something else, or an Error whose message is a
 * sentence.
 * @param {ArrayBuffer} bytes
 * @returns {Kept}
 */
function read(bytes) {
  let raw;
  try {
    raw = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Error("This file is not valid JSON; choose the .progress.json of your copy of the course.");
  }
  if (raw?.schema !== undefined && raw.schema !== payload.begin.schema) {
    const found = JSON.stringify(raw.schema);
    throw new Error(`This file has schema ${found}, but this page reads progress of schema ${payload.begin.schema}.`);
  }
  if (!raw?.schema || !Object.values(raw.tasks).every(isTask) || !Object.values(raw.quizzes).every(isQuiz)) {
    throw new TypeError(); // as where one of these is no object
  }
  return raw;
}

/** @param {Standing} now */
function levelView(now) {
  const filled = el("div");
  filled.style.width = `${now.of ? (100 * now.points) / now.of : 0}%`;
  const next = now.next
    ? `Level ${now.level + 1}, ${now.next.name}, begins at ${now.next.points}.`
    : "It is the highest.";
  const bar = el("div", { class: "bar", role: "img", "aria-label": `${now.points} of ${now.of} points` }, filled);
  const level = `Level ${now.level}, ${now.name}: ${now.points} of ${now.of} points.`; // Level 2, warp: 58 of 455 points.
  return [el("p", { id: "points" }, level, " ", next), bar, el("p", { class: "note" }, payload.rule)];
}

/** @param {Earned} one */
function whenText(one) {
  if (one.earned) return one.date ? `Earned ${one.date.slice(0, 10)}` : "Earned";
  return one.of > 1 ? `${one.done} of ${one.of}` : "Not yet";
}

/** @param {Standing} now */
function achievementsView(now) {
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
  return [el("p", { id: "earned" }, `${earned} of ${items.length} earned.`), el("ul", { class: "achieved" }, ...items)];
}

/** @param {Kept} kept @param {string | null} key */
function taskCell(kept, key) {
  if (key === null) return el("td", {}, "–");
  const found = kept.tasks[key];
  if (found?.passed) return el("td", {}, "passed ", el("span", { class: "date" }, found.passed.slice(0, 10)));
  return el("td", {}, `not passed${found?.hints ? `, ${found.hints} hint${found.hints > 1 ? "s" : ""}` : ""}`);
}

/** @param {Kept} kept @param {Row} row */
function quizText(kept, row) {
  const quiz = kept.quizzes[row.lesson];
  if (quiz) return `${quiz.right} of ${quiz.of}`;
  return row.quiz ? "not taken" : "–";
}

/**
 * A lesson's name, which may be broken behind an underscore.
 * @param {string} lesson
 * @returns {(Node | string)[]}
 */
function named(lesson) {
  return lesson.split(/(?<=_)/).flatMap((part, index) => (index ? [el("wbr"), part] : [part]));
}

/** @param {Kept} kept */
function lessonsView(kept) {
  const points = new Map(kept.standing?.lessons.map((row) => [row.lesson, String(row.points)]));
  const rows = payload.lessons.map((row) => {
    const url = payload.urls[row.lesson];
    const name = url ? [el("a", { href: url }, ...named(row.lesson))] : named(row.lesson);
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, ...name),
      taskCell(kept, row.exercise),
      taskCell(kept, row.hunt),
      el("td", {}, quizText(kept, row)),
      el("td", { class: "points" }, points.get(row.lesson) ?? "–"),
    );
  });
  const titles = ["Lesson", "Exercise", "Bug hunt", "Quiz", "Points"];
  const head = titles.map((title) => el("th", { scope: "col", ...(title === "Points" ? { class: "points" } : {}) }, title));
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
  return [el("div", { class: "scroll", tabindex: 0, role: "region", "aria-labelledby": "lessons-title" }, table)];
}

/** @param {Kept} kept */
function showAll(kept) {
  const now = kept.standing;
  const uncounted = () => [el("p", {}, "This file holds none yet: ./gemm progress counts them; then choose it again.")];
  /** @type {Record<string, (Node | string)[]>} */
  const views = {
    level: now ? levelView(now) : uncounted(),
    achievements: now ? achievementsView(now) : uncounted(),
    lessons: lessonsView(kept),
  };
  for (const [section, view] of Object.entries(views)) byId(section).querySelector(".view")?.replaceChildren(...view);
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

/** @param {Kept} kept */
function passedText(kept) {
  const tasks = payload.lessons.flatMap((row) => (row.hunt === null ? [row.exercise] : [row.exercise, row.hunt]));
  return `${tasks.filter((key) => kept.tasks[key]?.passed).length} of ${tasks.length} tasks passed`;
}

/** @param {File} file */
async function take(file) {
  try {
    const kept = read(await file.arrayBuffer());
    showAll(kept);
    say(`${file.name} has been read: ${passedText(kept)}.`, "");
  } catch (error) {
    if (error instanceof TypeError) say("", "This file does not hold your progress; choose .progress.json.");
    else say("", error instanceof Error && !(error instanceof DOMException) ? error.message : `${file.name} cannot be read.`);
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
if (!payload.points) shown.checked = false;
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
showAll(payload.kept ?? payload.begin);
if (payload.kept) {
  byId("said").textContent = `${passedText(payload.kept)} when ./gemm progress --open wrote this page.`;
  byId("asking").hidden = true;
}
