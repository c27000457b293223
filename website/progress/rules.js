// What a .progress.json comes to: the evaluation of the rules that runner/learn/achievements.py defines, and has in Python, too.
// A test holds the two against each other.

/**
 * A number, or the first of these fields that an entry has; 0 where it has none, 1 of a text.
 * @typedef {number | string[]} Term
 *
 * @typedef {object} Fact what an entry may show: every condition holds
 * @property {"tasks" | "quizzes"} of
 * @property {[Term, ">=" | "<=", Term][]} when
 *
 * @typedef {object} Row a lesson's tasks
 * @property {string} lesson
 * @property {string} exercise its key in .progress.json
 * @property {string | null} hunt
 * @property {number} questions of its quiz
 *
 * @typedef {object} Points what each is worth
 * @property {number} exercise
 * @property {number} hunt
 * @property {number} hint less, for each before the task passed
 * @property {string[]} hints a Term: how many those were
 * @property {number} answer
 * @property {string} rule
 *
 * @typedef {object} Level
 * @property {string} name
 * @property {number} points from so many on
 *
 * @typedef {object} Achievement earned when all items of one of the groups are facts
 * @property {string} id
 * @property {string} title
 * @property {string} how
 * @property {[fact: string, key: string][][]} groups
 *
 * @typedef {object} Rules
 * @property {number} schema
 * @property {Row[]} lessons
 * @property {Points} points
 * @property {Level[]} levels
 * @property {Record<string, Fact>} facts
 * @property {Achievement[]} achievements
 *
 * @typedef {Record<string, unknown>} Entry of a task or a quiz
 *
 * @typedef {object} Kept what .progress.json holds
 * @property {1} schema
 * @property {Record<string, Entry>} tasks
 * @property {Record<string, Entry>} quizzes
 * @property {Record<string, string | null>} [achievements]
 *
 * @typedef {object} Earned how an achievement stands
 * @property {string} id
 * @property {string} title
 * @property {string} how
 * @property {boolean} earned
 * @property {string | null} date null: not earned, or before that was written down
 * @property {number} done items of the group that has come furthest
 * @property {number} of
 *
 * @typedef {object} Standing
 * @property {number} points
 * @property {number} of
 * @property {number} level from 1
 * @property {string} name
 * @property {Level | null} next
 * @property {{lesson: string, points: number, of: number}[]} lessons
 * @property {Earned[]} achievements
 */

const SCHEMA = 1; // of .progress.json

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {unknown} value */
function isWhole(value) {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}

/**
 * Whether it has the types that are read of a task.
 * @param {unknown} entry
 */
function isTask(entry) {
  if (!isObject(entry)) return false;
  return Object.entries(entry).every(([name, value]) => {
    if (["hints", "helped", "versions"].includes(name)) return isWhole(value);
    if (["passed", "sha256", "code", "gpu"].includes(name)) return typeof value === "string";
    return name !== "over_lesson" || typeof value === "number";
  });
}

/**
 * What .progress.json holds, from its bytes. Throws an Error whose message is a sentence where it is of no use.
 * @param {ArrayBuffer} bytes
 * @returns {Kept}
 */
export function read(bytes) {
  /** @type {unknown} */
  let raw;
  try {
    raw = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Error("This file is not valid JSON; choose the .progress.json of your copy of the course.");
  }
  if (isObject(raw) && "schema" in raw && raw.schema !== SCHEMA) {
    const found = JSON.stringify(raw.schema);
    throw new Error(`This file has schema ${found}, but this page reads progress of schema ${SCHEMA}.`);
  }
  const fits =
    isObject(raw) &&
    raw.schema === SCHEMA &&
    isObject(raw.tasks) &&
    Object.values(raw.tasks).every(isTask) &&
    isObject(raw.quizzes) &&
    Object.values(raw.quizzes).every((quiz) => isObject(quiz) && isWhole(quiz.right) && isWhole(quiz.of)) &&
    (raw.achievements === undefined ||
      (isObject(raw.achievements) &&
        Object.values(raw.achievements).every((date) => date === null || typeof date === "string")));
  if (!fits) {
    throw new Error("This file holds something else than your progress; choose .progress.json.");
  }
  return /** @type {Kept} */ (/** @type {unknown} */ (raw));
}

/**
 * @param {Record<string, Entry>} entries
 * @param {string} key
 * @returns {Entry}
 */
export function entry(entries, key) {
  return Object.hasOwn(entries, key) ? entries[key] : {};
}

/**
 * @param {Entry} entry
 * @param {Term} term
 * @returns {number}
 */
export function value(entry, term) {
  if (typeof term === "number") return term;
  const name = term.find((field) => Object.hasOwn(entry, field));
  if (name === undefined) return 0;
  const found = entry[name];
  return typeof found === "number" ? found : 1;
}

/**
 * @param {Rules} rules
 * @param {Kept} kept
 * @param {string} name
 * @param {string} key
 */
export function isFact(rules, kept, name, key) {
  const fact = rules.facts[name];
  const found = entry(kept[fact.of], key);
  return fact.when.every(([left, relation, right]) => {
    const a = value(found, left);
    const b = value(found, right);
    return relation === ">=" ? a >= b : a <= b;
  });
}

/**
 * @param {Rules} rules
 * @param {Kept} kept
 * @param {Row} row
 */
function pointsOf(rules, kept, row) {
  const worth = rules.points;
  let points = 0;
  let of = 0;
  for (const [key, each] of /** @type {[string | null, number][]} */ ([
    [row.exercise, worth.exercise],
    [row.hunt, worth.hunt],
  ])) {
    if (key === null) continue;
    of += each;
    if (isFact(rules, kept, "passed", key)) {
      points += Math.max(0, each - worth.hint * value(entry(kept.tasks, key), worth.hints));
    }
  }
  const right = value(entry(kept.quizzes, row.lesson), ["right"]);
  points += worth.answer * Math.min(right, row.questions);
  return { lesson: row.lesson, points, of: of + worth.answer * row.questions };
}

/**
 * @param {Rules} rules
 * @param {Kept} kept
 * @param {Achievement} achievement
 * @returns {Earned}
 */
function earned(rules, kept, achievement) {
  const noted = kept.achievements ?? {};
  /** @type {[number, number] | null} */
  let best = null; // of several groups that have come as far the first
  for (const group of achievement.groups) {
    const done = group.filter(([fact, key]) => isFact(rules, kept, fact, key)).length;
    if (best === null || done * best[1] > best[0] * group.length) best = [done, group.length];
  }
  const [done, of] = best ?? [0, 1];
  const { id, title, how } = achievement;
  const known = Object.hasOwn(noted, id);
  return { id, title, how, earned: done === of || known, date: known ? noted[id] : null, done, of };
}

/**
 * What it comes to.
 * @param {Rules} rules
 * @param {Kept} kept
 * @returns {Standing}
 */
export function standing(rules, kept) {
  const lessons = rules.lessons.map((row) => pointsOf(rules, kept, row));
  const points = lessons.reduce((sum, row) => sum + row.points, 0);
  const level = rules.levels.filter((one) => points >= one.points).length;
  return {
    points,
    of: lessons.reduce((sum, row) => sum + row.of, 0),
    level,
    name: rules.levels[level - 1].name,
    next: rules.levels[level] ?? null,
    lessons,
    achievements: rules.achievements.map((achievement) => earned(rules, kept, achievement)),
  };
}
