/** Text to token ids and back, as `regard.text.tokenizer` and `regard.text.imported_tokenizers` do it. */

import { JsonProcessor } from "./json_tokenizer.js";
import { SPACE_MARK, SentencePiece } from "./sentencepiece.js";

const ESCAPE = "\u{f2581}";
const BYTE = /^<0x[0-9A-F]{2}>$/;
const LANGUAGE = /^(>>[^<> ]+<<) ?/;
const SPECIAL = /^(?:<unk>|<\/?s>|<pad>|>>[^<> ]+<< ?)$/;

/** A vocabulary and a segmentation. */
export class Tokenizer {
	/** @param {ArrayBuffer} file a SentencePiece model, or a tokenizer.json @param {{ vocabulary?: Record<string, number>, prompt?: string, beginning?: string[], isJson?: boolean }} [foreign] with the numbering of another program */
	constructor(file, { vocabulary, prompt = "", beginning = [], isJson = false } = {}) {
		this.json = isJson ? new JsonProcessor(file) : null;
		this.processor = new SentencePiece(isJson ? new ArrayBuffer(0) : file);
		this.prompt = prompt;
		/** @type {Map<string, number> | null} */
		this.numbers = this.json?.ids ?? (vocabulary ? new Map(Object.entries(vocabulary)) : null);
		/** @type {string[]} */
		this.strings = [];
		if (this.numbers) for (const [token, id] of this.numbers) this.strings[id] = token;
		else this.strings = this.processor.pieces.map((each) => each.text);
		this.unknown = this.numbers ? (this.numbers.get("<unk>") ?? 0) : this.processor.unknown;
		this.specialIds = this.json ? this.json.special : this.numbers ? new Set([...this.numbers].flatMap(([token, id]) => (SPECIAL.test(token) ? [id] : []))) : this.processor.specialIds;
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
		return this.encoded(this.prompt + text);
	}

	/** @param {string} text with the prompt */
	encoded(text) {
		const whole = text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
		if (this.json) return this.json.encode(whole).map((token) => this.idOf(token) ?? this.unknown);
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
		if (this.json) return parts.flatMap((part, i) => (i ? [sign, ...this.encoded(part)] : this.encode(part)));
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
		const written = [...ids].filter((id) => !this.specialIds.has(id));
		if (this.json) return this.json.join(written.map((id) => this.strings[id] ?? ""));
		const strings = this.tokenStrings(written);
		const text = this.processor.join(strings);
		if (this.numbers) return text.trim();
		return text.replace(/\u{f2581}[01]/gu, (match) => (match.endsWith("1") ? SPACE_MARK : ESCAPE));
	}

	/** Each id for showing, U+2581 for a space. @param {Iterable<number>} ids */
	tokenStrings(ids) {
		return Array.from(ids, (id) => {
			const string = this.strings[id] ?? "";
			return this.json && !this.specialIds.has(id) ? this.json.shown(string) : string;
		});
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
