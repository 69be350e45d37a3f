/** The two sentences, piece by piece, and the buttons that write the second one step by step. */

import { button, choice, element, marks } from "./dom.js";
import { isSpecial, percent } from "./numbers.js";

const PLAY_MILLISECONDS = 1100;

/** Steps through the writing, by button, by key or by itself. */
export class Player {
	/** @param {App} app */
	constructor(app) {
		this.app = app;
		/** @type {ReturnType<typeof setInterval> | null} */
		this.timer = null;
		/** @type {() => void} */
		this.changed = () => {};
	}

	get isPlaying() {
		return this.timer !== null;
	}

	/** @param {number} by */
	move(by) {
		const { app } = this;
		app.go({ step: Math.max(0, Math.min(app.numSteps - 1, app.state.step + by)) });
	}

	toggle() {
		if (this.timer) {
			clearInterval(this.timer);
			this.timer = null;
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
			...strip("reads", source.pieces, source.words, (i) => ({
				id: `source-${i}`,
				chosen: i === token,
				title: `piece ${i}: “${source.pieces[i]}”, number ${source.tokens[i]} of the vocabulary`,
				press: () => app.go({ token: i }),
				foot: element("small", marks(source.tokens[i] ?? 0, { name: "source.tokens", index: [i] }), source.tokens[i]),
			})),
		);
	}
	if (target) {
		const pieces = output.length ? output.map((each) => each.piece) : target.pieces;
		// What is written is what is read one place later.
		const words = output.length ? target.words.map((span) => span.map((place) => place - 1)) : target.words;
		parts.push(
			...strip("writes", pieces, words, (i) => ({
				id: `written-${i}`,
				chosen: i === step,
				state: i < step ? "past" : i === step ? "now" : "future",
				title: `step ${i}: after reading “${target.pieces[i]}” it writes “${pieces[i]}”`,
				press: () => app.go({ step: i }),
				foot: output[i]
					? element("small", marks(output[i].probability, { name: "output", index: [i] }), percent(output[i].probability))
					: null,
			})),
		);
	}
	if (app.numSteps > 1) parts.push(controls(app, player));
	return parts;
}

/**
 * @param {string} label
 * @param {string[]} pieces
 * @param {number[][]} words
 * @param {(i: number) => {id: string, chosen: boolean, state?: string, title: string, press: () => void, foot: HTMLElement | null}} chip
 */
function strip(label, pieces, words, chip) {
	const first = new Set(words.map(([start]) => start));
	const chips = pieces.map((piece, i) => {
		const { id, chosen, state = "", title, press, foot } = chip(i);
		const kind = isSpecial(piece) ? "special" : first.has(i) ? "" : "continues";
		const text = piece.replaceAll("▁", "") || "␣";
		return button(
			{ id, class: `chip ${kind} ${state}`, "aria-pressed": chosen ? "true" : "false", title, onclick: press },
			element("b", {}, text),
			foot,
		);
	});
	return [
		element("span", { class: "strip-label" }, label),
		element("div", { class: "strip", role: "group", "aria-label": label }, ...chips),
	];
}

/** @param {App} app @param {Player} player */
function controls(app, player) {
	const atStart = app.state.step === 0;
	const atEnd = app.state.step >= app.numSteps - 1;
	return element(
		"div",
		{ class: "controls", role: "group", "aria-label": "Generation" },
		button(
			{
				id: "step-back",
				disabled: atStart,
				title: "one step back (left arrow)",
				"aria-label": "step back",
				onclick: () => player.move(-1),
			},
			"◂",
		),
		button(
			{ id: "play", class: "primary", title: "play or pause (space)", onclick: () => player.toggle() },
			player.isPlaying ? "❚❚ pause" : "▶ play",
		),
		button(
			{ id: "step-on", disabled: atEnd, title: "one step on (right arrow)", "aria-label": "step on", onclick: () => player.move(1) },
			"▸",
		),
		element("span", { class: "step-count" }, `step ${app.state.step + 1} of ${app.numSteps}`),
	);
}

/** Which head, as buttons. @param {App} app @param {number} numHeads */
export function headChoice(app, numHeads) {
	const options = Array.from({ length: numHeads }, (_, head) => ({ value: String(head), text: String(head + 1) }));
	return choice("head", options, String(app.state.head), (value) => app.go({ head: Number(value) }));
}
