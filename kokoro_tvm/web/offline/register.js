/** Let the browser keep the site, and start a version that came during an earlier visit. */

const { serviceWorker } = navigator;

if (serviceWorker) {
  const registration = await serviceWorker.register("./service_worker.js", { updateViaCache: "none" });
  if (registration.waiting) {
    serviceWorker.addEventListener("controllerchange", () => location.reload(), { once: true });
    registration.waiting.postMessage("take over");
  }
}
