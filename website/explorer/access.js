/**
 * @param {HTMLElement} element
 * @param {import("explorer/payload").Data} data
 * @param {import("explorer/state").State} state
 */
export function mount(element, data, state) {
  element.append(`${data.trace.lesson} ${state.selection.block}`);
}
