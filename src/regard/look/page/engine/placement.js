/** Tags go around the words that translate the words they stood around: `regard.documents.placement`. */

import { isAlnum, rules } from "./rules.js";
import { spansOf } from "./words.js";

/** @typedef {import("./words.js").Link} Link */
/** A tag, its place in the text, and the number of its partner. @typedef {{ raw: string, position: number, partner: number | null }} Mark */

/** @param {Span} one @param {Span} other */
export const meet = (one, other) => one[0] < other[1] && other[0] < one[1];

/** @param {Span} span @param {Span} room */
const isIn = (span, room) => room[0] <= span[0] && span[1] <= room[1];

/** @param {Span} a @param {Span} b */
const inOrder = (a, b) => a[0] - b[0] || a[1] - b[1];

/** Position in the target and number of the mark, in writing order; null where a tag finds no room. @param {Mark[]} marks @param {string} source @param {string} target @param {Link[]} links @param {Span[]} whole no tag is put inside these @returns {[number, number][] | null} */
export function place(marks, source, target, links, whole) {
	/** @type {[number, number][]} */
	const found = [];
	if (!marks.length) return found;
	return new Planner(marks, source, target, links, whole).lay(0, marks.length, [0, target.length], found) ? found : null;
}

class Planner {
	/** @param {Mark[]} marks @param {string} source @param {string} target @param {Link[]} links @param {Span[]} whole */
	constructor(marks, source, target, links, whole) {
		this.marks = marks;
		this.source = source;
		this.target = target;
		const words = spansOf(target, rules.placement._word).filter((word) => !whole.some((each) => meet(word, each)));
		this.words = [...words, ...whole].sort(inOrder);
		this.unchanged = this.unchangedWords(whole);
		/** words, and the letters of words that may have a tag inside @type {Span[]} */
		this.units = this.words.flatMap((word) => {
			if (!this.unchanged.some((each) => meet(word, each.target))) return [word];
			return Array.from({ length: word[1] - word[0] }, (_, i) => /** @type {Span} */ ([word[0] + i, word[0] + i + 1]));
		});
		// A link to a part of a word is a link to the word.
		this.links = links.flatMap((link) => {
			const first = this.words.filter((word) => word[1] <= link.target[0]).length;
			const last = this.words.filter((word) => word[0] < link.target[1]).length - 1;
			return first <= last ? [{ ...link, target: /** @type {Span} */ ([this.words[first]?.[0] ?? 0, this.words[last]?.[1] ?? 0]) }] : [];
		});
	}

	/** Source words with a mark inside, linked to the same words of the target. @param {Span[]} whole */
	unchangedWords(whole) {
		/** @param {string} text */
		const byWord = (text) => {
			/** @type {Map<string, Span[]>} */
			const found = new Map();
			for (const span of spansOf(text, rules.placement._word)) {
				const word = text.slice(...span);
				found.set(word, [...(found.get(word) ?? []), span]);
			}
			return found;
		};
		const theirs = byWord(this.target);
		return [...byWord(this.source)].flatMap(([word, spans]) => {
			const others = theirs.get(word) ?? [];
			// With more or fewer of them it is not known which is which.
			if (others.length !== spans.length) return [];
			const pairs = spans.map((span, i) => ({ source: span, target: /** @type {Span} */ (others[i]) }));
			return pairs.filter((pair) => this.marks.some((mark) => pair.source[0] < mark.position && mark.position < pair.source[1]) && !whole.some((each) => meet(pair.target, each)));
		});
	}

