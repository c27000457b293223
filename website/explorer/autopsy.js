// A hang as a picture: every mbarrier with what its open phase still waits for, and which threads wait where.

import { button, el, grouped, svg } from "explorer/dom";
import { box, centred, named, picture, shade, text } from "explorer/picture";
import { hatching } from "explorer/memory";
import { grid } from "explorer/threads";

const PHASES = 3; // the newest that are drawn
const CARD = 408; // pixels: an mbarrier is at least so wide where there is room

/** @param {gemm.Place} at */
const place = (at) => `${at.file}:${at.line}`;

/**
 * What has come of what must come; what is missing is hatched.
 * @param {SVGSVGElement} root @param {number} x @param {number} y @param {number} width @param {number} came @param {number} all @param {string} words @param {string} hatch
 */
function bar(root, x, y, width, came, all, words, hatch) {
  const share = all > 0 ? Math.min(Math.max(came / all, 0), 1) : 1;
  const done = share < 1 ? Math.min(share * width, width - 8) : width; // that something is missing shows
  root.append(
    box(x, y, width, 16, { class: "cell", style: `fill: ${hatch}` }),
    box(x, y, done, 16, { class: `cell ${shade(0)}` }),
    text(x, y + 31, words),
  );
}

/** @param {gemm.Barrier} barrier @param {number} width pixels */
function drawn(barrier, width) {
  const came = barrier.arrivals - barrier.arrivals_missing;
  const bytes = barrier.bytes_expected !== 0 || barrier.bytes_missing !== 0;
  const there = barrier.bytes_expected - barrier.bytes_missing;
  const said = [
    `${came} of ${barrier.arrivals} arrivals`,
    ...(bytes ? [`${grouped(there)} of ${grouped(barrier.bytes_expected)} bytes`] : []),
  ];
  const narrow = width < 460;
  const label = `${barrier.name}, phase ${barrier.phase}, parity ${barrier.phase % 2}: ${said.join(", ")}`;
  const root = picture(width, narrow && bytes ? 136 : 92, label);
  const hatch = hatching(root);
  let x = 4;
  const phases = narrow ? PHASES - 1 : PHASES;
  for (let phase = Math.max(0, barrier.phase - phases + 1); phase <= barrier.phase; ++phase) {
    const open = phase === barrier.phase;
    const words = open ? `phase ${phase}, parity ${phase % 2}: open` : `${phase}, complete`;
    const wide = open ? 176 : 100;
    root.append(box(x, 4, wide, 24, { class: `cell ${open ? "strong" : "quiet"}` }), centred(x + wide / 2, 20, words));
    x += wide + 2;
  }
  const wide = narrow || !bytes ? Math.min(width - 8, 300) : (width - 24) / 2;
  bar(root, 4, 42, wide, came, barrier.arrivals, said[0], hatch);
  if (bytes) bar(root, narrow ? 4 : 4 + wide + 16, narrow ? 88 : 42, wide, there, barrier.bytes_expected, said[1], hatch);
  return root;
}

/**
 * What a group of threads does now, and did last.
 * @param {gemm.Group} group
 */
function doing(group) {
  const many = group.threads.length > 1;
  const now = group.returned
    ? (many ? "have returned" : "has returned")
    : group.at
    ? `${many ? "wait" : "waits"} at ${group.at.what}, ${place(group.at)}`
    : "";
  const last = group.last ? `last: ${group.last.what}, ${place(group.last)}` : "";
  return [now, last].filter(Boolean).join("; ");
}

/**
 * An mbarrier: its phases, what has come, and who waits there.
 * @param {gemm.Barrier} barrier @param {boolean} suspect @param {number} width pixels of its picture @param {(threads: number[]) => Node} button
 */
function card(barrier, suspect, width, button) {
  const { name, arrived, absent, passed, waiting, bytes_missing: missing, bytes_under_way: underWay } = barrier;
  /** @param {unknown} is @param {string} words */
  const said = (is, words) => Boolean(is) && el("li", {}, words);
  return el("section", { class: `mbarrier ${suspect ? "suspect" : ""}`, "aria-label": `mbarrier ${name}`, "data-barrier": name },
    el("h4", {}, `${name}${suspect ? ": part of the likeliest cause" : ""}`),
    drawn(barrier, width),
    el("ul", {},
      said(arrived.length && barrier.arrivals_missing, `Arrived in this phase: ${named(arrived, "thread")}.`),
      said(absent.length, `Arrived in the phase before and not in this one: ${named(absent, "thread")}.`),
      said(passed.length, `Went past it in phase 0, when nothing was complete: ${named(passed, "thread")}.`),
      said(missing < 0, `${grouped(-missing)} bytes more have come than it was told to expect.`),
      said(underWay > 0, `${grouped(underWay)} bytes are under way.`),
      waiting.map(({ threads, parity, at }) =>
        el("li", {}, button(threads), ` ${threads.length === 1 ? "waits" : "wait"} for parity ${parity} at ${place(at)}`))));
}

/**
 * @param {gemm.Autopsy} found @param {number} threads of the block @param {number} width pixels
 * @param {(thread: number) => void} choose
 * @returns {Node[]}
 */
export function draw(found, threads, width, choose) {
  const suspects = found.likely?.barriers ?? [];
  const groupOf = new Map(found.groups.flatMap(({ threads: its }, index) => its.map((thread) => /** @type {const} */ ([thread, index]))));
  /** @param {number[]} all */
  const chooser = (all) => button(named(all, "thread"), () => choose(all[0]), { class: "thread" });
  const across = Math.max(1, Math.floor((width + 12) / (CARD + 12))); // as style.css has it
  const inner = Math.floor((width - (across - 1) * 12) / across) - 28;
  /** @param {number} thread */
  const mark = (thread) => {
    const group = groupOf.get(thread);
    if (group === undefined) return null;
    return { shade: group, label: String(group + 1), title: `thread ${thread}: ${doing(found.groups[group])}` };
  };
  const groups = found.groups.map((group, index) => {
    const look = { width: 18, height: 14, "aria-hidden": "true", class: shade(index) };
    return el("li", {}, svg("svg", look, box(1, 1, 16, 12, { class: "cell shade" })), " ", chooser(group.threads), ` ${doing(group)}`);
  });
  return [
    el("p", {}, `In block (${found.block.join(", ")}) of ${found.kernel} no thread can go on.`),
    found.likely
      ? el("p", { class: "trouble", "data-likely": found.likely.id }, el("strong", {}, "Likeliest cause: "), found.likely.text)
      : el("p", {}, "No cause is likelier than others."),
    el("h3", {}, "What the mbarriers wait for"),
    el("p", { class: "note" }, "Dark has come, hatched is missing."),
    el("div", { class: "mbarriers" }, found.barriers.map((barrier) => card(barrier, suspects.includes(barrier.name), inner, chooser))),
    el("h3", {}, "Who waits where"),
    grid(threads, width, `The block’s ${threads} threads, by what they do`, mark),
    el("ol", { class: "groups" }, groups),
  ];
}
