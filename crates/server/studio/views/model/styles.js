// The sheets of the model pages, added once.

/** @param {string} name */
function add(name) {
  const href = new URL(name, import.meta.url).href;
  if (document.querySelector(`link[href="${href}"]`)) return;
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = href;
  document.head.append(link);
}

export function styles() {
  add("../collections/collections.css");
  add("./model.css");
  add("../tables/items.css");
  add("../operate/operate.css");
}
