// Pages in frames, the explorer and others, have the colours of this one; website/explorer/theme.js listens.
(() => {
  const tell = (frame) => {
    const gemmTheme = document.body.dataset.mdColorScheme === "slate" ? "dark" : "light";
    frame.postMessage({ gemmTheme }, "*"); // a page from a file has no origin to name; there is no secret in it
  };
  const all = () => document.querySelectorAll("iframe.explorer").forEach((frame) => tell(frame.contentWindow));
  addEventListener("message", (event) => {
    if (event.data?.gemmTheme === "?" && event.source) tell(event.source);
  });
  new MutationObserver(all).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
  all();
})();

// What the address asks such a page for, as the atlas for a shape, is for the frame.
(() => {
  const frame = document.querySelector('iframe.explorer[src="page.html"]');
  if (frame && location.hash) frame.src = `page.html${location.hash}`;
})();

// Lesson 01 beside lesson 02: how much of the picture is the first one's.
for (const slider of document.querySelectorAll(".compare input")) {
  const move = () => slider.parentElement.querySelector(".layers").style.setProperty("--at", `${slider.value}%`);
  slider.addEventListener("input", move);
  move(); // a page that one comes back to may have kept it
}

// What a term of the glossary means, when it is pointed at or reached with the keyboard. Escape closes it.
(() => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search"); // a dialog, to which the theme gives no name

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.append(tip);
  let shown = null;
  let leaving = 0;

  const hide = () => {
    tip.hidden = true;
    shown = null;
  };
  const show = (term) => {
    clearTimeout(leaving);
    const meaning = document.getElementById(term.getAttribute("aria-describedby"));
    if (!meaning) return;
    shown = term;
    tip.innerHTML = meaning.innerHTML;
    tip.hidden = false;
    const at = term.getBoundingClientRect();
    const size = tip.getBoundingClientRect();
    const left = Math.max(8, Math.min(at.left, document.documentElement.clientWidth - size.width - 8));
    const below = at.bottom + 4 + size.height < window.innerHeight;
    tip.style.left = `${left}px`;
    tip.style.top = `${below ? at.bottom + 4 : Math.max(8, at.top - size.height - 4)}px`;
  };
  const leave = () => {
    clearTimeout(leaving);
    leaving = setTimeout(hide, 150);
  };
  for (const term of document.querySelectorAll("a.term")) {
    term.addEventListener("pointerenter", () => show(term));
    term.addEventListener("pointerleave", leave);
    term.addEventListener("focus", () => show(term));
    term.addEventListener("blur", hide);
  }
  tip.addEventListener("pointerenter", () => clearTimeout(leaving));
  tip.addEventListener("pointerleave", leave);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && shown) hide();
  });
  document.addEventListener("scroll", () => shown && hide(), { passive: true, capture: true });
})();
