/** The two sentences, piece by piece, and the buttons that write the second one step by step. */

import { button, choice, element, marks } from "./dom.js";
import { isSpecial, percent } from "./numbers.js";

/** @import { App } from "./app.js" */

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

/** @param {App} app @param {Player} player @returns {HTMLElement[]} */
export function tokenStrips(app, player) {
	const { source, target, output } = app.doc;
	const parts = [];
	if (source) {
		parts.push(
			element("span", { class: "strip-label" }, "reads"),
			element(
				"div",
				{ class: "strip", role: "group", "aria-label": "Source pieces" },
				...source.pieces.map((piece, i) =>
					button(
						{
							id: `source-${i}`,
							class: chipClass(source.pieces, i),
							"aria-pressed": i === app.state.token ? "true" : "false",
							title: `piece ${i}: “${piece}”, number ${source.tokens[i]} of the vocabulary`,
							onclick: () => app.go({ token: i }),
						},
						element("b", {}, plain(piece)),
						element("small", marks(source.tokens[i] ?? 0, { name: "source.tokens", index: [i] }), source.tokens[i]),
					),
				),
			),
		);
	}
	if (target && output.length) {
		const pieces = output.map((each) => each.piece);
		parts.push(
			element("span", { class: "strip-label" }, "writes"),
			element(
				"div",
				{ class: "strip", role: "group", "aria-label": "Written pieces" },
				...output.map((each, i) => {
					const state = i < app.state.step ? "past" : i === app.state.step ? "now" : "future";
					return button(
						{
							id: `written-${i}`,
							class: `${chipClass(pieces, i)} ${state}`,
							"aria-pressed": i === app.state.step ? "true" : "false",
							title: `step ${i}: after reading “${target.pieces[i]}” it writes “${each.piece}”`,
							onclick: () => app.go({ step: i }),
						},
						element("b", {}, plain(each.piece)),
						element("small", marks(each.probability, { name: "output", index: [i] }), percent(each.probability)),
					);
				}),
			),
		);
	}
	if (output.length > 1) parts.push(controls(app, player));
	return parts;
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
			{
				id: "play",
				class: "primary",
				title: "play or pause (space)",
				onclick: () => player.toggle(),
			},
			player.isPlaying ? "❚❚ pause" : "▶ play",
		),
		button(
			{
				id: "step-on",
				disabled: atEnd,
				title: "one step on (right arrow)",
				"aria-label": "step on",
				onclick: () => player.move(1),
			},
			"▸",
		),
		element("span", { class: "step-count" }, `step ${app.state.step + 1} of ${app.numSteps}`),
	);
}

/** @param {string[]} pieces @param {number} i */
function chipClass(pieces, i) {
	const piece = pieces[i] ?? "";
	const before = pieces[i - 1];
	const continues = before !== undefined && !piece.startsWith("▁") && !isSpecial(piece) && !isSpecial(before);
	return `chip ${continues ? "continues" : ""} ${isSpecial(piece) ? "special" : ""}`;
}

/** @param {string} piece */
function plain(piece) {
	return piece.replaceAll("▁", "") || "␣";
}

/**
 * Which head, as buttons.
 * @param {App} app
 * @param {number} numHeads
 */
export function headChoice(app, numHeads) {
	const options = Array.from({ length: numHeads }, (_, head) => ({ value: String(head), text: String(head + 1) }));
	return choice("head", options, String(app.state.head), (value) => app.go({ head: Number(value) }));
}
