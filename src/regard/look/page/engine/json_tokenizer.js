/**
 * tokenizer.json, read as the library tokenizers reads it: bytes (GPT-2, Llama 3, Qwen) or characters (Llama) merged pair by
 * pair, and the longest known beginnings of words (BERT). The names of its parts are those of the file.
 */

const BYTES = Array.from({ length: 256 }, (_, byte) => byte);
/** GPT-2 writes each byte as a printable letter. */
const LETTERS = (() => {
	let next = 256;
	return BYTES.map((byte) => String.fromCharCode((byte > 32 && byte < 127) || (byte > 160 && byte !== 173) ? byte : next++));
})();
const BYTE_OF = new Map(LETTERS.map((letter, byte) => [letter, byte]));
const WORDS = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const SPACES = "\\t-\\r\\x85\\p{Z}";
const PUNCTUATION = /[!-/:-@[-`{-~\p{P}]/gu;
const CHINESE = /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu;
const CLEANED = [" .", " ?", " !", " ,", " ' ", " n't", " 'm", " do not", " 's", " 've", " 're"];

/** @typedef {{ type: string, [setting: string]: any }} Part */

/** @type {Map<string | undefined, RegExp>} by their texts */
const known = new Map();

/** @param {{ Regex?: string, String?: string }} pattern */
function patternOf({ Regex: pattern, String: plain = "" }) {
	if (pattern === undefined) return new RegExp(plain.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&"), "gu");
	const found = known.get(pattern) ?? translated(pattern);
	known.set(pattern, found);
	return found;
}

/** A pattern of Oniguruma: its white space is Unicode's, and (?i:…) holds letters. @param {string} pattern */
function translated(pattern) {
	let isInside = false;
	const either = pattern.replace(/\(\?i:([^()]*)\)/g, (_, inside) => `(?:${inside.replace(/[a-z]/g, (/** @type {string} */ letter) => `[${letter}${letter.toUpperCase()}]`)})`);
	const text = either.replace(/\\.|[[\]]/gs, (sign) => {
		if (sign.length === 1) isInside = sign === "[";
		return sign === "\\s" ? (isInside ? SPACES : `[${SPACES}]`) : sign === "\\S" ? `[^${SPACES}]` : sign;
	});
	return new RegExp(text, "gu");
}

/** What a pattern matches and what stands between, in order. @param {string} text @param {RegExp} pattern @returns {{ text: string, isMatch: boolean }[]} */
function cut(text, pattern) {
	const found = [];
	let last = 0;
	for (const match of text.matchAll(pattern)) {
		found.push({ text: text.slice(last, match.index), isMatch: false }, { text: match[0], isMatch: true });
		last = match.index + match[0].length;
	}
	return [...found, { text: text.slice(last), isMatch: false }].filter((each) => each.text);
}

/** @param {Uint8Array} bytes */
const decoded = (bytes) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

/** @type {Record<string, (text: string, part: Part) => string>} */
const NORMALIZERS = {
	Sequence: (text, { normalizers }) => normalizers.reduce(normalized, text),
	NFC: (text) => text.normalize("NFC"),
	NFD: (text) => text.normalize("NFD"),
	NFKC: (text) => text.normalize("NFKC"),
	NFKD: (text) => text.normalize("NFKD"),
	Lowercase: (text) => Array.from(text, (sign) => sign.toLowerCase()).join(""),
	StripAccents: (text) => text.replace(/\p{Mn}/gu, ""),
	Prepend: (text, { prepend }) => text && prepend + text,
	Replace: (text, { pattern, content }) => text.replace(patternOf(pattern), () => content),
	BertNormalizer(text, { clean_text: cleans, handle_chinese_chars: parts, strip_accents: strips, lowercase }) {
		let found = text;
		if (cleans) found = found.replace(/[^\P{C}\t\n\r]|\ufffd/gu, "").replace(/\p{White_Space}/gu, " ");
		if (parts) found = found.replace(CHINESE, " $& ");
		if (strips ?? lowercase) found = found.normalize("NFD").replace(/\p{Mn}/gu, "");
		return lowercase ? Array.from(found, (sign) => sign.toLowerCase()).join("") : found;
	},
};

/** @type {Record<string, (text: string, part: Part, isFirst: boolean) => string[]>} */
const PRE_TOKENIZERS = {
	Sequence: (text, { pretokenizers }, isFirst) =>
		pretokenizers.reduce((/** @type {string[]} */ words, /** @type {Part} */ part) => words.flatMap((word, i) => parted(word, part, isFirst && !i)), [text]),
	ByteLevel(text, { add_prefix_space: adds, use_regex: splits = true }) {
		const whole = adds && !text.startsWith(" ") ? ` ${text}` : text;
		const words = splits ? cut(whole, patternOf({ Regex: WORDS })).map((each) => each.text) : [whole];
		return words.map((word) => Array.from(new TextEncoder().encode(word), (byte) => LETTERS[byte]).join(""));
	},
	Split: (text, { pattern, behavior, invert }) => cut(text, patternOf(pattern)).flatMap((each) => (behavior === "Removed" && each.isMatch !== invert ? [] : [each.text])),
	Digits: (text, { individual_digits: each }) => cut(text, each ? /\p{N}/gu : /\p{N}+/gu).map((found) => found.text),
	BertPreTokenizer: (text) => text.split(/\p{White_Space}+/u).flatMap((word) => cut(word, PUNCTUATION).map((each) => each.text)),
	Metaspace(text, { replacement, add_prefix_space: adds_space = true, prepend_scheme: scheme = adds_space ? "always" : "never", split = true }, isFirst) {
		const marked = text.replaceAll(" ", replacement);
		const adds = (scheme === "always" || (scheme === "first" && isFirst)) && !marked.startsWith(replacement);
		const whole = adds ? replacement + marked : marked;
		return split ? whole.split(new RegExp(`(?=${replacement})`, "u")) : [whole];
	},
};

/** @type {Record<string, (tokens: string[], part: Part) => string[]>} */
const DECODERS = {
	Sequence: (tokens, { decoders }) => decoders.reduce((/** @type {string[]} */ found, /** @type {Part} */ part) => DECODERS[part.type]?.(found, part) ?? found, tokens),
	ByteLevel(tokens) {
		const bytes = tokens.flatMap((token) => {
			const own = Array.from(token, (letter) => BYTE_OF.get(letter) ?? -1);
			return own.includes(-1) ? [...new TextEncoder().encode(token)] : own;
		});
		return [decoded(Uint8Array.from(bytes))];
	},
	WordPiece: (tokens, { prefix, cleanup }) =>
		tokens.map((token, i) => {
			const whole = !i ? token : token.startsWith(prefix) ? token.slice(prefix.length) : ` ${token}`;
			const without = (/** @type {string} */ text, /** @type {string} */ sign) => text.replaceAll(sign, sign === " do not" ? " don't" : sign.trim());
			return cleanup ? CLEANED.reduce(without, whole) : whole;
		}),
	Replace: (tokens, { pattern, content }) => tokens.map((token) => token.replace(patternOf(pattern), () => content)),
	ByteFallback(tokens) {
		const runs = tokens.reduce((/** @type {string[][]} */ found, token) => {
			const isByte = /^<0x[0-9A-F]{2}>$/.test(token);
			const last = found.at(-1);
			if (isByte && last?.[0]?.startsWith("<0x") && last[0].length === 6) last.push(token);
			else found.push([token]);
			return found;
		}, []);
		return runs.flatMap((run) => {
			if (!/^<0x[0-9A-F]{2}>$/.test(run[0] ?? "")) return run;
			const text = decoded(Uint8Array.from(run, (token) => parseInt(token.slice(3, 5), 16)));
			return text.includes("\ufffd") ? run.map(() => "\ufffd") : [text];
		});
	},
	Fuse: (tokens) => [tokens.join("")],
	Strip: (tokens, { content, start }) =>
		tokens.map((token) => {
			let from = 0;
			while (from < start && token[from] === content) from++;
			return token.slice(from);
		}),
	Metaspace: (tokens, { replacement, add_prefix_space: adds_space = true, prepend_scheme: scheme = adds_space ? "always" : "never" }) =>
		tokens.map((token, i) => {
			const text = token.replaceAll(replacement, " ");
			return !i && scheme !== "never" ? text.replace(/^ /, "") : text;
		}),
};

/** @param {string} text @param {Part | null} part */
const normalized = (text, part) => (part ? (NORMALIZERS[part.type]?.(text, part) ?? text) : text);

/** @param {string} text @param {Part | null} part @param {boolean} isFirst */
const parted = (text, part, isFirst) => (part ? (PRE_TOKENIZERS[part.type]?.(text, part, isFirst) ?? [text]) : [text]);

export class JsonProcessor {
	/** @param {ArrayBuffer} file */
	constructor(file) {
		/** @type {any} */
		const { model, added_tokens: added = [], normalizer, pre_tokenizer, decoder } = JSON.parse(new TextDecoder().decode(file));
		/** @type {{ type: string, unk_token?: string, vocab: Record<string, number>, [setting: string]: any }} */
		this.model = model;
		/** @type {Part | null} */
		this.normalizer = normalizer;
		/** @type {Part | null} */
		this.preTokenizer = pre_tokenizer;
		/** @type {Part | null} */
		this.decoder = decoder;
		/** @type {Map<string, number>} */
		this.ids = new Map(Object.entries(model.vocab));
		/** @type {Map<string, number>} */
		this.ranks = new Map((model.merges ?? []).map((/** @type {string | string[]} */ pair, /** @type {number} */ i) => [typeof pair === "string" ? pair : pair.join(" "), i]));
		/** @type {{ id: number, content: string, special: boolean, normalized: boolean }[]} */
		this.added = added;
		for (const { id, content } of this.added) this.ids.set(content, id);
		this.special = new Set(this.added.flatMap((each) => (each.special ? [each.id] : [])));
		/** @type {Map<string, string[]>} */
		this.known = new Map();
	}

	/** Special tokens are never read from a text; other added ones are found first. @param {string} text @returns {string[]} */
	encode(text) {
		/** @param {boolean} isNormalized */
		const added = (isNormalized) => {
			const own = this.added.filter((each) => !each.special && each.normalized === isNormalized).map((each) => each.content);
			const signs = own.sort((a, b) => b.length - a.length).map((each) => patternOf({ String: each }).source);
			return signs.length ? new RegExp(signs.join("|"), "gu") : /(?!)/gu;
		};
		let isFirst = true;
		return cut(text, added(false)).flatMap((raw) =>
			raw.isMatch
				? [raw.text]
				: cut(normalized(raw.text, this.normalizer), added(true)).flatMap((each) => {
						const words = each.isMatch ? [] : parted(each.text, this.preTokenizer, isFirst);
						isFirst = false;
						return each.isMatch ? [each.text] : words.flatMap((word) => (word ? this.word(word) : []));
					}),
		);
	}

	/** The tokens of a word. @param {string} word */
	word(word) {
		let found = this.known.get(word);
		if (!found) {
			found = this.model.type === "WordPiece" ? this.longestBeginnings(word) : this.merged(word);
			this.known.set(word, found);
		}
		return found;
	}

	/** @param {string} word */
	longestBeginnings(word) {
		const { unk_token: unknown = "", continuing_subword_prefix: prefix = "##", max_input_chars_per_word: most = 100 } = this.model;
		const signs = Array.from(word);
		if (signs.length > most) return [unknown];
		const found = [];
		for (let start = 0, end = signs.length; start < signs.length; end = signs.length) {
			/** @param {number} last */
			const token = (last) => (start ? prefix : "") + signs.slice(start, last).join("");
			while (end > start && !this.ids.has(token(end))) end--;
			if (end === start) return [unknown];
			found.push(token(end));
			start = end;
		}
		return found;
	}

	/** Sennrich et al. 2016: the neighbours that were merged first in training are merged first. @param {string} word */
	merged(word) {
		const { unk_token: unknown, byte_fallback: hasBytes, fuse_unk: fuses, ignore_merges: wholeFirst } = this.model;
		if (wholeFirst && this.ids.has(word)) return [word];
		/** @type {string[]} */
		let tokens = [];
		for (const sign of word) {
			const bytes = Array.from(new TextEncoder().encode(sign), (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
			if (this.ids.has(sign)) tokens.push(sign);
			else if (hasBytes && bytes.every((each) => this.ids.has(each))) tokens.push(...bytes);
			else if (unknown && !(fuses && tokens.at(-1) === unknown)) tokens.push(unknown);
		}
		for (;;) {
			let [best, at] = [Infinity, -1];
			for (let i = 1; i < tokens.length; i++) {
				const rank = this.ranks.get(`${tokens[i - 1]} ${tokens[i]}`) ?? Infinity;
				if (rank < best) [best, at] = [rank, i - 1];
			}
			if (at < 0) return tokens;
			tokens.splice(at, 2, `${tokens[at]}${tokens[at + 1]}`);
		}
	}

	/** @param {string[]} tokens */
	join(tokens) {
		return this.decoder ? (DECODERS[this.decoder.type]?.(tokens, this.decoder) ?? []).join("") : tokens.join(" ");
	}

	/** A token for showing. @param {string} token */
	shown(token) {
		const told = JSON.stringify(this.decoder);
		if (told.includes('"ByteLevel"')) return this.join([token]).replaceAll(" ", "▁");
		if (told.includes('"WordPiece"')) return token.startsWith("##") ? token.slice(2) : `▁${token}`;
		return token;
	}
}
