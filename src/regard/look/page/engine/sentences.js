/**
 * A text as sentences that a model can read, and the untranslated text between them: `regard.text.sentences`. Sentence ends
 * are guessed as the package sentencex guesses them in running text, with its words (sentence_ends.json: `abbreviations` end
 * no sentence, `starters` begin one even after these); its rules for lists and quotations within quotations are left out, and
 * the page says so where a text has several sentences.
 */

import { edges, has, matchAtStart, rules, stripped } from "./rules.js";

/** The sentences of a text, what stands around them, and which were cut or are too long for the model. */
/** @typedef {{ sentences: string[], separators: string[], cut: Set<number>, tooLong: Set<number> }} SplitText */

const BREAK = /[\p{Sentence_Terminal}․。｡]+/gu;
const QUOTED = /``.*?''|``.*?``|\B`\b.*?`\B|(?<![\p{L}\p{N}_'])'(?=[\p{L}\p{N}_]).*?(?<=\S)'(?![\p{L}\p{N}_])|".*?"|«.*?»|‘.*?’|‚.*?‚|“.*?”|‛.*?‛|„.*?“|‟.*?‟|‹.*?›|《.*?》|「.*?」/gsu;
const BRACKETED = /[(（<{[][^)\]}>）]*[)\]}>）]/gu;
const ADDRESS = /[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,7}/g;
const REFERENCE = /^(?:\s*\[\d+\])+/;
/** The places after which a new sentence begins. @param {string} text @param {Set<string>} abbreviations @param {Set<string>} starters */
function boundaries(text, abbreviations, starters) {
	/** @type {{ start: number, end: number, isQuote: boolean }[]} */
	const ranges = [QUOTED, BRACKETED, ADDRESS].flatMap((pattern) =>
		Array.from(text.matchAll(pattern), (match) => ({ start: match.index, end: match.index + match[0].length, isQuote: pattern === QUOTED })),
	);
	ranges.sort((a, b) => a.start - b.start);
	/** @type {number[]} */
	const found = [];
	for (const match of text.matchAll(BREAK)) {
		const head = text.slice(0, match.index);
		const tail = text.slice(match.index + 1, match.index + 31);
		const word = head.split(/[\s.]/).pop() ?? "";
		const reference = REFERENCE.exec(tail);
		let boundary = match.index + (reference ? 1 + reference[0].length : match[0].length);
		if (!reference) {
			if (/^[0-9a-z]/.test(tail)) continue;
			const forms = [word, word.toLowerCase(), word.toUpperCase()];
			const isBegun = starters.has(/^\s+([A-Z][a-z]*)/.exec(tail)?.[1] ?? "");
			if (match[0] === "." && word && !isBegun && forms.some((form) => abbreviations.has(form))) continue;
			const space = /^\s+/.exec(tail);
			if (space) boundary = match.index + 1 + space[0].length;
		}
		const range = ranges.find((each) => boundary > each.start && boundary < each.end);
		if (range) {
			const after = text.slice(range.end, range.end + 30);
			const isLast = range.isQuote && text.slice(boundary, range.end).length === 1;
			if (!isLast || /^[0-9a-z]/.test(after.trim())) continue;
			boundary = range.end + (/^[\s\p{Sentence_Terminal}]*/u.exec(after)?.[0].length ?? 0);
		}
		if (boundary > (found[found.length - 1] ?? 0) && boundary < text.length) found.push(boundary);
	}
	return [...found, text.length];
}

/** The text in order; only its sentence ends are guessed, no character is lost. @param {string} text @param {string} language @returns {string[]} */
function sentencesOf(text, language) {
	const own = rules.sentences;
	const [abbreviations, starters] = [own.abbreviations, own.starters].map((words) => new Set(words[language.slice(0, 2)]?.split(" ")));
	/** @type {string[]} */
	const found = [];
	const lines = text.match(/[^\n\v\f\r\x1c-\x1e\x85\u2028\u2029]*(?:\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029])|[^\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+/gu) ?? [];
	for (const field of lines.flatMap((line) => line.match(own._field) ?? [])) {
		let [begun, start] = ["", 0];
		for (const end of boundaries(field.replace(own._other_space, " "), abbreviations ?? new Set(), starters ?? new Set())) {
			const segment = field.slice(start, end);
			start = end;
			if (begun && !isSameSentence(begun, segment)) {
				found.push(begun);
				begun = "";
			}
			begun += segment;
		}
		found.push(begun);
	}
	return found;
}

