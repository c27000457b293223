// A page that `./gemm explore --serve` gives out asks its server whether there is a newer one.

const EVERY = 700; // ms

/** @param {(sentence: string) => void} say shows why there is no newer page, or what is being done; nothing: all is well */
export function follow(say) {
  const mine = document.documentElement.dataset.served;
  if (!mine) return;
  let told = "";
  const ask = async () => {
    try {
      const now = await (await fetch("now")).json();
      if (now.version > Number(mine)) {
        location.reload(); // the address keeps what is chosen
        return;
      }
      if (now.note !== told) say((told = now.note));
    } catch {
      say((told = "The server of this page has ended; what it shows is the last state."));
    }
    setTimeout(ask, EVERY);
  };
  setTimeout(ask, EVERY);
}
