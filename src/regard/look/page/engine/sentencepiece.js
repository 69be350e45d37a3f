/**
 * SentencePiece from its .model file: unigram and byte-pair encoding, byte fallback, and its table of normalisation.
 * Kudo and Richardson 2018. The same tokens as the library gives.
 */

export const SPACE_MARK = "▁";
const [NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE] = [1, 2, 3, 4, 5, 6];
const [UNIGRAM, BPE] = [1, 2];
const UNKNOWN_PENALTY = 10;

/** The fields of a protocol buffer: number and content. @param {Uint8Array} bytes @returns {Generator<[number, number | Uint8Array]>} */
function* fields(bytes) {
	let at = 0;
	const varint = () => {
		let [value, factor] = [0, 1];
		for (;;) {
			const byte = bytes[at++] ?? 0;
			value += (byte & 127) * factor;
			if (byte < 128) return value;
			factor *= 128;
		}
	};
	while (at < bytes.length) {
		const tag = varint();
		const kind = tag & 7;
		if (kind === 0) yield [tag >> 3, varint()];
		else {
			const length = kind === 2 ? varint() : kind === 5 ? 4 : 8;
			yield [tag >> 3, bytes.subarray(at, at + length)];
			at += length;
		}
	}
}

/** @param {Uint8Array} bytes */
const floatOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset).getFloat32(0, true);

/** The longest beginning of a text that the table of normalisation replaces: a double-array trie and the replacements. */
class Charsmap {
	/** @param {Uint8Array} bytes */
	constructor(bytes) {
		const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
		const size = bytes.length ? view.getUint32(0, true) : 0;
		this.units = Array.from({ length: size / 4 }, (_, i) => view.getUint32(4 + 4 * i, true));
		this.replacements = bytes.subarray(4 + size);
	}

	/** @param {Uint8Array} text @param {number} start @returns {[number, Uint8Array] | null} how long it is, and what replaces it */
	match(text, start) {
		const { units, replacements } = this;
		/** @param {number} unit */
		const offset = (unit) => (unit >>> 10) << ((unit & 512) >>> 6);
		/** @type {[number, number] | null} */
		let found = null;
		let place = offset(units[0] ?? 0);
		for (let at = start; at < text.length; at++) {
			const byte = text[at] ?? 0;
			place ^= byte;
			const unit = units[place] ?? 0;
			if ((unit & 0x800000ff) >>> 0 !== byte) break;
			place ^= offset(unit);
			if ((unit >>> 8) & 1) found = [at + 1 - start, (units[place] ?? 0) & 0x7fffffff];
		}
		if (!found) return null;
		const [length, from] = found;
		return [length, replacements.subarray(from, replacements.indexOf(0, from))];
	}
}

export class SentencePiece {
	/** @param {ArrayBuffer} file */
	constructor(file) {
		/** @type {{ text: string, score: number, kind: number }[]} */
		this.pieces = [];
		this.segmentation = UNIGRAM;
		this.hasByteFallback = false;
		this.charsmap = new Charsmap(new Uint8Array(0));
		const settings = { addDummyPrefix: true, removeExtraSpaces: true, escapeSpaces: true, isSuffix: false };
		for (const [number, content] of fields(new Uint8Array(file))) {
			if (!(content instanceof Uint8Array)) continue;
			if (number === 1) this.pieces.push(this.readPiece(content));
			else if (number === 2) {
				for (const [field, value] of fields(content)) {
					if (field === 3) this.segmentation = Number(value);
					else if (field === 24) settings.isSuffix = Boolean(value);
					else if (field === 35) this.hasByteFallback = Boolean(value);
				}
			} else if (number === 3) {
				for (const [field, value] of fields(content)) {
					if (field === 2 && value instanceof Uint8Array) this.charsmap = new Charsmap(value);
					else if (field === 3) settings.addDummyPrefix = Boolean(value);
					else if (field === 4) settings.removeExtraSpaces = Boolean(value);
					else if (field === 5) settings.escapeSpaces = Boolean(value);
				}
			}
		}
		this.settings = settings;
		if (![UNIGRAM, BPE].includes(this.segmentation)) throw new Error("a SentencePiece model must be unigram or bpe: got another");
		/** @type {Map<string, number>} */
		this.ids = new Map();
		this.unknown = 0;
		/** @type {number[]} ids of bytes */
		this.byteIds = [];
		/** @type {Map<number, number>} */
		this.bytes = new Map();
		this.longest = 1;
		/** @type {string[]} */
		this.userDefined = [];
		this.pieces.forEach(({ text, kind }, id) => {
			if (kind === UNKNOWN) this.unknown = id;
			if (kind === BYTE) {
				const byte = parseInt(text.slice(3, 5), 16);
				this.byteIds[byte] = id;
				this.bytes.set(id, byte);
			}
			if (kind === NORMAL || kind === USER_DEFINED || kind === UNUSED) {
				this.ids.set(text, id);
				this.longest = Math.max(this.longest, [...text].length);
			}
			if (kind === USER_DEFINED) this.userDefined.push(text);
		});
		const scores = this.pieces.filter((each) => each.kind === NORMAL).map((each) => each.score);
		this.lowest = scores.reduce((low, score) => Math.min(low, score), Infinity);
		this.highest = scores.reduce((high, score) => Math.max(high, score), -Infinity);
	}

