/** The two sentences, token by token, and the buttons that write the second one step by step. */

import { b, button, element, marks, span } from "./dom.js";
import { isSpecial, percent, textOf } from "./numbers.js";
import { stagesAfter } from "./stages.js";
import { writtenWords } from "./structure.js";
import { range } from "./tensor.js";

const PLAY_MILLISECONDS = 1100;

/** Steps through the writing, by button, by key or by itself. */
export class Player {
	/** @param {App} app */
	constructor(app) {
		this.app = app;
		/** 0 where nothing plays */
		this.timer = 0;
		/** @type {() => void} */
		this.changed = () => {};
	}

	get isPlaying() {
		return this.timer !== 0;
	}

	/** @param {number} by */
	move(by) {
		const { app } = this;
		app.go({ step: Math.max(0, Math.min(app.numSteps - 1, app.state.step + by)) });
	}

	toggle() {
		if (this.timer) {
			clearInterval(this.timer);
			this.timer = 0;
		} else {
			if (this.app.state.step >= this.app.numSteps - 1) this.app.go({ step: 0 });
			this.timer = setInterval(() => {
				if (this.app.state.step >= this.app.numSteps - 1) this.toggle();
				else this.move(1);
			}, PLAY_MILLISECONDS);
		}
		this.changed();
	}
}

/** @param {App} app @param {Player} player */
export function tokenStrips(app, player) {
	const { source, target, output } = app.doc;
	const { step, token } = app.state;
	const parts = [];
	if (source) {
		parts.push(
			...strip("reads", source.token_strings, source.words, (i) => ({
				id: `source-${i}`,
				chosen: i === token,
				title: `token ${i + 1}: “${source.token_strings[i]}”, number ${source.tokens[i]} of the vocabulary`,
				press: () => app.go({ token: i }),
				foot: element("small", marks(source.tokens[i] ?? 0, { name: "source.tokens", index: [i] }), source.tokens[i]),
			})),
		);
	}
	if (target) {
		const tokenStrings = output.length ? output.map((each) => each.token_string) : target.token_strings;
		const words = output.length ? writtenWords(app.doc).spans : target.words;
		const isGiven = (/** @type {number} */ i) => i < app.numGiven;
		parts.push(
			...strip(app.numGiven ? "goes on" : "writes", tokenStrings, words, (i) => ({
				id: `written-${i}`,
				chosen: i === step,
				state: `${i < step ? "past" : i === step ? "now" : "future"} ${isGiven(i) ? "given" : ""}`,
				title: `step ${i + 1}: after reading “${target.token_strings[i]}” ${isGiven(i) ? "it was given" : "it writes"} “${tokenStrings[i]}”`,
				press: () => app.go({ step: i }),
				foot: output[i]
					? element("small", marks(output[i].probability, { name: "output", index: [i] }), percent(output[i].probability))
					: null,
			})),
		);
	}
	const after = stagesAfter(app.doc);
	if (app.numSteps > 1 || after) parts.push(element("div", { class: "controls-row" }, app.numSteps > 1 ? controls(app, player) : null, after));
	return parts;
}

/** @param {string} label @param {string[]} tokenStrings @param {number[][]} words @param {(i: number) => Chip} chip */
function strip(label, tokenStrings, words, chip) {
	const first = new Set(words.map(([start]) => start));
	const chips = tokenStrings.map((tokenString, i) => {
		const { id, chosen, state = "", title, press, foot } = chip(i);
		const kind = isSpecial(tokenString) ? "special" : first.has(i) ? "" : "continues";
		const text = textOf([tokenString]) || "␣";
		return button(
			{ id, class: `chip ${kind} ${state}`, "aria-pressed": chosen ? "true" : "false", title, onclick: press },
			b("", text),
			foot,
		);
	});
	return [span("strip-label", label), element("div", { class: "strip", role: "group", "aria-label": label }, ...chips)];
}

/** @param {App} app @param {Player} player */
function controls(app, player) {
	/** @param {string} id @param {string} text @param {string} title @param {number} by */
	const mover = (id, text, title, by) => {
		const isLast = !(app.state.step + by in range(app.numSteps));
		return button({ id, disabled: isLast, title, "aria-label": title, onclick: () => player.move(by) }, text);
	};
	return element(
		"div",
		{ class: "controls", role: "group", "aria-label": "Generation" },
		mover("step-back", "◂", "one step back (left arrow)", -1),
		button(
			{ id: "play", class: "primary", title: "play or pause (space)", onclick: () => player.toggle() },
			player.isPlaying ? "❚❚ pause" : "▶ play",
		),
		mover("step-on", "▸", "one step on (right arrow)", 1),
		span("step-count", `step ${app.state.step + 1} of ${app.numSteps}`),
	);
}
