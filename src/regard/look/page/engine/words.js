/** Which word became which in a translation: `regard.text.words`. */

import { rules } from "./rules.js";

/** A word of the target, the word of the source that it attended to most, and how much. */
/** @typedef {{ source: Span, target: Span, weight: number }} Link */

/** @param {string} text @param {RegExp} pattern @returns {Span[]} */
export const spansOf = (text, pattern) => Array.from(text.matchAll(pattern), (match) => [match.index, match.index + match[0].length]);

/** Which share of a token's letters are each word's. @param {Span[]} words @param {Span[]} tokens */
function shares(words, tokens) {
	return words.map(([start, end]) => tokens.map(([from, to]) => Math.max(Math.min(end, to) - Math.max(start, from), 0) / Math.max(to - from, 1)));
}

/** @param {number[]} values */
const sum = (values) => values.reduce((a, b) => a + b, 0);

/** A link for each word of the target. @param {ArrayLike<number>[]} attention of each target token over the source @param {string} source @param {Span[]} spans @param {string} target @param {Span[]} tokens @returns {Link[]} */
export function align(attention, source, spans, target, tokens) {
	const [ours, words] = [spansOf(source, rules.words._word), spansOf(target, rules.words._word)];
	if (!ours.length || !words.length || !attention.length) return [];
	const columns = shares(ours, spans);
	const found = shares(words, tokens).map((row) => {
		const seen = spans.map((_, i) => sum(row.map((share, t) => share * (attention[t]?.[i] ?? 0))));
		return columns.map((column) => sum(column.map((share, i) => share * (seen[i] ?? 0))) / Math.max(sum(row), 1e-9));
	});
	const cells = found.flatMap((row, i) => row.map((weight, j) => ({ i, j, weight, part: weight ** 2 / Math.max(sum(found.map((each) => each[j] ?? 0)) * sum(row), 1e-9) })));
	/** @type {number[]} */
	const linked = [];
	/** @type {boolean[]} */
	const taken = [];
	for (const { i, j, weight } of cells.sort((a, b) => b.part - a.part)) {
		if (weight < rules.words._min_attention || i in linked || taken[j]) continue;
		linked[i] = j;
		taken[j] = true;
	}
	return found.map((row, i) => {
		const place = linked[i] ?? row.indexOf(Math.max(...row));
		return { source: ours[place] ?? [0, 0], target: words[i] ?? [0, 0], weight: Math.round((row[place] ?? 0) * 1e4) / 1e4 };
	});
}