/** Whether a sentence goes on where an end was guessed, as after "M." before "Dupont". @param {string} left @param {string} right */
function isSameSentence(left, right) {
	const own = rules.sentences;
	if (!/\s$/u.test(left) && /^(?:\/|-|<\/)/.test(right)) return true;
	if (left.endsWith(".") && matchAtStart(right, own._capitals)) return true;
	const end = left.slice(-own._longest_abbreviation);
	/** @type {[RegExp, RegExp] | undefined} */
	const stop = own._stops.find((/** @type {[RegExp, RegExp]} */ [before]) => has(end, before));
	return stop !== undefined && matchAtStart(right, stop[1]) !== null;
}

/** @param {string} text */
export const hasWord = (text) => /[\p{L}\p{N}]/u.test(text);

/** What is translated in one go, and the emoji after it. @param {string} text @param {string} language @returns {[string, string][]} */
function stretches(text, language) {
	/** @type {[string, string][]} */
	const found = [];
	for (const sentence of sentencesOf(text, language)) {
		let start = 0;
		const mark = matchAtStart(sentence, rules.sentences._bullet);
		if (mark && hasWord(sentence.slice(mark[0].length))) {
			start = mark[0].length;
			found.push(["", mark[0]]);
		}
		for (const match of sentence.matchAll(rules.sentences._emoji)) {
			if (match.index < start) continue;
			const words = sentence.slice(start, match.index);
			found.push(hasWord(words) ? [words, match[0]] : ["", words + match[0]]);
			start = match.index + match[0].length;
		}
		const rest = sentence.slice(start);
		found.push(!start || hasWord(rest) ? [rest, ""] : ["", rest]);
	}
	return found;
}

/** Cut a text into parts of at most `most` tokens. @param {string} text @param {string} language @param {(text: string) => number} count @param {number} most @param {boolean} [bySentences] otherwise only what is too long is cut @returns {SplitText} */
export function split(text, language, count, most, bySentences = true) {
	/** @type {SplitText} */
	const parts = { sentences: [], separators: [""], cut: new Set(), tooLong: new Set() };
	/** @param {string} more */
	const append = (more) => (parts.separators[parts.separators.length - 1] += more);
	/** @type {[string, string][]} */
	const whole = [[text, ""]];
	for (const [words, after] of bySentences ? stretches(text, language) : whole) {
		const sentence = stripped(words);
		if (!hasWord(sentence)) {
			append(words + after);
			continue;
		}
		const [before, behind] = edges(words);
		append(words.slice(0, before));
		const found = cut(sentence, count, most);
		for (const [part, space] of found) {
			if (found.length > 1) parts.cut.add(parts.sentences.length);
			if (part.length * 3 > most && isOneWord(part) && count(part) > most) parts.tooLong.add(parts.sentences.length);
			parts.sentences.push(part);
			parts.separators.push(space);
		}
		append(words.slice(words.length - behind) + after);
	}
	return parts;
}

/** @param {string} text */
const isOneWord = (text) => !has(text, rules.sentences._unspaced) && !/\s/u.test(text);

/** The sentence as parts, each short enough, and the white space after each. @param {string} sentence @param {(text: string) => number} count @param {number} most @returns {[string, string][]} */
function cut(sentence, count, most) {
	if ([...sentence].length === 1 || count(sentence) <= most || isOneWord(sentence)) return [[sentence, ""]];
	const [start, end] = bestCut(sentence);
	const left = cut(sentence.slice(0, start), count, most);
	const last = left[left.length - 1];
	if (last) last[1] = sentence.slice(start, end);
	return [...left, ...cut(sentence.slice(end), count, most)];
}

/** The white space nearest to the middle, of the best kind there is; else the middle itself. @param {string} sentence @returns {Span} */
function bestCut(sentence) {
	const middle = sentence.length / 2;
	const { _cuts: cuts, _edge: edge } = rules.sentences;
	for (const [pattern, reach] of [...cuts.map((/** @type {RegExp} */ each) => [each, 0.5 - edge]), [cuts[cuts.length - 1], 0.5]]) {
		let best = null;
		for (const match of sentence.matchAll(pattern)) {
			const gap = Math.abs(match.index + match[0].length / 2 - middle);
			if (!best || gap < best.gap) best = { gap, span: /** @type {Span} */ ([match.index, match.index + match[0].length]) };
		}
		if (best && best.gap <= reach * sentence.length) return best.span;
	}
	return [Math.floor(middle), Math.floor(middle)];
}
