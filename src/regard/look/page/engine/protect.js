/** Protected spans masked by stand-ins that a model copies, and restored in what it wrote: `regard.translate.protect`. */

import { capitals } from "./normalise.js";
import { place } from "./placement.js";
import { isAlnum, rules } from "./rules.js";

/** @typedef {import("./normalise.js").Normalised} Normalised */
/** @typedef {import("./placement.js").Mark} Mark */
/** @typedef {import("./protected.js").ProtectedSpan} ProtectedSpan */
/** @typedef {import("./words.js").Link} Link */

const EDGES = "[\\p{L}\\p{N}]";

/** A sentence as the model reads it. */
export class MaskedSentence {
	/** @param {string} given @param {Normalised} normalised @param {ProtectedSpan[]} spans in the given sentence */
	constructor(given, normalised, spans) {
		this.given = given;
		this.spans = spans;
		this.inCapitals = normalised.inCapitals;
		/** @type {{ text: string, original: string, pattern: RegExp }[]} */
		this.standIns = [];
		/** @type {Mark[]} */
		this.marks = [];
		/** for each character of the masked text the span in the given sentence that it stands for @type {Span[]} */
		this.places = [];
		this.text = "";
		const { offsets } = normalised;
		let cursor = 0;
		/** @param {number} stop */
		const copy = (stop) => {
			this.text += normalised.text.slice(cursor, stop);
			for (let at = cursor; at < stop; at++) this.places.push([offsets[at] ?? 0, Math.max(offsets[at + 1] ?? 0, (offsets[at] ?? 0) + 1)]);
		};
		/** @param {number} edge */
		const found = (edge) => offsets.filter((offset) => offset < edge).length;
		const next = freeStandIns(given);
		const tags = placedTags(spans.filter((each) => each.kind === "tag"));
		for (const each of spans) {
			copy(found(each.span[0]));
			cursor = found(each.span[1]);
			let standIn = "";
			const partner = tags.get(each);
			if (partner !== undefined) {
				// A line break keeps two words apart.
				if (isAlnum(this.text.slice(-1)) && isAlnum(given.slice(each.span[1], each.span[1] + 1)) && partner === null) standIn = " ";
				this.marks.push({ raw: each.text, position: this.text.length + standIn.length, partner });
			} else {
				standIn = next(each.kind);
				const pattern = new RegExp(`(?<!${EDGES})${standIn}(?!${EDGES})(?![.,]?\\p{Nd})`, "giu");
				this.standIns.push({ text: standIn, original: each.text, pattern });
			}
			this.text += standIn;
			for (let i = 0; i < standIn.length; i++) this.places.push(each.span);
		}
		copy(normalised.text.length);
	}

	/** The text before, between and after the protected spans. */
	outside() {
		const edges = [0, ...this.spans.flatMap((each) => each.span), this.given.length];
		return edges.flatMap((edge, i) => (i % 2 ? [] : [this.given.slice(edge, edges[i + 1])]));
	}

	/** Whether there is anything to translate beside the protected spans. */
	get hasWords() {
		return this.outside().some((part) => /[\p{L}\p{N}]/u.test(part));
	}

	/** Where a span of the masked text stands in the given sentence. @param {Span} span @returns {Span} */
	givenSpan(span) {
		return [this.places[span[0]]?.[0] ?? 0, this.places[span[1] - 1]?.[1] ?? 0];
	}

	/** Whether a text does not hold every stand-in exactly once. @param {string} written */
	lacks(written) {
		return this.standIns.some((each) => (written.match(each.pattern) ?? []).length !== 1);
	}

	/** The written text with every stand-in replaced and every tag placed; and where a span of it stands then. @param {string} written @param {Link[]} links */
	restore(written, links) {
		/** @type {[number, number, string][]} */
		const edits = [];
		for (const { pattern, original } of this.standIns) {
			for (const match of written.matchAll(pattern)) edits.push([match.index, match.index + match[0].length, original]);
		}
		edits.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
		const whole = edits.map(([start, end]) => /** @type {Span} */ ([start, end]));
		// Without room around their words all tags go to the end, in their order.
		const positions = place(this.marks, this.text, written, links, whole) ?? this.marks.map((_, i) => /** @type {[number, number]} */ ([written.length, i]));
		for (const [at, index] of positions) edits.push([at, at, this.marks[index]?.raw ?? ""]);
		return edited(this.inCapitals ? capitals(written) : written, edits.sort((a, b) => a[0] - b[0] || a[1] - b[1]));
	}
}

