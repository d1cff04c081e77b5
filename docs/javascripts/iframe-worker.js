// A page that was opened as a file may not start a web worker, and the site's search runs in one. Opened so, the search
// runs in a hidden frame instead: same script, same messages. The name is the one that the theme's search asks for.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(script) {
      super();
      const address = new URL(script, document.baseURI).href;
      const waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...names) => names.reduce((done, name) => done.then(() => load(name)), Promise.resolve());

      const load = (name) =>
        new Promise((resolve, reject) => {
          const element = inside.document.createElement("script");
          element.src = new URL(name, address).href;
          element.onload = resolve;
          element.onerror = () => reject(new Error(`${name} could not be loaded`));
          inside.document.body.append(element);
        });

      const deliver = (data) => inside.dispatchEvent(new MessageEvent("message", { data }));
      this.postMessage = (data) => waiting.push(data);
      this.terminate = () => frame.remove();
      load(address).then(
        () => {
          this.postMessage = deliver;
          waiting.forEach(deliver);
        },
        (error) => this.dispatchEvent(new ErrorEvent("error", { error, message: error.message })),
      );
    }
  };
  window.Worker = window.IFrameWorker;
}
