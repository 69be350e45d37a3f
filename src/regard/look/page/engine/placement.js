/** Tags go around the run of words that speaks most for them: `regard.documents.placement`. */

import { edges, has, isAlnum, rules } from "./rules.js";
import { spansOf } from "./words.js";

/** @typedef {import("./words.js").Link} Link */
/** A tag, its place in the text, and the number of its partner. @typedef {{ raw: string, position: number, partner: number | null }} Mark */
/** A pair of marks, or a single one, and where it goes. @typedef {{ first: number, last: number, source: Span, span: Span | null }} Element */

/** @param {Span} one @param {Span} other */
const meet = (one, other) => one[0] < other[1] && other[0] < one[1];

/** @param {Span} span @param {Span[]} others */
const meetsAny = (span, others) => others.some((each) => meet(span, each));

/** @param {Span} span @param {Span} room */
const isIn = (span, room) => room[0] <= span[0] && span[1] <= room[1];

/** @param {Span} a @param {Span} b */
const inOrder = (a, b) => a[0] - b[0] || a[1] - b[1];

/** The first with the highest value. @template T @param {T[]} items @param {(item: T) => number} value @returns {T | undefined} */
const best = (items, value) => items.length ? items.reduce((found, each) => (value(each) > value(found) ? each : found)) : undefined;

/** Position in the target and number of each mark, in writing order; null where the words of a tag have no place. @param {Mark[]} marks @param {string} source @param {string} target @param {Link[]} links @param {Span[]} whole no tag is put inside these @returns {[number, number][] | null} */
export function place(marks, source, target, links, whole) {
	const planner = new Planner(marks, source, target, links, whole);
	if (marks.length) planner.placeMarks(0, marks.length, [0, target.length]);
	return planner.isLost ? null : planner.places;
}

class Planner {
	/** @param {Mark[]} marks @param {string} source @param {string} target @param {Link[]} links @param {Span[]} whole */
	constructor(marks, source, target, links, whole) {
		this.marks = marks;
		this.source = source;
		this.target = target;
		const words = spansOf(target, rules.placement._word).filter((word) => !meetsAny(word, whole));
		this.words = [...words, ...whole].sort(inOrder);
		this.links = links.flatMap((link) => this.words.filter((word) => meet(link.target, word)).map((word) => ({ ...link, target: word })));
		this.same = sameStrings(source, target, this.links, whole);
		/** @type {[number, number][]} */
		this.places = [];
		this.isLost = false;
	}

	/** Place the marks from start to stop, pairs from the outside in. @param {number} start @param {number} stop @param {Span} room */
	placeMarks(start, stop, room) {
		/** @type {Element[]} */
		const elements = [];
		for (let first = start; first < stop; ) {
			const last = this.mark(first).partner ?? first;
			elements.push({ first, last, source: [this.mark(first).position, this.mark(last).position], span: null });
			first = last + 1;
		}
		const taken = () => elements.flatMap((each) => (each.span ? [each.span] : []));
		let open = elements.filter((each) => has(this.source.slice(...each.source), rules.placement._word));
		for (const each of open) {
			const span = this.alike(each.source, room);
			if (span && !meetsAny(span, taken())) each.span = span;
		}
		open = open.filter((each) => !each.span);
		while (open.length) {
			const runs = new Map(open.map((each) => [each, this.run(each.source, room, taken())]));
			const chosen = /** @type {Element} */ (best(open, (each) => runs.get(each)?.[0] ?? 0));
			open = open.filter((each) => each !== chosen);
			chosen.span = runs.get(chosen)?.[1] ?? this.ofNeighbour(chosen.source, room, taken());
			this.isLost ||= !chosen.span && /[\p{L}\p{N}]/u.test(this.source.slice(...chosen.source));
		}
		let [reached] = room;
		for (const each of elements.filter(({ span }) => !span)) {
			// Tags without an end, or without a beginning, stay in their order.
			reached = Math.max(reached, this.beside(each.source, elements, start, stop, room));
			reached = Math.max(reached, ...taken().flatMap(([from, to]) => (from < reached && reached < to ? [to] : [])));
			each.span = [reached, reached];
		}
		for (const { first, last, span } of elements.sort((a, b) => inOrder(a.span ?? room, b.span ?? room) || a.first - b.first)) {
			const [from, to] = span ?? room;
			this.places.push([from, first]);
			if (last > first + 1) this.placeMarks(first + 1, last, [from, to]);
			if (last !== first) this.places.push([to, last]);
		}
	}

	/** @param {number} index */
	mark(index) {
		return /** @type {Mark} */ (this.marks[index]);
	}

	/** The same letters in the target: inside a string that both texts write alike, or such a string itself. @param {Span} source @param {Span} room @returns {Span | null} */
	alike(source, room) {
		for (const [ours, theirs] of this.same) {
			const shift = theirs[0] - ours[0];
			/** @type {Span} */
			const span = [source[0] + shift, source[1] + shift];
			if (isIn(source, ours) && isIn(span, room)) return span;
		}
		return null;
	}

