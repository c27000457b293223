// The controls that go through a block's steps; every view that has them moves the same step.

import { button, el } from "explorer/dom";

const EVERY = 700; // ms a step, while it plays

/**
 * @param {import("explorer/payload").Block} block
 * @param {number} step
 * @returns {string} what the step is, in words
 */
export function stepName(block, step) {
  const { by, count } = block.steps;
  const last = step === count - 1;
  const which = `Step ${step} of 0 to ${count - 1}`;
  if (by === "rounds") return count > 1 ? `${which}: round ${step} of the loop${last ? ", and what comes after it" : ""}` : "All of it is one step";
  if (by === "barriers") {
    return `${which}: ${step ? `after the block’s barrier ${step}` : "before the block’s first barrier"}${step && last ? ", the last one" : ""}`;
  }
  return `${which}: ${step ? `from the arrival of tile ${step - 1}` : "before the first tile has arrived"}${step && last ? ", the last one" : ""}`;
}

/**
 * Back, play, on, and a slider along the steps of the chosen block.
 * @param {import("explorer/payload").Data} data
 * @param {import("explorer/state").State} state
 * @param {string} label of the slider
 * @returns {HTMLElement}
 */
export function stepControls(data, state, label) {
  const block = () => data.blocks[state.selection.block];
  let timer = 0;
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "▶ Play";
    play.setAttribute("aria-pressed", "false");
  };
  /** @param {number} step */
  const go = (step) => state.set({ step: Math.max(0, Math.min(step, block().steps.count - 1)) });
  const back = button("◀", () => (stop(), go(state.selection.step - 1)), { "aria-label": "One step back" });
  const on = button("▶", () => (stop(), go(state.selection.step + 1)), { "aria-label": "One step forward" });
  const play = button("", () => {
    if (timer) return stop();
    if (state.selection.step >= block().steps.count - 1) go(0);
    play.textContent = "⏸ Pause";
    play.setAttribute("aria-pressed", "true");
    timer = window.setInterval(() => {
      go(state.selection.step + 1);
      if (state.selection.step >= block().steps.count - 1) stop();
    }, EVERY);
  });
  stop();
  const slider = el("input", { type: "range", min: 0, step: 1, value: 0 });
  slider.addEventListener("input", () => (stop(), go(Number(slider.value))));
  const shown = el("output");
  const row = el("div", { class: "controls steps" }, back, play, on, el("label", {}, label, slider), shown);
  state.subscribe((now) => {
    const { count } = block().steps;
    slider.max = String(count - 1);
    slider.value = String(now.step);
    slider.setAttribute("aria-valuetext", stepName(block(), now.step));
    shown.textContent = `${now.step}`;
    back.disabled = now.step <= 0;
    on.disabled = now.step >= count - 1;
  });
  return row;
}
