// A text that goes on.

import { chooser, copies, get, make, say } from "./dom.js";
import { opensLook } from "./look.js";
import { stream } from "./server.js";

// From this share of the requested tokens on, a story ends with a sentence; so many more may come until then.
const NEAR_THE_END = 0.85;
const ROOM = 64;
const SENTENCE_END = /[.!?…]["'”’»)]*(?=\s|$)/g;

/** @param {string} text @returns {string} up to its last whole sentence, or all of it */
function wholeSentences(text) {
	const last = [...text.matchAll(SENTENCE_END)].pop();
	return last ? text.slice(0, last.index + last[0].length) : text;
}

/** @param {ServerState} state */
export function openWrite(state) {
	const form = get("write", HTMLFormElement);
	get("no-write", HTMLElement).hidden = state.write.length > 0;
	form.hidden = !state.write.length;
	if (!state.write.length) return;
	const model = chooser("write-model", state.write);

	const story = get("story", HTMLElement);
	const go = get("go", HTMLButtonElement);
	const stop = get("stop-write", HTMLButtonElement);
	const copy = get("copy-story", HTMLButtonElement);
	const trouble = get("write-trouble", HTMLElement);
	/** @type {AbortController | null} */
	let writing = null;

	for (const id of ["length", "temperature"]) {
		const slider = get(id, HTMLInputElement);
		slider.addEventListener("input", () => {
			if (slider.nextElementSibling) slider.nextElementSibling.textContent = slider.value;
		});
	}

	async function write() {
		writing?.abort();
		const prompt = get("prompt", HTMLTextAreaElement).value;
		const controller = (writing = new AbortController());
		const words = make("span");
		story.replaceChildren(make("b", { text: prompt }), words);
		say(trouble, "");
		go.hidden = true;
		stop.hidden = false;
		const length = Number(get("length", HTMLInputElement).value);
		const request = {
			model: model(),
			prompt,
			max_tokens: length + ROOM,
			temperature: Number(get("temperature", HTMLInputElement).value),
		};
		try {
			let count = 0;
			let text = "";
			for await (const part of stream("v1/completions", request, controller.signal)) {
				// White space after the sign shows that it ended a sentence, and not a number's first half.
				if (++count > NEAR_THE_END * length && /^\s/.test(part) && wholeSentences(text) === text) break;
				words.textContent = text += part;
			}
			if (count >= request.max_tokens) words.textContent = wholeSentences(text);
			controller.abort();
		} catch (error) {
			if (!controller.signal.aborted) say(trouble, error instanceof Error ? error.message : String(error));
		}
		if (writing === controller) {
			writing = null;
			go.hidden = false;
			stop.hidden = true;
		}
		copy.disabled = !words.textContent;
	}

	form.addEventListener("submit", (event) => {
		event.preventDefault();
		write();
	});
	stop.addEventListener("click", () => writing?.abort());
	copies(copy, () => story.textContent ?? "");
	const look = get("look-story", HTMLButtonElement);
	look.hidden = !state.look;
	opensLook(look, get("look-story-status", HTMLElement), () => ({
		text: get("prompt", HTMLTextAreaElement).value,
		model: model(),
	}));
}
