/** Spans that a translation must copy letter for letter: `regard.text.protected` finds them, and so does this. */

import { has, isAlnum, rules } from "./rules.js";

/** @typedef {{ span: Span, text: string, kind: "name" | "person" | "number" | "tag" }} ProtectedSpan */
/** @typedef {[number, number, ProtectedSpan["kind"]]} Found */

/** From left to right. @param {string} text @param {(sign: string) => boolean} knows whether the vocabulary has a character @returns {ProtectedSpan[]} */
export function findProtected(text, knows) {
	let found = knownForms(text);
	if (has(text, rules.protected._code_sign) || ![...new Set(text)].every(knows)) {
		const known = [...found];
		found.push(...unknown(text, knows).filter(([start, end]) => !known.some(([a, b]) => start < b && a < end)));
		found = found.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
	}
	return found.map(([start, end, kind]) => ({ span: [start, end], text: text.slice(start, end), kind }));
}

/** Of matches that overlap the first, and of these the longest. @param {string} text @returns {Found[]} */
function knownForms(text) {
	/** @type {[number, number, number, ProtectedSpan["kind"]][]} */
	const matches = [];
	rules.protected._patterns.forEach((/** @type {[ProtectedSpan["kind"], RegExp, RegExp]} */ [kind, needs, pattern], /** @type {number} */ order) => {
		if (!has(text, needs)) return;
		for (const match of text.matchAll(pattern)) if (match[0] !== "%%") matches.push([match.index, match.index + match[0].length, order, kind]);
	});
	for (const [start, end] of icuMessages(text)) matches.push([start, end, -1, "name"]);
	for (const match of text.matchAll(rules.protected._stressed)) {
		const length = match.groups?.["g1"]?.length ?? 0;
		const end = match.index + match[0].length;
		for (const at of [match.index, end - length]) matches.push([at, at + length, -1, "tag"]);
	}
	matches.sort((a, b) => a[0] - b[0] || b[1] - a[1] || a[2] - b[2]);
	/** @type {Found[]} */
	const found = [];
	for (const [start, end, , kind] of matches) if (start >= (found[found.length - 1]?.[1] ?? 0)) found.push([start, end, kind]);
	return found;
}

/** From the first brace of an ICU message to the one that closes it. @param {string} text @returns {Span[]} */
function icuMessages(text) {
	/** @type {Span[]} */
	const found = [];
	for (const head of text.matchAll(rules.protected._icu_head)) {
		if (head.index < (found[found.length - 1]?.[1] ?? 0)) continue;
		let depth = 0;
		for (const brace of text.slice(head.index, head.index + rules.protected._longest_icu).matchAll(/[{}]/g)) {
			depth += brace[0] === "{" ? 1 : -1;
			if (depth) continue;
			found.push([head.index, head.index + brace.index + 1]);
			break;
		}
	}
	return found;
}

/** Symbols and words with a character that the vocabulary lacks; neighbours in another script are one span. @param {string} text @param {(sign: string) => boolean} knows @returns {Found[]} */
function unknown(text, knows) {
	/** @type {Found[]} */
	const found = [];
	for (const match of text.matchAll(rules.protected._symbol)) {
		const symbols = [...match[0]].filter((sign) => /\p{S}/u.test(sign));
		if (has(match[0], rules.protected._code_sign) || !symbols.every(knows)) found.push([match.index, match.index + match[0].length, "number"]);
	}
	let [start, end] = [0, 0];
	for (const match of text.matchAll(rules.protected._word)) {
		const signs = [...match[0]].filter((sign) => isAlnum(sign) && !knows(sign));
		if (!signs.length) continue;
		const first = match.index;
		let last = first + match[0].replace(/-+$/, "").length;
		if (signs.every((sign) => sign <= rules.protected._latin_end || !/\p{L}/u.test(sign))) {
			found.push([first, last, "name"]);
			continue;
		}
		// In some scripts vowels are combining marks, not letters.
		last += /^\p{M}*/u.exec(text.slice(last))?.[0].length ?? 0;
		if (end && new RegExp(`^(?:${rules.protected._between.source})$`, "u").test(text.slice(end, first))) {
			end = last;
			continue;
		}
		if (end) found.push([start, end, "name"]);
		[start, end] = [first, last];
	}
	if (end) found.push([start, end, "name"]);
	return found;
}
