// A translation on the page: its sentences can be opened, and a word shows the word it came from.

import { make } from "./dom.js";

/** A stretch of text, with the numbers of the links that touch it. */
/** @typedef {{ start: number, end: number, link: Link }} Word */

export class Result {
	/** @param {HTMLElement} place @param {HTMLTextAreaElement} source @param {HTMLElement} backdrop */
	constructor(place, source, backdrop) {
		this.place = place;
		this.source = source;
		this.backdrop = backdrop;
		/** @type {Translation | null} */
		this.translation = null;
		/** @type {number[]} which way of each sentence is shown */
		this.chosen = [];
		this.target = "";
		/** @type {(number: number) => void} */
		this.onOpen = () => undefined;
		source.addEventListener("scroll", () => this.follow());
		source.addEventListener("input", () => this.mark([]));
		document.addEventListener("selectionchange", () => this.atCaret());
		place.addEventListener("pointerover", (event) => this.atWord(event.target));
		place.addEventListener("pointerleave", () => this.unmark());
		place.addEventListener("keydown", (event) => this.onKey(event));
		place.addEventListener("click", (event) => this.open(event.target));
	}

	/** The language of what is shown, as it was found. */
	get language() {
		return this.translation?.source ?? "";
	}

	get text() {
		return this.place.textContent ?? "";
	}

	clear() {
		this.translation = null;
		this.place.replaceChildren();
		this.mark([]);
	}

	/** @param {Translation} translation @param {string} target */
	show(translation, target) {
		this.translation = translation;
		this.target = target;
		this.chosen = translation.sentences.map(() => 0);
		this.draw();
	}

	/** @param {number} number @param {Target} way another way to say a sentence */
	choose(number, way) {
		const sentence = this.translation?.sentences[number];
		if (!sentence) return;
		let place = sentence.targets.findIndex((each) => each.text === way.text);
		if (place < 0) place = sentence.targets.push(way) - 1;
		this.chosen[number] = place;
		this.draw();
	}

	/** @param {number} number @returns {Target | undefined} */
	shown(number) {
		return this.translation?.sentences[number]?.targets[this.chosen[number] ?? 0];
	}

	draw() {
		const { translation } = this;
		this.mark([]);
		if (!translation) return;
		const parts = [];
		let end = 0;
		for (const [number, sentence] of translation.sentences.entries()) {
			const first = sentence.targets[0];
			const shown = this.shown(number);
			if (!first || !shown) continue;
			// What stands between sentences is the source's white space.
			parts.push(translation.text.slice(end, sentence.start));
			end = sentence.start + first.text.length;
			const span = make("span", {
				className: "sentence",
				role: "button",
				tabindex: "0",
				"data-number": String(number),
				"aria-label": `${shown.text} (open other ways to say it)`,
			});
			span.append(...this.words(shown, sentence));
			parts.push(span);
		}
		parts.push(translation.text.slice(end));
		this.place.replaceChildren(...parts);
	}

	/** @param {Target} target @param {Sentence} sentence @returns {(Node | string)[]} */
	words(target, sentence) {
		const nodes = [];
		let end = 0;
		for (const [from, to, start, stop] of target.links) {
			if (start < end) continue;
			nodes.push(target.text.slice(end, start));
			const places = { "data-from": String(sentence.source_start + from), "data-to": String(sentence.source_start + to) };
			nodes.push(make("span", { className: "word", text: target.text.slice(start, stop), ...places }));
			end = stop;
		}
		nodes.push(target.text.slice(end));
		return nodes;
	}

	/** @param {EventTarget | null} node */
	atWord(node) {
		if (!(node instanceof HTMLElement) || !node.classList.contains("word")) return;
		this.unmark();
		node.classList.add("linked");
		this.mark([[Number(node.dataset["from"]), Number(node.dataset["to"])]]);
	}

	/** The words that the word at the caret became. */
	atCaret() {
		if (document.activeElement !== this.source) return;
		this.unmark();
		const caret = this.source.selectionStart;
		for (const word of this.place.querySelectorAll(".word")) {
			if (!(word instanceof HTMLElement)) continue;
			const [from, to] = [Number(word.dataset["from"]), Number(word.dataset["to"])];
			if (from <= caret && caret < to) {
				word.classList.add("linked");
				this.mark([[from, to]]);
			}
		}
	}

	unmark() {
		for (const word of this.place.querySelectorAll(".linked")) word.classList.remove("linked");
		this.mark([]);
	}

	/** Behind the text that is being written: marks under some of its words. */
	/** @param {[number, number][]} spans */
	mark(spans) {
		const text = this.source.value;
		const nodes = [];
		let end = 0;
		for (const [from, to] of spans) {
			nodes.push(text.slice(end, from), make("mark", { text: text.slice(from, to) }));
			end = to;
		}
		this.backdrop.replaceChildren(...nodes, `${text.slice(end)}\n`);
		this.follow();
	}

	follow() {
		this.backdrop.scrollTop = this.source.scrollTop;
	}

	/** Enter opens a sentence; left and right go from word to word. */
	/** @param {KeyboardEvent} event */
	onKey(event) {
		const sentence = event.target;
		if (!(sentence instanceof HTMLElement) || !sentence.classList.contains("sentence")) return;
		if (event.key === "Enter" || event.key === " ") {
			event.preventDefault();
			this.open(sentence);
		}
		const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
		if (!step) return;
		event.preventDefault();
		const words = [...sentence.querySelectorAll(".word")];
		const now = words.findIndex((word) => word.classList.contains("linked"));
		this.atWord(words[Math.min(Math.max(now + step, 0), words.length - 1)] ?? null);
	}

	/** @param {number} number of a sentence */
	focus(number) {
		const sentence = this.place.querySelector(`[data-number="${number}"]`);
		if (sentence instanceof HTMLElement) sentence.focus();
	}

	/** @param {EventTarget | null} node */
	open(node) {
		const sentence = node instanceof HTMLElement ? node.closest(".sentence") : null;
		if (sentence instanceof HTMLElement) this.onOpen(Number(sentence.dataset["number"]));
	}
}
