/** A text in the signs and letters that a vocabulary knows, with offsets into the given text: `regard.text.normalise`. */

import { has, rules } from "./rules.js";

/** @typedef {import("./tokenizer.js").Tokenizer} Tokenizer */

/** A text, and for each of its characters, and for its end, the offset in the given text. */
export class Normalised {
	/** @param {string} text @param {number[]} [offsets] @param {boolean} [inCapitals] */
	constructor(text, offsets = Array.from({ length: text.length + 1 }, (_, i) => i), inCapitals = false) {
		this.text = text;
		this.offsets = offsets;
		this.inCapitals = inCapitals;
	}

	/** Replace every match. @param {RegExp} pattern @param {(match: string) => string} write */
	sub(pattern, write) {
		let [text, done] = ["", 0];
		/** @type {number[]} */
		const offsets = [];
		for (const match of this.text.matchAll(pattern)) {
			const end = match.index + match[0].length;
			const written = write(match[0]);
			text += this.text.slice(done, match.index) + written;
			offsets.push(...this.offsets.slice(done, match.index));
			const last = Math.max(end - 1, match.index);
			for (let i = 0; i < written.length; i++) offsets.push(/** @type {number} */ (this.offsets[Math.min(match.index + i, last)]));
			done = end;
		}
		return done || text ? new Normalised(text + this.text.slice(done), [...offsets, ...this.offsets.slice(done)], this.inCapitals) : this;
	}

	/** @param {string} text as long as before */
	reading(text) {
		return new Normalised(text, this.offsets, this.inCapitals);
	}
}

/** @param {Normalised} text @param {Set<string>} [kept] @returns {Normalised} */
export function normaliseSigns(text, kept = new Set()) {
	const own = rules.normalise;
	text = text.sub(own._entity, (match) => own._entities[match] ?? match);
	if (has(text.text, own._typographic)) {
		text = text.sub(own._invisible, () => "");
		text = text.sub(own._composed, (match) => (kept.has(match) ? match : match.normalize("NFKC")));
		if (!kept.has("—")) text = text.sub(own._em_dash, () => " – ");
		/** @param {string} sign */
		const keyboard = (sign) => {
			const code = kept.has(sign) ? undefined : own._keyboard[sign];
			return code === undefined ? sign : String.fromCodePoint(code);
		};
		text = text.reading([...text.text].map(keyboard).join(""));
	}
	text = text.sub(own._blanks, (match) => (kept.has(match) ? match : " "));
	text = text.sub(own._doubled_quote, () => '"');
	return text.sub(own._comma, () => ", ");
}

/** @param {string} text */
export const normaliseText = (text) => normaliseSigns(new Normalised(text)).text;

/** @param {string} text */
const isAscii = (text) => /^[\0-\x7f]*$/.test(text);

/** Whether a text is all in capitals, and more than an abbreviation: I LOVE YOU, not NATO. @param {string} text */
function isInCapitals(text) {
	if (!/\p{Uppercase}/u.test(text) || /[\p{Lowercase}\p{Lt}]/u.test(text)) return false;
	const words = (text.match(rules.normalise._word) ?? []).filter((word) => [...word].length > 1 || word === "I");
	return words.length > 1 || words.some((word) => [...word].length >= rules.normalise._min_capitals);
}

/** @param {string} text in capitals, one character for each */
export function capitals(text) {
	return Array.from(text, (sign) => ([...sign.toUpperCase()].length === 1 ? sign.toUpperCase() : sign)).join("");
}

export class Normaliser {
	/** @param {string} language @param {Tokenizer} vocabulary */
	constructor(language, vocabulary) {
		this.language = language.slice(0, 2);
		this.vocabulary = vocabulary;
		/** @type {Map<string, boolean>} */
		this.known = new Map();
		/** @type {Set<string> | null} */
		this.kept = null;
	}

	/** Whether the vocabulary has a character, or what it is normalised to. @param {string} sign */
	knows(sign) {
		let found = this.known.get(sign);
		if (found === undefined) {
			found = [...normaliseText(sign)].every((each) => isAscii(each) || this.vocabulary.has(each));
			this.known.set(sign, found);
		}
		return found;
	}

	/** Typographic signs that stay: the vocabulary has them, and lacks the keyboard's or may need them. */
	keptSigns() {
		if (!this.kept) {
			/** @type {string[]} */
			const found = rules.normalise._signs.filter((/** @type {string} */ sign) => this.vocabulary.has(sign));
			const prefers = rules.normalise._prefers_keyboard.includes(this.language);
			this.kept = new Set(prefers ? found.filter((sign) => ![...normaliseText(sign)].every((each) => this.vocabulary.has(each))) : found);
		}
		return this.kept;
	}

	/** Each word in the case that takes the fewest tokens: small letters, a name's, or an abbreviation's. @param {string} text */
	lower(text) {
		return text.replace(rules.normalise._word, (/** @type {string} */ word) => {
			if (word === "I" && this.language === "en") return word;
			const small = Array.from(word, (each) => ([...each.toLowerCase()].length === 1 ? each.toLowerCase() : each)).join("");
			const [first = ""] = word;
			const forms = [small, first + small.slice(first.length), word];
			const counts = forms.map((form) => this.vocabulary.encode(form).length);
			return forms[counts.indexOf(Math.min(...counts))] ?? word;
		});
	}

	/** The text with everything normalised but the untouched spans, which are in order. @param {string} text @param {Span[]} [untouched] */
	normalise(text, untouched = []) {
		const edges = [0, ...untouched.flat(), text.length];
		const parts = edges.slice(1).map((end, i) => text.slice(edges[i], end));
		const isCapitals = isInCapitals(parts.filter((_, i) => i % 2 === 0).join(""));
		let [written, isFirst] = ["", true];
		/** @type {number[]} */
		const offsets = [];
		parts.forEach((given, number) => {
			let part = new Normalised(given);
			if (number % 2 === 0) {
				part = normaliseSigns(part, isAscii(text) ? new Set() : this.keptSigns());
				if (isCapitals) {
					let small = this.lower(part.text);
					const word = rules.normalise._word;
					if (isFirst) small = small.replace(new RegExp(word.source, "u"), (match) => capitals([...match][0] ?? "") + match.slice([...match][0]?.length));
					part = part.reading(small);
					isFirst = isFirst && !has(small, word);
				}
			}
			written += part.text;
			for (const each of part.offsets.slice(0, -1)) offsets.push((edges[number] ?? 0) + each);
		});
		return new Normalised(written, [...offsets, text.length], isCapitals);
	}
}

/** The text with keyboard signs for those that the vocabulary lacks; white space stays. @param {string} text @param {Tokenizer} vocabulary */
export function knownSigns(text, vocabulary) {
	if (isAscii(text)) return text;
	const signs = Array.from(text.normalize("NFC"), (sign) => (isAscii(sign) || vocabulary.has(sign) ? sign : normaliseText(sign)));
	return signs.join("");
}
