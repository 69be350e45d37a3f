// Whole files: chosen or dropped, translated, and kept by a click.

import { eitherWay } from "./direction.js";
import { get, make } from "./dom.js";
import * as server from "./server.js";

/**
 * @param {ServerState} state
 * @param {() => { source: string, target: string }} languages
 * @param {(found: { source: string, sure: boolean }, target: string) => void} follow
 */
export function openFiles(state, languages, follow) {
	const input = get("file", HTMLInputElement);
	const drop = get("drop", HTMLElement);
	input.accept = state.files.join(",");

	/** @param {File} file */
	async function translate(file) {
		const status = make("span", { className: "note", text: "being translated…" });
		const row = make("p", { className: "file card" }, make("b", { text: file.name }), status);
		get("files", HTMLElement).prepend(row);
		try {
			const { found, target } = await eitherWay(state, { file, ...languages() }, server.translateFile);
			const { path } = found;
			follow(found, target);
			if (found.source === target) status.before(make("span", { className: "note", text: "as it was: " }));
			const blob = await server.download(path);
			const name = path.slice(path.lastIndexOf("/") + 1).replace(/^[^.]*\./, "");
			const link = make("a", { href: URL.createObjectURL(blob), download: name, text: `Save ${name}` });
			status.replaceWith(link);
		} catch (error) {
			status.textContent = error instanceof Error ? error.message : String(error);
		}
	}

	get("choose-file", HTMLButtonElement).addEventListener("click", () => input.click());
	input.addEventListener("change", () => {
		for (const file of input.files ?? []) translate(file);
		input.value = "";
	});
	addEventListener("dragover", (event) => {
		event.preventDefault();
		drop.hidden = get("panel-translate", HTMLElement).hidden;
	});
	addEventListener("dragleave", (event) => {
		if (!event.relatedTarget) drop.hidden = true;
	});
	addEventListener("drop", (event) => {
		event.preventDefault();
		drop.hidden = true;
		for (const file of event.dataTransfer?.files ?? []) translate(file);
	});
}