	/** @param {Uint8Array} content */
	readPiece(content) {
		const piece = { text: "", score: 0, kind: NORMAL };
		for (const [number, value] of fields(content)) {
			if (number === 1 && value instanceof Uint8Array) piece.text = new TextDecoder().decode(value);
			else if (number === 2 && value instanceof Uint8Array) piece.score = floatOf(value);
			else if (number === 3) piece.kind = Number(value);
		}
		return piece;
	}

	get specialIds() {
		return new Set(this.pieces.flatMap(({ kind }, id) => (kind === CONTROL || kind === UNKNOWN ? [id] : [])));
	}

	/** @param {string} text as a reader writes it @returns {string} with the table applied, spaces marked */
	normalise(text) {
		const { addDummyPrefix, removeExtraSpaces, escapeSpaces, isSuffix } = this.settings;
		let result = text;
		if (this.charsmap.units.length) {
			const bytes = new TextEncoder().encode(text);
			/** @type {number[]} */
			const replaced = [];
			for (let at = 0; at < bytes.length; ) {
				const user = this.userDefined.find((each) => text.length && startsWith(bytes, at, each));
				const found = user ? null : this.charsmap.match(bytes, at);
				if (found) {
					replaced.push(...found[1]);
					at += found[0];
					continue;
				}
				// One whole character.
				do replaced.push(bytes[at++] ?? 0);
				while (((bytes[at] ?? 0) & 0xc0) === 0x80);
			}
			result = new TextDecoder().decode(Uint8Array.from(replaced));
		}
		if (removeExtraSpaces) result = result.replace(/^ +| +$/g, "").replace(/ {2,}/g, " ");
		if (!result) return "";
		if (addDummyPrefix) result = isSuffix ? `${result} ` : ` ${result}`;
		return escapeSpaces ? result.replaceAll(" ", SPACE_MARK) : result;
	}

	/** @param {string} text @returns {number[]} */
	encode(text) {
		return this.segments(text).flatMap(({ text: piece, id }) => {
			if (id !== this.unknown || !this.hasByteFallback) return [id];
			return [...new TextEncoder().encode(piece)].map((byte) => this.byteIds[byte] ?? this.unknown);
		});
	}

	/** The pieces of a text, and their ids; neighbours that are unknown are one. @param {string} text */
	segments(text) {
		const normalised = this.normalise(text);
		const found = this.segmentation === BPE ? this.merged([...normalised]) : this.likeliest([...normalised]);
		/** @type {{ text: string, id: number }[]} */
		const parts = [];
		for (const piece of found) {
			const id = this.ids.get(piece) ?? this.unknown;
			const last = parts[parts.length - 1];
			if (id === this.unknown && last?.id === id && !this.hasByteFallback) last.text += piece;
			else parts.push({ text: piece, id });
		}
		return parts;
	}

	/** The segmentation of the largest probability (Viterbi). @param {string[]} signs @returns {string[]} */
	likeliest(signs) {
		const unknownScore = this.lowest - UNKNOWN_PENALTY;
		const best = Array.from({ length: signs.length + 1 }, () => ({ score: 0, from: -1 }));
		for (let start = 0; start < signs.length; start++) {
			const before = best[start]?.score ?? 0;
			let piece = "";
			let hasSingle = false;
			for (let end = start + 1; end <= Math.min(start + this.longest, signs.length); end++) {
				piece += signs[end - 1];
				const id = this.ids.get(piece);
				const entry = id === undefined ? undefined : this.pieces[id];
				if (!entry || entry.kind === UNUSED) continue;
				const length = new TextEncoder().encode(piece).length;
				const score = entry.kind === USER_DEFINED ? length * this.highest - 0.1 : entry.score;
				this.offer(best, start, end, Math.fround(before + score));
				hasSingle ||= end === start + 1;
			}
			if (!hasSingle) this.offer(best, start, start + 1, Math.fround(before + unknownScore));
		}
		const pieces = [];
		for (let end = signs.length; end > 0; ) {
			const { from } = best[end] ?? { from: 0 };
			pieces.push(signs.slice(from, end).join(""));
			end = from;
		}
		return pieces.reverse();
	}

