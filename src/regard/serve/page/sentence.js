// One sentence opened: other ways to say it, and the door into look.

import { get, make, say } from "./dom.js";
import { opensLook } from "./look.js";
import * as server from "./server.js";

const NUM_ALTERNATIVES = 4;

/**
 * @param {ServerState} state
 * @param {import("./result.js").Result} result
 * @returns {{ close: () => void }}
 */
export function openSentence(state, result) {
	const panel = get("sentence", HTMLElement);
	const list = get("alternatives", HTMLElement);
	const look = get("look", HTMLButtonElement);
	const status = get("look-status", HTMLElement);
	let opened = -1;

	/** @param {number} number @param {Target[]} ways */
	function draw(number, ways) {
		const shown = result.shown(number);
		list.replaceChildren(
			...ways.map((way) => {
				const input = make("input", { type: "radio", name: "way" });
				input.checked = way.text === shown?.text;
				input.addEventListener("change", () => result.choose(number, way));
				return make("label", { className: "way" }, input, make("span", { text: way.text }));
			}),
		);
	}

	/** @param {number} number */
	async function open(number) {
		const translation = result.translation;
		const sentence = translation?.sentences[number];
		if (!translation || !sentence) return;
		opened = number;
		panel.hidden = false;
		get("sentence-source", HTMLElement).textContent = sentence.source;
		look.hidden = !state.look;
		say(status, "");
		draw(number, sentence.targets);
		const request = { text: sentence.source, source: translation.source, target: result.target };
		try {
			const found = await server.translate({ ...request, alternatives: NUM_ALTERNATIVES });
			const ways = found.sentences[0]?.targets ?? [];
			if (opened !== number || result.translation !== translation) return;
			draw(number, ways);
			const first = list.querySelector("input:checked");
			if (first instanceof HTMLElement) first.focus();
		} catch (error) {
			say(status, error instanceof Error ? error.message : String(error));
		}
	}

	function close() {
		opened = -1;
		panel.hidden = true;
	}

	/** The reader goes back to where they came from. */
	function leave() {
		const number = opened;
		close();
		result.focus(number);
	}

	opensLook(look, status, () => {
		const sentence = result.translation?.sentences[opened];
		return sentence ? { text: sentence.source, source: result.language, target: result.target } : null;
	});
	get("close-sentence", HTMLButtonElement).addEventListener("click", leave);
	panel.addEventListener("keydown", (event) => {
		if (event.key === "Escape") leave();
	});
	result.onOpen = open;
	return { close };
}
