// Translation as one types.

import { AUTO, eitherWay } from "./direction.js";
import { copies, get, make, say } from "./dom.js";
import { openFiles } from "./files.js";
import { Result } from "./result.js";
import { openSentence } from "./sentence.js";
import * as server from "./server.js";

const PATIENCE = 250;
const KEPT = "regard-text";

/** @param {ServerState} state */
export function openTranslate(state) {
	const source = get("source", HTMLTextAreaElement);
	const from = get("source-language", HTMLSelectElement);
	const to = get("target-language", HTMLSelectElement);
	const status = get("status", HTMLElement);
	const copy = get("copy", HTMLButtonElement);
	const result = new Result(get("result", HTMLElement), source, get("backdrop", HTMLElement));
	const sentence = openSentence(state, result);
	/** @type {AbortController | null} */
	let asking = null;
	let timer = 0;
	let language = ""; // as it was found

	const sources = [...new Set(state.pairs.map((pair) => pair.source))];
	const detect = make("option", { value: AUTO, text: "Detect language" });
	from.append(detect);
	for (const code of sources) from.append(make("option", { value: code, text: state.languages[code] ?? code }));

	function fillTargets() {
		const kept = to.value;
		const pairs = state.pairs.filter((pair) => from.value === AUTO || pair.source === from.value);
		const targets = [...new Set(pairs.map((pair) => pair.target))];
		to.replaceChildren(
			...targets.map((code) => make("option", { value: code, text: state.languages[code] ?? code })),
		);
		if (targets.includes(kept)) to.value = kept;
	}

	/** @param {string} code @returns {string} */
	const nameOf = (code) => state.languages[code] ?? code;

	/** The languages are those that were found. @param {{ source: string, sure: boolean }} found @param {string} target */
	function follow(found, target) {
		to.value = target;
		language = found.source;
		if (from.value === AUTO) detect.textContent = `${nameOf(language)}, ${found.sure ? "detected" : "a guess"}`;
	}

	/** With both directions there is a way back, also where the language was found out. */
	function wayBack() {
		const start = from.value === AUTO ? language : from.value;
		return state.pairs.find((pair) => pair.source === to.value && (!start || pair.target === start));
	}

	async function translate() {
		asking?.abort();
		const text = source.value;
		const kept = text.length > state.characters ? "" : text;
		sessionStorage.setItem(KEPT, JSON.stringify([kept, from.value, to.value]));
		detect.textContent = "Detect language";
		language = "";
		sentence.close();
		get("count", HTMLElement).textContent = `${[...text].length} / ${state.characters}`;
		if (!text.trim()) {
			result.clear();
			copy.disabled = true;
			say(status, "");
			return;
		}
		const controller = (asking = new AbortController());
		get("result", HTMLElement).setAttribute("aria-busy", "true");
		try {
			const request = { text, source: from.value, target: to.value };
			const { found, target } = await eitherWay(state, request, (each) => server.translate(each, controller.signal));
			to.value = target;
			result.show(found, target);
			copy.disabled = !found.text;
			const name = nameOf(found.source);
			const hasLetters = found.probability !== 0 || !found.sure;
			if (hasLetters) follow(found, target);
			if (!found.sure) say(status, `The language is not sure: this was read as ${name}.`);
			else if (found.source !== target || !hasLetters) say(status, "");
			else say(status, `${name} already: no model here translates it`);
		} catch (error) {
			if (controller.signal.aborted) return;
			// What stood there was the translation of another text.
			result.clear();
			copy.disabled = true;
			say(status, error instanceof Error ? error.message : String(error));
		}
		if (asking === controller) get("result", HTMLElement).setAttribute("aria-busy", "false");
	}

	function soon() {
		clearTimeout(timer);
		timer = setTimeout(translate, PATIENCE);
	}

	source.addEventListener("input", soon);
	from.addEventListener("change", () => {
		fillTargets();
		translate();
	});
	to.addEventListener("change", translate);
	get("clear", HTMLButtonElement).addEventListener("click", () => {
		source.value = "";
		source.focus();
		translate();
	});
	get("swap", HTMLButtonElement).addEventListener("click", () => {
		const back = wayBack();
		if (!back) {
			say(status, `No model here translates from ${nameOf(to.value)}.`);
			return;
		}
		const text = result.text;
		from.value = back.source;
		fillTargets();
		to.value = back.target;
		if (text) source.value = text;
		translate();
	});
	copies(copy, () => result.text);
	const languages = () => ({ source: from.value, target: to.value });
	openFiles(state, languages, (found, target) => {
		// The languages of a text that is there are its own.
		if (!source.value.trim()) follow(found, target);
	});
	const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null") ?? [source.value, AUTO, ""];
	[source.value, from.value] = kept;
	if (!from.value) from.value = AUTO;
	fillTargets();
	if ([...to.options].some((option) => option.value === kept[2])) to.value = kept[2];
	translate();
	if (source.offsetParent) source.focus();
}