	/** @param {{ score: number, from: number }[]} best @param {number} from @param {number} end @param {number} score */
	offer(best, from, end, score) {
		const place = best[end];
		if (place && (place.from < 0 || score > place.score)) Object.assign(place, { score, from });
	}

	/** Merge the pair of the best score, the leftmost of equals, until there is none. @param {string[]} signs @returns {string[]} */
	merged(signs) {
		const pieces = this.withUserDefined(signs);
		const fixed = new Set(this.userDefined);
		/** @type {Map<string, [string, string]>} how an unused piece came about */
		const splits = new Map();
		/** @param {number} i @returns {number} of the pair that begins there */
		const scoreAt = (i) => {
			const [left, right] = [pieces[i], pieces[i + 1]];
			if (left === undefined || right === undefined || fixed.has(left) || fixed.has(right)) return -Infinity;
			const id = this.ids.get(left + right);
			const entry = id === undefined ? undefined : this.pieces[id];
			if (entry?.kind === UNUSED) splits.set(left + right, [left, right]);
			return entry?.score ?? -Infinity;
		};
		const scores = pieces.map((_, i) => scoreAt(i));
		for (;;) {
			let [best, at] = [-Infinity, -1];
			for (let i = 0; i < scores.length; i++) if (/** @type {number} */ (scores[i]) > best) [best, at] = [/** @type {number} */ (scores[i]), i];
			if (at < 0) break;
			pieces.splice(at, 2, `${pieces[at]}${pieces[at + 1]}`);
			scores.splice(at, 1);
			for (const i of [at - 1, at]) if (i >= 0) scores[i] = scoreAt(i);
		}
		/** @param {string} piece @returns {string[]} */
		const used = (piece) => {
			const id = this.ids.get(piece);
			const parts = id !== undefined && this.pieces[id]?.kind === UNUSED ? splits.get(piece) : undefined;
			return parts ? parts.flatMap(used) : [piece];
		};
		return splits.size ? pieces.flatMap(used) : pieces;
	}

	/** @param {string[]} signs */
	withUserDefined(signs) {
		if (!this.userDefined.length) return [...signs];
		const pieces = [];
		for (let at = 0; at < signs.length; ) {
			const rest = signs.slice(at, at + this.longest).join("");
			const longest = this.userDefined.filter((each) => rest.startsWith(each)).sort((a, b) => b.length - a.length)[0];
			pieces.push(longest ?? signs[at] ?? "");
			at += longest ? [...longest].length : 1;
		}
		return pieces;
	}

	/** @param {string[]} pieces the strings of normal pieces and of bytes, <0x41> @returns {string} */
	join(pieces) {
		const { addDummyPrefix, removeExtraSpaces } = this.settings;
		let text = "";
		/** @type {number[]} */
		let bytes = [];
		const flush = () => {
			text += decodeBytes(bytes);
			bytes = [];
		};
		let isFirst = addDummyPrefix || removeExtraSpaces;
		for (const piece of pieces) {
			const byte = /^<0x([0-9A-F]{2})>$/.exec(piece);
			if (byte?.[1] && this.hasByteFallback) {
				bytes.push(parseInt(byte[1], 16));
				isFirst = false;
				continue;
			}
			flush();
			let shown = piece;
			if (isFirst) {
				shown = removeExtraSpaces ? piece.replace(/^▁+/, "") : piece.replace(/^▁/, "");
				isFirst = removeExtraSpaces && !shown;
			}
			text += shown.replaceAll(SPACE_MARK, " ");
		}
		flush();
		return text;
	}
}

/** Every byte that is no character becomes U+FFFD. @param {number[]} bytes */
function decodeBytes(bytes) {
	let text = "";
	for (let at = 0; at < bytes.length; ) {
		const first = bytes[at] ?? 0;
		const length = first < 0x80 ? 1 : first >> 5 === 6 ? 2 : first >> 4 === 14 ? 3 : first >> 3 === 30 ? 4 : 0;
		let sign = "\ufffd";
		try {
			if (length) sign = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes.slice(at, at + length)));
		} catch {
			// No character begins here.
		}
		at += sign === "\ufffd" && !(length === 3 && bytes[at] === 0xef && bytes[at + 1] === 0xbf && bytes[at + 2] === 0xbd) ? 1 : length;
		text += sign;
	}
	return text;
}

/** @param {Uint8Array} bytes @param {number} at @param {string} text */
function startsWith(bytes, at, text) {
	return new TextEncoder().encode(text).every((byte, i) => bytes[at + i] === byte);
}