/** The text with other words in these spans, which are in order and apart. @param {string} text @param {[number, number, string][]} edits */
function edited(text, edits) {
	let [result, cursor] = ["", 0];
	/** @type {Span[]} */
	const places = [];
	for (const [start, end, words] of [...edits, /** @type {[number, number, string]} */ ([text.length, text.length, ""])]) {
		for (let i = cursor; i < start; i++) places.push([result.length + i - cursor, result.length + i - cursor + 1]);
		result += text.slice(cursor, start);
		for (let i = start; i < end; i++) places.push([result.length, result.length + words.length]);
		result += words;
		cursor = end;
	}
	/** @param {Span} span @returns {Span} */
	const moved = (span) => [places[span[0]]?.[0] ?? 0, places[span[1] - 1]?.[1] ?? 0];
	return { text: result, moved };
}

/** Stand-ins of each kind that the sentence does not hold. @param {string} sentence @returns {(kind: ProtectedSpan["kind"]) => string} */
function freeStandIns(sentence) {
	const folded = sentence.toLowerCase();
	let [name, number] = [0, rules.protect._first_number];
	/** @type {string[]} */
	const persons = rules.protect._persons.filter((/** @type {string} */ each) => !folded.includes(each.toLowerCase()));
	const freeName = () => {
		do name++;
		while (folded.includes(`x${name}`));
		return `X${name}`;
	};
	const freeNumber = () => {
		let found = "";
		do {
			found = String(number);
			number += rules.protect._step;
		} while (folded.includes(found));
		return found;
	};
	return (kind) => (kind === "number" ? freeNumber() : kind === "person" ? (persons.shift() ?? freeName()) : freeName());
}

/** The tags that stand around words or between them, each with its partner's number among them; the others are masked as names. @param {ProtectedSpan[]} tags @returns {Map<ProtectedSpan, number | null>} */
function placedTags(tags) {
	/** @type {Map<number, number>} */
	const pairs = new Map();
	/** @type {{ at: number, name: string }[]} */
	const opened = [];
	tags.forEach((tag, at) => {
		const name = nameOf(tag.text);
		// A mark of stress is the same at both ends.
		const closes = tag.text.startsWith("<") ? tag.text.startsWith("</") : tags.slice(0, at).filter((each) => each.text === tag.text).length % 2 === 1;
		if (!closes) opened.push({ at, name });
		else if (opened.some((each) => each.name === name)) {
			for (let last = opened.pop(); last; last = last.name === name ? undefined : opened.pop()) {
				if (last.name !== name) continue;
				pairs.set(last.at, at);
				pairs.set(at, last.at);
			}
		}
	});
	const chosen = tags.flatMap((tag, at) => (pairs.has(at) || tag.text.endsWith("/>") || rules.protect._void.includes(nameOf(tag.text).toLowerCase()) ? [at] : []));
	/** @param {number} at @returns {[ProtectedSpan, number | null]} */
	const entry = (at) => [/** @type {ProtectedSpan} */ (tags[at]), pairs.has(at) ? chosen.indexOf(/** @type {number} */ (pairs.get(at))) : null];
	return new Map(chosen.map(entry));
}

/** @param {string} tag */
const nameOf = (tag) => tag.replace(/^[</>]+|[</>]+$/g, "").split(/\s+/)[0] ?? "";

/** A translation with the first letter and the end of a part of a sentence. @param {string} text @param {string} part */
export function asAPart(text, part) {
	if (/^\p{Lowercase}/u.test(part) && /^\p{Uppercase}\p{Lowercase}/u.test(text)) text = text.slice(0, 1).toLowerCase() + text.slice(1);
	const ends = rules.protect._ends;
	return ends.includes(part.slice(-1)) ? text : text.replace(new RegExp(`[${ends}]+$`), "");
}
