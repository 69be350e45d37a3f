/** The text at each stage of the pipeline, and the choice among several sentences. */

import { button, element, span } from "./dom.js";
import { asking } from "./parts.js";

const BEFORE = /** @type {const} */ (["given", "normalised", "protected"]);
/** number of the first run that the page's own engine makes of another text */
const FIRST_OF_ENGINE = 100;
const AFTER = /** @type {const} */ (["written", "restored"]);

/** The text of a run as `translate` gives it: with everything restored. @param {Doc} doc */
export function finalText(doc) {
	return doc.stages?.restored ?? doc.target?.text ?? "";
}

/** One line of stages; those that changed nothing show no text. @param {Doc} doc @param {readonly (keyof Stages)[]} names */
function stageLine(doc, names) {
	const { stages } = doc;
	if (!stages) return null;
	const parts = names.map((name, i) => {
		const before = names[i - 1];
		const isSame = before !== undefined && stages[before] === stages[name];
		const text = isSame ? "unchanged" : element("b", { id: `stage-${name}` }, stages[name]);
		return span(`text-stage ${isSame ? "folded" : ""}`, i ? "→ " : "", span("note", `${name} `), text);
	});
	return element("div", { class: "text-stages" }, ...parts);
}

/** What stands before the tokens: the sentence to choose, and its text until it is tokenized. @param {App} app @returns {HTMLElement[]} */
export function textBefore(app) {
	const line = stageLine(app.doc, BEFORE);
	return [...sentenceChoice(app), ...(line ? [span("strip-label", "text"), line] : [])];
}

/** What follows the tokens. @param {Doc} doc */
export function stagesAfter(doc) {
	return stageLine(doc, AFTER);
}

/** A button for each sentence of a longer text. @param {App} app @returns {HTMLElement[]} */
function sentenceChoice(app) {
	const { sentences = [], sentence: here, changes } = app.doc;
	if (sentences.length < 2 || changes) return [];
	const { run } = app.state;
	const status = span("");
	const asks = asking(status);
	/** @param {number} number */
	const choose = (number) => asks(() => app.data.sentence(run, number), (doc) => void (app.state.run === run && app.go({ run: doc.run, step: 0, token: 0, place: null })));
	const buttons = sentences.map((text, number) =>
		button(
			{ id: `sentence-${number}`, class: "small", title: text, "aria-pressed": number === here ? "true" : "false", onclick: () => choose(number) },
			number + 1,
		),
	);
	const isRough = app.data.engineName === "javascript" && run >= FIRST_OF_ENGINE;
	const note = isRough && span("note", "this page finds sentence ends by fewer rules than regard translate");
	return [span("strip-label", "sentence"), element("div", { class: "choice", role: "group", "aria-label": "sentence" }, ...buttons, note, status)];
}
