// A page that `./gemm explore --serve` gives out asks its server whether there is a newer one.

const EVERY = 700; // ms
const PLACE = "gemm-place";

const views = () => /** @type {HTMLElement} */ (document.getElementById("views"));

/** Loads the page anew. What is chosen, and how far the reader has come, stay. */
function again() {
  const chosen = views().dataset.selection; // the address may still have what was chosen before
  if (chosen) history.replaceState(null, "", `#${chosen}`);
  try {
    sessionStorage.setItem(PLACE, String(views().getBoundingClientRect().top)); // what is said above the views comes and goes
  } catch {} // a browser may refuse
  location.reload();
}

/** Goes to where the reader was on the page that this one comes after, as soon as the pictures are as high as they will be. */
export function kept() {
  /** @type {string | null} */
  let place = null;
  try {
    place = sessionStorage.getItem(PLACE);
    sessionStorage.removeItem(PLACE);
  } catch {}
  if (place === null) return;
  history.scrollRestoration = "manual";
  const go = () => scrollTo({ top: scrollY + views().getBoundingClientRect().top - Number(place), behavior: /** @type {ScrollBehavior} */ (/** @type {string} */ ("instant")) });
  requestAnimationFrame(() => requestAnimationFrame(go));
}

/** @param {(told: string) => void} say shows why there is no newer page, or what is being done; nothing: all is well */
export function follow(say) {
  const mine = document.documentElement.dataset.served;
  if (!mine) return;
  let told = "";
  const ask = async () => {
    try {
      const now = await (await fetch("now")).json();
      if (now.version > Number(mine)) return again();
      if (now.note !== told) say((told = now.note));
    } catch {
      say((told = "The server of this page has ended; what it shows is the last state."));
    }
    setTimeout(ask, EVERY);
  };
  setTimeout(ask, EVERY);
}
