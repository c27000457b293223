// What is wrong, before anything else on the page, and the way there.

import { button, counted, el } from "explorer/dom";

/** @param {Data} data @returns {number} how many things are wrong: findings, an error, a wrong result */
export function wrongs({ trace: { findings, error, verdict } }) {
  return findings.length + (error ? 1 : 0) + (verdict && !verdict.passed ? 1 : 0);
}

/**
 * The most telling thing first: what never ends, what was found on the way, what came out wrong.
 * @param {Data} data
 * @returns {{title: string, words: string}}
 */
export function headline({ trace: { findings, error, verdict } }) {
  if (error) return { title: error.autopsy ? "The kernel hangs" : "The kernel fails", words: error.autopsy?.likely?.text ?? error.text };
  if (findings.length) {
    const [{ id, text }] = findings;
    const races = findings.filter((finding) => finding.id === "race").length;
    const title = races ? `The kernel has ${races === 1 ? "a race" : counted(races, "race")}`
      : findings.length === 1 ? `One finding: ${id.replaceAll("_", " ")}` : counted(findings.length, "finding");
    return { title, words: (findings.find((finding) => finding.id === "race") ?? { text }).text };
  }
  return { title: "The result is wrong", words: (verdict?.text ?? "").split("\n")[0] };
}

/**
 * @param {HTMLElement} element empty where nothing is wrong
 * @param {HTMLElement} count in the navigation
 * @param {Data} data
 * @param {() => void} go to the findings, with the first one chosen
 */
export function mount(element, count, data, go) {
  const many = wrongs(data);
  count.textContent = many ? `Findings (${many})` : "Findings";
  if (!many) return;
  const { title, words } = headline(data);
  const sentence = words.slice(0, 1).toUpperCase() + words.slice(1);
  element.append(el("div", { class: "trouble wrong", "data-wrong": many },
    el("p", {}, el("strong", {}, `✗ ${title}.`), ` ${sentence}`.slice(0, 300)), button("Go there", go)));
}
