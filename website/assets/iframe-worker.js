// The theme searches in a worker, which browsers do not start from a file. There an invisible frame stands in for it: it runs the
// same script, and hears and says the same messages.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "Search";
      document.documentElement.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => setTimeout(() => this.#tell(data));
      inside.importScripts = () => undefined; // of languages other than English
      this.waiting = [];
      this.inside = inside;
      const script = inside.document.createElement("script");
      script.src = new URL(address, location.href).href;
      script.onload = () => this.waiting.splice(0).forEach((data) => this.postMessage(data));
      inside.document.body.append(script);
      this.script = script;
      script.addEventListener("load", () => (this.ready = true), { once: true });
    }

    postMessage(data) {
      if (!this.ready) {
        this.waiting.push(data);
        return;
      }
      this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
    }

    terminate() {}

    #tell(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }
  };
  window.Worker = window.IFrameWorker;
}
