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

/** A link for each word of the target; that which holds most of what both words have first, and two linked words are taken. @param {ArrayLike<number>[]} attention of each target token over the source @param {string} source @param {Span[]} sourceSpans @param {string} target @param {Span[]} targetSpans @returns {Link[]} */
export function align(attention, source, sourceSpans, target, targetSpans) {
	const [sourceWords, targetWords] = [spansOf(source, rules.words._word), spansOf(target, rules.words._word)];
	if (!sourceWords.length || !targetWords.length || !attention.length) return [];
	const columns = shares(sourceWords, sourceSpans);
	const found = shares(targetWords, targetSpans).map((row) => {
		const sum = Math.max(row.reduce((total, share) => total + share, 0), 1e-9);
		const seen = sourceSpans.map((_, i) => row.reduce((total, share, t) => total + share * (attention[t]?.[i] ?? 0), 0));
		return columns.map((column) => column.reduce((total, share, i) => total + share * (seen[i] ?? 0), 0) / sum);
	});
	/** @param {number[]} weights */
	const sum = (weights) => weights.reduce((total, weight) => total + weight, 0);
	const totals = sourceWords.map((_, j) => sum(found.map((row) => row[j] ?? 0)));
	const cells = found.flatMap((row, i) => row.map((weight, j) => ({ i, j, weight, part: weight ** 2 / Math.max((totals[j] ?? 0) * sum(row), 1e-9) })));
	/** @type {Map<number, number>} */
	const linked = new Map();
	const taken = new Set();
	for (const { i, j, weight } of cells.sort((a, b) => b.part - a.part)) {
		if (weight < rules.words._min_attention || linked.has(i) || taken.has(j)) continue;
		linked.set(i, j);
		taken.add(j);
	}
	return found.map((row, i) => {
		const place = linked.get(i) ?? row.indexOf(Math.max(...row));
		return { source: sourceWords[place] ?? [0, 0], target: targetWords[i] ?? [0, 0], weight: Math.round((row[place] ?? 0) * 1e4) / 1e4 };
	});
}
