/** Small pieces that several panels share. */

import { element } from "./dom.js";
import { percent, readable } from "./numbers.js";

/** @typedef {import("./app.js").App} App */

/**
 * Where in the source a box is computed.
 * @param {App} app
 * @param {string} box
 * @returns {HTMLElement | null}
 */
export function codeLink(app, box) {
  const place = app.doc.code[box];
  if (!place) return null;
  const file = place.file.slice(place.file.lastIndexOf("/") + 1);
  return element("code", { class: "code-link", title: `computed in ${place.file}, line ${place.line}` }, `${file}:${place.line}`);
}

/**
 * The most probable pieces at a step, the written one marked.
 * @param {App} app
 * @param {number} step
 * @param {number} most
 * @returns {HTMLElement}
 */
export function probabilityBars(app, step, most) {
  const written = app.doc.output[step];
  const top = (written?.top ?? []).slice(0, most);
  if (written && !top.some((each) => each.token === written.token)) top.push(written);
  return element(
    "ol",
    { class: "bars" },
    ...top.map((each) => {
      const bar = element("i", { class: "bar" });
      bar.style.width = `${100 * each.probability}%`;
      const attributes = {
        type: "button",
        class: "operand",
        "data-name": "probabilities",
        "data-index": `${step},${each.token}`,
        "data-value": each.probability,
        title: "its arithmetic",
        onclick: () => app.open({ name: "probabilities", index: [step, each.token] }),
      };
      return element(
        "li",
        { class: each.token === written?.token ? "chosen" : "" },
        element("b", { title: each.piece }, readable(each.piece)),
        element("span", { class: "track" }, bar),
        app.has("probabilities")
          ? element("button", attributes, percent(each.probability))
          : element("span", { "data-value": each.probability }, percent(each.probability)),
      );
    }),
  );
}

/**
 * A sentence the reader can act on, when something cannot be shown.
 * @param {unknown} error
 * @returns {HTMLElement}
 */
export function trouble(error) {
  return element("p", { class: "trouble", role: "alert" }, error instanceof Error ? error.message : String(error));
}
