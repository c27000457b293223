// The theme searches in a worker, which browsers do not start from a file. There an invisible frame stands in for it: it runs the
// same script, and hears and says the same messages.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    #inside;
    #waiting = []; // what was said before the script was there; null afterwards

    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "Search";
      document.documentElement.append(frame);
      this.#inside = frame.contentWindow;
      this.#inside.postMessage = (data) => setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })));
      const script = this.#inside.document.createElement("script");
      script.src = new URL(address, location.href).href;
      script.addEventListener("load", () => {
        const waiting = this.#waiting;
        this.#waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      });
      this.#inside.document.body.append(script);
    }

    postMessage(data) {
      if (this.#waiting) this.#waiting.push(data);
      else this.#inside.dispatchEvent(new this.#inside.MessageEvent("message", { data }));
    }
  };
  window.Worker = window.IFrameWorker;
}
