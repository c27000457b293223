// The one bar of controls that goes through a block's steps and events; all views move with it.

import { event as chooseEvent, step as chooseStep } from "explorer/choosing";
import { button, el } from "explorer/dom";

const EVERY = 700; // ms a step, while it plays

/** @param {import("explorer/payload").Block} block @param {number} step @returns {string} what the step is, in words */
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
 * The block, back, play, on, a slider along its steps, and its events one by one.
 * @param {HTMLElement} element hidden where no block's history was kept
 * @param {import("explorer/payload").Data} data
 * @param {import("explorer/state").State} state
 */
export function transport(element, data, state) {
  element.hidden = !data.blocks.length;
  if (element.hidden) return;
  const block = () => data.blocks[state.selection.block];
  const which = el("select", { "aria-label": "Block" }, ...data.blocks.map(({ name }, index) => el("option", { value: index }, `block ${name}`)));
  which.addEventListener("change", () => {
    stop();
    state.set({ block: Number(which.value), event: null, step: 0, thread: null, warp: 0, lane: null, element: null });
  });
  let timer = 0;
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "▶ Play";
    play.setAttribute("aria-pressed", "false");
  };
  /** @param {number} step */
  const go = (step) => state.set(chooseStep(data, state.selection, step));
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
  const slider = el("input", { type: "range", min: 0, step: 1, value: 0, "aria-label": "Step" });
  slider.addEventListener("input", () => (stop(), go(Number(slider.value))));
  const shown = el("output");
  /** @param {number} by events in the order in which the CPU device ran them */
  const run = (by) => {
    stop();
    const last = block().raw.events.length - 1;
    state.set(chooseEvent(data, state.selection, Math.max(0, Math.min(last, (state.selection.event ?? -1) + by))));
  };
  element.append(
    which, back, play, on, slider, shown,
    el("span", { class: "pair" },
      button("◀ event", () => run(-1), { "aria-label": "The event before, as the CPU device ran them" }),
      button("event ▶", () => run(1), { "aria-label": "The next event, as the CPU device ran them" })),
  );
  state.subscribe((now) => {
    const { count } = block().steps;
    which.value = String(now.block);
    slider.max = String(count - 1);
    slider.value = String(now.step);
    slider.setAttribute("aria-valuetext", stepName(block(), now.step));
    shown.textContent = `step ${now.step} of ${count - 1}`;
    shown.title = stepName(block(), now.step);
    back.disabled = now.step <= 0;
    on.disabled = now.step >= count - 1;
  });
}