	/** Place the marks from start to stop, pairs from the outside in; false where a tag would lose its words. @param {number} start @param {number} stop @param {Span} room @param {[number, number][]} found @returns {boolean} */
	lay(start, stop, room, found) {
		/** @type {Span[]} */
		const pairs = [];
		for (let first = start; first < stop; first = (pairs[pairs.length - 1]?.[1] ?? first) + 1) pairs.push([first, this.marks[first]?.partner ?? first]);
		const sources = pairs.map(([first, last]) => /** @type {Span} */ ([this.marks[first]?.position ?? 0, this.marks[last]?.position ?? 0]));
		let wanted = sources.map((source) => this.wanted(source, room, true));
		/** @param {number} i */
		const middle = (i) => (wanted[i]?.[0] ?? 0) + (wanted[i]?.[1] ?? 0);
		let order = pairs.map((_, i) => i).sort((a, b) => middle(a) - middle(b) || a - b);
		/** @param {number} i @returns {[Span, Span]} */
		const both = (i) => [/** @type {Span} */ (sources[i]), /** @type {Span} */ (wanted[i])];
		let spans = this.apart(order.map(both), room);
		if (!spans) {
			order = pairs.map((_, i) => i);
			wanted = sources.map((source) => this.wanted(source, room, false));
			spans = this.apart(order.map(both), room);
		}
		return spans !== null && spans.every((span, i) => {
			const [first, last] = /** @type {Span} */ (pairs[/** @type {number} */ (order[i])]);
			found.push([span[0], first]);
			if (last > first + 1 && !this.lay(first + 1, last, span, found)) return false;
			if (last !== first) found.push([span[1], last]);
			return true;
		});
	}

	/** From the first to the last target word linked to the words of the source, else as far along as these. @param {Span} source @param {Span} room @param {boolean} byLinks @returns {Span} */
	wanted(source, room, byLinks) {
		const [start, end] = source;
		for (const word of this.unchanged) {
			const shift = word.target[0] - word.source[0];
			if (isIn(source, word.source) && isIn([start + shift, end + shift], room)) return [start + shift, end + shift];
		}
		const inside = this.words.filter((word) => isIn(word, room));
		if (!inside.length || start === end) return this.between(start, room);
		let chosen = byLinks ? this.links.filter((link) => meet(link.source, source)).map((link) => link.target).filter((span) => isIn(span, room)) : [];
		const scale = this.target.length / Math.max(this.source.length, 1);
		if (!chosen.length) chosen = inside.filter(([a, b]) => start * scale <= (a + b) / 2 && (a + b) / 2 < end * scale);
		/** @param {Span} word */
		const gap = (word) => Math.abs(word[0] + word[1] - (start + end) * scale);
		if (!chosen.length) chosen = [inside.reduce((best, word) => (gap(word) < gap(best) ? word : best))];
		return [Math.min(...chosen.map((span) => span[0])), Math.max(...chosen.map((span) => span[1]))];
	}

	/** A span without width: before the translation of the next words, or after that of the last ones. @param {number} position @param {Span} room @returns {Span} */
	between(position, room) {
		const before = this.links.filter((link) => link.source[1] <= position);
		const after = this.links.filter((link) => link.source[0] >= position);
		// The number of a footnote, for one, belongs to the word before it.
		const followsAWord = this.source.slice(Math.max(0, position - 1), position).trim() !== "" && !isAlnum(this.source.slice(position, position + 1));
		let at = 0;
		if (after.length && !(before.length && followsAWord)) {
			const nearest = Math.min(...after.map((link) => link.source[0]));
			at = Math.min(...after.filter((link) => link.source[0] === nearest).map((link) => link.target[0]));
		} else if (before.length) {
			const nearest = Math.max(...before.map((link) => link.source[1]));
			at = Math.max(...before.filter((link) => link.source[1] === nearest).map((link) => link.target[1]));
		} else {
			const wanted = (position / Math.max(this.source.length, 1)) * this.target.length;
			const edges = [...this.words.map((word) => word[0]), this.target.length];
			at = edges.reduce((best, edge) => (Math.abs(edge - wanted) < Math.abs(best - wanted) ? edge : best));
		}
		at = Math.min(Math.max(at, room[0]), room[1]);
		return [at, at];
	}

	/** The spans one after another without overlap; null where one is left without a word. @param {[Span, Span][]} wanted @param {Span} room @returns {Span[] | null} */
	apart(wanted, room) {
		let [cursor] = room;
		/** @type {Span[]} */
		const spans = [];
		for (const [source, span] of wanted) {
			let [start, end] = span;
			if (source[0] === source[1]) start = end = Math.max(start, cursor);
			else {
				const inside = this.units.filter((unit) => isIn(unit, [Math.max(start, cursor), end]));
				const [first, last] = [inside[0], inside[inside.length - 1]];
				if (!first || !last) return null;
				[start, end] = [first[0], last[1]];
			}
			spans.push([start, end]);
			cursor = end;
		}
		return spans;
	}
}
