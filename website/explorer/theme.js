// Light or dark: what the reader chose on this page, else what the page around it shows (the course's site), else what the system
// asks for. website/assets/site.js has the other side of the conversation with the page around this one.

const CHOICES = /** @type {const} */ (["auto", "light", "dark"]);
const KEY = "gemm-theme";
const framed = window.parent !== window;

/** @type {"auto" | "light" | "dark"} */
let chosen = "auto";
/** @type {"light" | "dark" | null} */
let around = null; // what the page around this one shows, where it has said so

function show() {
  const now = chosen === "auto" ? around : chosen;
  if (now) document.documentElement.dataset.theme = now;
  else delete document.documentElement.dataset.theme;
}

/**
 * Follows the page around this one, and the system.
 * @param {() => void} [changed] is called whenever the colours are others
 */
export function follow(changed = () => {}) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  if (!framed) return;
  document.documentElement.dataset.framed = "";
  addEventListener("message", (event) => {
    const told = event.source === window.parent ? event.data?.gemmTheme : undefined;
    if (told !== "light" && told !== "dark") return;
    around = told;
    show();
    changed();
  });
  window.parent.postMessage({ gemmTheme: "?" }, "*"); // a page from a file has no origin to name; there is no secret in it
}

/**
 * Goes through light, dark and what is around. It is remembered where the browser lets us.
 * @param {HTMLElement} button
 * @param {() => void} changed is called whenever the colours are others
 */
export function choose(button, changed) {
  const name = () => {
    show();
    button.textContent = `Colors: ${chosen !== "auto" ? chosen : framed ? "as the site" : "as the system"}`;
  };
  try {
    chosen = CHOICES.find((one) => one === localStorage.getItem(KEY)) ?? "auto";
  } catch {} // a browser may refuse
  name();
  button.addEventListener("click", () => {
    chosen = CHOICES[(CHOICES.indexOf(chosen) + 1) % CHOICES.length];
    try {
      localStorage.setItem(KEY, chosen);
    } catch {}
    name();
    changed();
  });
  follow(changed);
}