	/** The run of free words that speaks most for some words of the source, and how much. @param {Span} source @param {Span} room @param {Span[]} taken @returns {[number, Span | null]} */
	run(source, room, taken) {
		const inside = this.words.filter((word) => isIn(word, room));
		if (!this.links.length) return [0, this.asFarAlong(source, inside.filter((word) => !meetsAny(word, taken)))];
		if (!this.links.some((link) => meet(link.source, source) && link.weight >= rules.placement._min_weight)) return [0, null];
		const scores = new Map(inside.map((word) => [word, 0]));
		/** @type {Set<Span>} */
		const owned = new Set();
		for (const { source: ours, target: word, weight } of this.links) {
			const score = scores.get(word);
			if (score === undefined) continue;
			const isInside = meet(ours, source);
			scores.set(word, score + (isInside ? weight : -weight));
			if (isInside) owned.add(word);
		}
		/** @type {[number, Span | null]} */
		let found = [0, null];
		let [sum, start, isOwned] = [0, -1, false];
		for (const [word, score] of scores) {
			if (meetsAny(word, taken)) {
				start = -1;
				continue;
			}
			if (start < 0 || sum <= 0) [sum, start, isOwned] = [0, word[0], false];
			sum += score;
			isOwned ||= owned.has(word);
			if (isOwned && sum > found[0]) found = [sum, [start, word[1]]];
		}
		// Every word of it may stand for others as well.
		return found[1] ? found : [0, best([...owned].filter((word) => !meetsAny(word, taken)), (word) => scores.get(word) ?? 0) ?? null];
	}

	/** For a short word without a link: languages often say it with the next word, or with the one before. @param {Span} source @param {Span} room @param {Span[]} taken @returns {Span | null} */
	ofNeighbour([start, end], room, taken) {
		const letters = this.source.slice(start, end).trim();
		if (!/^\p{L}+$/u.test(letters) || letters.length > rules.placement._longest_auxiliary) return null;
		const following = end + edges(this.source.slice(end))[0];
		const before = start - edges(this.source.slice(0, start))[1];
		const words = [...this.links.filter((link) => link.source[0] === following), ...this.links.filter((link) => link.source[1] === before)].map((link) => link.target);
		return words.find((word) => isIn(word, room) && !meetsAny(word, taken)) ?? null;
	}

	/** @param {Span} source @param {Span[]} words @returns {Span | null} */
	asFarAlong([start, end], words) {
		const scale = this.target.length / Math.max(this.source.length, 1);
		let chosen = words.filter(([a, b]) => start * scale <= (a + b) / 2 && (a + b) / 2 < end * scale);
		const nearest = best(words, ([a, b]) => -Math.abs(a + b - (start + end) * scale));
		if (!chosen.length && nearest) chosen = [nearest];
		const [first, last] = [chosen[0], chosen[chosen.length - 1]];
		return first && last ? [first[0], last[1]] : null;
	}

	/** Where a tag without words goes. @param {Span} source @param {Element[]} elements @param {number} start @param {number} stop @param {Span} room */
	beside([at, end], elements, start, stop, room) {
		const touchesLeft = /\S$/.test(this.source.slice(0, at)) && !isAlnum(this.source.slice(at, at + 1));
		const ends = elements.flatMap(({ source, span }) => (span && source[1] === at ? [span[1]] : []));
		const starts = elements.flatMap(({ source, span }) => (span && source[0] === at ? [span[0]] : []));
		let place = 0;
		if (ends.length && (touchesLeft || !starts.length)) place = Math.max(...ends);
		else if (starts.length) place = Math.min(...starts);
		else if (this.marks[start - 1]?.position === at) [place] = room;
		else if (this.marks[stop]?.position === at) [, place] = room;
		else place = this.near(at, touchesLeft);
		place = Math.min(Math.max(place, room[0]), room[1]);
		for (const { span } of elements) if (span && span[0] < place && place < span[1]) place = span[touchesLeft ? 1 : 0];
		return place;
	}

	/** After the translation of the word before, or before that of the next one. @param {number} at @param {boolean} touchesLeft */
	near(at, touchesLeft) {
		for (const [ours, theirs] of this.same) if ((ours[0] < at && at < ours[1]) || at === ours[touchesLeft ? 1 : 0]) return theirs[0] + at - ours[0];
		const before = this.links.filter((link) => link.source[1] <= at);
		const after = this.links.filter((link) => link.source[0] >= at);
		if (after.length && !(before.length && touchesLeft)) {
			const first = Math.min(...after.map((link) => link.source[0]));
			return best(after.filter((link) => link.source[0] === first), (link) => link.weight)?.target[0] ?? 0;
		}
		if (before.length) {
			const last = Math.max(...before.map((link) => link.source[1]));
			const ofLast = before.filter((link) => link.source[1] === last);
			let end = best(ofLast, (link) => link.weight)?.target[1] ?? 0;
			this.words.slice(1).forEach((word, i) => {
				if (this.words[i]?.[1] === end && ofLast.some((link) => link.target === word)) [, end] = word;
			});
			return end;
		}
		const wanted = (at / Math.max(this.source.length, 1)) * this.target.length;
		const places = [...this.words.map((word) => word[touchesLeft ? 1 : 0]), at ? this.target.length : 0];
		return best(places, (each) => -Math.abs(each - wanted)) ?? 0;
	}
}

/** Strings that both texts write alike, as often as each other, and that no link contradicts. @param {string} source @param {string} target @param {Link[]} links @param {Span[]} whole @returns {[Span, Span][]} */
function sameStrings(source, target, links, whole) {
	/** @param {string} text */
	const strings = (text) => {
		/** @type {Map<string, Span[]>} */
		const found = new Map();
		for (const span of spansOf(text, rules.placement._string)) found.set(text.slice(...span), [...(found.get(text.slice(...span)) ?? []), span]);
		return found;
	};
	const theirs = strings(target);
	return [...strings(source)].flatMap(([string, spans]) => {
		const others = theirs.get(string) ?? [];
		// With more or fewer of them it is not known which is which.
		if (spans.length !== others.length) return [];
		return spans.map((one, i) => /** @type {[Span, Span]} */ ([one, others[i]])).filter(([one, other]) => {
			const linked = links.filter((link) => meet(link.target, other));
			return !whole.some((span) => meet(span, other) && !isIn(span, other)) && (!linked.length || linked.some((link) => meet(link.source, one)));
		});
	});
}
