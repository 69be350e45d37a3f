/** Text to token ids and back, as `regard.text.tokenizer` and `regard.text.imported_tokenizers` do it. */

import { SPACE_MARK, SentencePiece } from "./sentencepiece.js";



const ESCAPE = "\u{f2581}";
const BYTE = /^<0x[0-9A-F]{2}>$/;
const LANGUAGE = /^(>>[^<> ]+<<) ?/;
const SPECIAL = /^(?:<unk>|<\/?s>|<pad>|>>[^<> ]+<< ?)$/;

/** A vocabulary and a segmentation. */
export class Tokenizer {
	/** @param {ArrayBuffer} file a SentencePiece model @param {{ vocabulary?: Record<string, number>, prompt?: string, beginning?: string[] }} [foreign] with the numbering of another program */
	constructor(file, { vocabulary, prompt = "", beginning = [] } = {}) {
		this.processor = new SentencePiece(file);
		this.prompt = prompt;
		/** @type {Map<string, number> | null} */
		this.numbers = vocabulary ? new Map(Object.entries(vocabulary)) : null;
		/** @type {string[]} */
		this.strings = [];
		if (this.numbers) for (const [token, id] of this.numbers) this.strings[id] = token;
		else this.strings = this.processor.pieces.map((each) => each.text);
		this.unknown = this.numbers ? (this.numbers.get("<unk>") ?? 0) : this.processor.unknown;
		this.specialIds = this.numbers ? new Set([...this.numbers].flatMap(([token, id]) => (SPECIAL.test(token) ? [id] : []))) : this.processor.specialIds;
		this.beginning = beginning.flatMap((token) => this.idOf(token) ?? []);
	}

	/** @param {string} token @returns {number | undefined} */
	idOf(token) {
		if (this.numbers) return this.numbers.get(token);
		const id = this.strings.indexOf(token);
		return id < 0 || id === this.unknown ? undefined : id;
	}

	/** @param {string} text @returns {number[]} the ids, without beginning and end */
	encode(text) {
		const whole = (this.prompt + text).replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
		if (!this.numbers) {
			const escaped = whole.replace(/[\u{f2581}▁]/gu, (sign) => ESCAPE + (sign === SPACE_MARK ? "1" : "0"));
			return this.processor.encode(escaped);
		}
		const language = LANGUAGE.exec(whole);
		const first = language?.[1] === undefined ? undefined : this.numbers.get(language[1]);
		const rest = first === undefined ? whole : whole.slice(language?.[0].length);
		const ids = this.processor.segments(rest).map((each) => this.numbers?.get(each.text) ?? this.unknown);
		return first === undefined ? ids : [first, ...ids];
	}

	/** The ids of a text with a sign, such as that of a blank, between its parts. @param {string[]} parts @param {number} sign */
	encodeAround(parts, sign) {
		const ids = this.encode((parts[0] ?? "").replace(/ $/, ""));
		parts.slice(1).forEach((part, i) => {
			const text = i === parts.length - 2 ? part : part.replace(/ $/, "");
			// After a line end SentencePiece adds no space, as it would at the beginning of a text.
			ids.push(sign, ...this.encode(`\n${text}`).slice(2));
		});
		return ids;
	}

	/** @param {Iterable<number>} ids @returns {string} special ids have no text */
	decode(ids) {
		const strings = this.tokenStrings([...ids].filter((id) => !this.specialIds.has(id)));
		const text = this.processor.join(strings);
		if (this.numbers) return text.trim();
		return text.replace(/\u{f2581}[01]/gu, (match) => (match.endsWith("1") ? SPACE_MARK : ESCAPE));
	}

	/** Each id for showing, U+2581 for a space. @param {Iterable<number>} ids */
	tokenStrings(ids) {
		return Array.from(ids, (id) => this.strings[id] ?? "");
	}

	/** Whether a character is a token, not bytes or unknown. @param {string} sign */
	has(sign) {
		const ids = this.encode(sign);
		return !ids.some((id) => this.specialIds.has(id) || BYTE.test(this.strings[id] ?? ""));
	}

	/** Where each token stands in the decoded text; a character of several tokens belongs to the last. @param {number[]} ids @returns {Span[]} */
	spans(ids) {
		const ends = ids.map((_, count) => this.decode(ids.slice(0, count + 1)).length);
		for (let place = ends.length - 2; place >= 0; place--) ends[place] = Math.min(ends[place] ?? 0, ends[place + 1] ?? 0);
		return ends.map((end, i) => [ends[i - 1] ?? 0, end]);
	}

	/** Where each token of `encode(text)` stands in the text. @param {string} text @returns {Span[]} */
	spansIn(text) {
		const before = this.prompt.length;
		return this.spans(this.encode(text)).map(([start, end]) => [Math.max(start - before, 0), Math.max(end - before, 0)]);
	}
}

/** The first and last token of each word: words are separated by spaces and punctuation. @param {number[]} tokens @param {string[]} strings @param {Set<number>} special @returns {number[][]} */
export function wordsOf(tokens, strings, special) {
	/** @type {number[][]} */
	const spans = [];
	let isAlone = true;
	strings.forEach((string, i) => {
		const bare = string.replace(/^▁/, "");
		const isLone = special.has(tokens[i] ?? -1) || (bare !== "" && /^\p{P}+$/u.test(bare) && !/['’-]/.test(bare));
		const last = spans[spans.length - 1];
		if (!last || isAlone || isLone || string.startsWith(SPACE_MARK)) spans.push([i, i]);
		else last[1] = i;
		isAlone = isLone;
	});
	return spans;
}
