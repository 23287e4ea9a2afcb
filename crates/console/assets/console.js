// The graph in place: zoom, pan, search, and the paths between two versions. Without this script every link and form of
// the page does the same with a new page.
"use strict";

(() => {
  const canvas = document.getElementById("canvas");
  if (!canvas) return;
  const svg = canvas.querySelector("svg");
  const status = document.getElementById("status");
  const answer = document.getElementById("answer");
  const versions = [...svg.querySelectorAll("a[data-version]")];
  const updates = [...svg.querySelectorAll("g[data-to]")];
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const sizes = [10, 15, 25, 40, 60, 80, 100, 125, 160, 200, 300];
  let zoom = Number(document.getElementById("zoom").dataset.zoom);
  let chosen = null;

  // Zoom: the point under the pointer, or else the middle, stays where it is.
  function setZoom(next, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
    const factor = next / zoom;
    const left = (canvas.scrollLeft + x) * factor - x;
    const top = (canvas.scrollTop + y) * factor - y;
    zoom = next;
    svg.setAttribute("width", Math.round((width * zoom) / 100));
    svg.setAttribute("height", Math.round((height * zoom) / 100));
    canvas.scrollTo({ left, top, behavior: "instant" });
    canvas.dataset.zoom = zoom;
  }
  function step(direction, x, y) {
    const next =
      direction === 0 ? 100
      : direction > 0 ? sizes.find((size) => size > zoom)
      : sizes.findLast((size) => size < zoom);
    if (next) setZoom(next, x, y);
  }
  for (const link of document.querySelectorAll("[data-zoom-step]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      step(Number(link.dataset.zoomStep));
    });
  }
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    step(-Math.sign(event.deltaY), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "+" || event.key === "=") step(1);
    else if (event.key === "-") step(-1);
    else if (event.key === "0") step(0);
    else if (event.key === "Escape") clear();
    else return;
    event.preventDefault();
  });

  // Pan: drag the drawing. A drag is not a click.
  let drag = null;
  let dragged = false;
  canvas.classList.add("pans");
  canvas.addEventListener("pointerdown", (event) => {
    dragged = false;
    if (event.button !== 0 || event.pointerType === "touch") return;
    drag = { x: event.clientX, y: event.clientY, left: canvas.scrollLeft, top: canvas.scrollTop };
  });
  addEventListener("pointermove", (event) => {
    if (!drag) return;
    const [x, y] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!dragged && Math.hypot(x, y) < 5) return;
    dragged = true;
    canvas.classList.add("panning");
    canvas.scrollTo({ left: drag.left - x, top: drag.top - y, behavior: "instant" });
  });
  addEventListener("pointerup", () => {
    drag = null;
    canvas.classList.remove("panning");
    // The click of this drag comes before the timer.
    setTimeout(() => (dragged = false));
  });
  canvas.addEventListener("dragstart", (event) => event.preventDefault());

  // Search: mark the versions that contain the text, and show the first.
  const search = document.getElementById("search");
  const field = search.elements.namedItem("find");
  function find(show) {
    const text = field.value.trim();
    const found = versions.filter((link) => text && link.dataset.version.includes(text));
    for (const link of versions) link.classList.toggle("found", found.includes(link));
    status.textContent = !text ? "" : found.length === 1 ? "1 version found" : `${found.length} versions found`;
    const first = found.find((link) => link.dataset.version === text) ?? found[0];
    first?.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (show) first?.focus();
  }
  field.addEventListener("input", () => find(false));
  search.addEventListener("submit", (event) => {
    event.preventDefault();
    find(true);
  });

  // Two versions: light up the updates of the first, and load what is known about both.
  function light(isLit) {
    for (const update of updates) update.classList.toggle("lit", isLit(update));
  }
  function clear() {
    chosen = null;
    canvas.classList.remove("chosen");
    for (const link of versions) link.classList.remove("chosen");
    light(() => false);
    answer.replaceChildren();
    status.textContent = "";
  }
  function choose(link) {
    chosen = link;
    canvas.classList.add("chosen");
    for (const other of versions) other.classList.toggle("chosen", other === link);
    const version = link.dataset.version;
    light((update) => update.dataset.to === version || update.dataset.from.split(" ").includes(version));
    answer.replaceChildren();
    status.textContent = `${version} is chosen. Choose a second version, or the same one again for all its updates.`;
  }
  async function compare(first, second) {
    const [from, to] = versions.indexOf(first) < versions.indexOf(second) ? [first, second] : [second, first];
    second.classList.add("chosen");
    const query = new URLSearchParams({ from: from.dataset.version, to: to.dataset.version });
    const address = `${canvas.dataset.update}&${query}`;
    chosen = null;
    status.textContent = `Loading the paths from ${from.dataset.version} to ${to.dataset.version}`;
    try {
      const reply = await fetch(address);
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      const part = page.getElementById("update");
      if (!part) throw new Error("no answer");
      // This page has its own first heading.
      const heading = document.createElement("h2");
      heading.textContent = part.querySelector("h1").textContent;
      heading.tabIndex = -1;
      part.querySelector("h1").replaceWith(heading);
      for (const old of part.querySelectorAll("h3")) raise(old, "h4");
      for (const old of part.querySelectorAll("h2")) if (old !== heading) raise(old, "h3");
      part.removeAttribute("id");
      answer.replaceChildren(document.importNode(part, true));
      const hops = [...answer.querySelectorAll(".path a[data-from]")];
      light((update) => hops.some((hop) =>
        update.dataset.to === hop.dataset.to && update.dataset.from.split(" ").includes(hop.dataset.from)));
      status.textContent = `The paths from ${from.dataset.version} to ${to.dataset.version} are below the drawing.`;
      answer.scrollIntoView({ block: "nearest" });
      answer.querySelector("h2").focus({ preventScroll: true });
    } catch {
      // The page of the update says what is wrong.
      location.assign(address);
    }
  }
  function raise(old, name) {
    const heading = document.createElement(name);
    heading.append(...old.childNodes);
    old.replaceWith(heading);
  }
  for (const link of versions) {
    link.addEventListener("click", (event) => {
      if (dragged) {
        event.preventDefault();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.shiftKey || chosen === link) return;
      event.preventDefault();
      if (chosen) compare(chosen, link);
      else choose(link);
    });
  }
  // On the page of a version, that version is the first.
  const given = versions.find((link) => link.dataset.version === canvas.dataset.from);
  if (given) choose(given);
  canvas.dataset.ready = "yes";
})();
