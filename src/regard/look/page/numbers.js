/** Numbers and tokens as a reader sees them. */

/** A number to four decimals, with a true minus sign; very small and very large ones in powers of ten. @param {number} value @param {number} [digits] */
export function show(value, digits = 4) {
	if (value === -Infinity) return "−∞";
	if (value === Infinity) return "∞";
	if (Number.isNaN(value)) return "not a number";
	const size = Math.abs(value);
	const text =
		size !== 0 && (size < 0.5 * 10 ** -digits || size >= 1e6) ? value.toExponential(Math.max(1, digits - 2)) : value.toFixed(digits);
	return text.replaceAll("-", "−");
}

/** @param {number} probability */
export function percent(probability) {
	const value = probability * 100;
	if (value !== 0 && value < 0.005) return `${show(value, 3)} %`;
	return `${value.toFixed(value < 10 ? 2 : 1)} %`;
}

/** @param {number} value */
export function count(value) {
	return String(value).replaceAll(/\B(?=(\d{3})+(?!\d))/g, " ");
}

/** The text of tokens. @param {string[]} tokenStrings */
export function textOf(tokenStrings) {
	return tokenStrings.map(signOf).join("").replaceAll("▁", " ").trim();
}

/** A token as it is read: a word's first token bare, its later tokens after a middle dot. @param {string} tokenString */
export function readable(tokenString) {
	if (tokenString.startsWith("▁")) return tokenString.slice(1) || "␣";
	return isSpecial(tokenString) ? signOf(tokenString) : `·${tokenString}`;
}

/** The sign of a token of one byte, <0x5E>, or its number. @param {string} tokenString */
function signOf(tokenString) {
	const byte = Number(/^<(0x[0-9A-F]{2})>$/.exec(tokenString)?.[1] ?? 0);
	if (byte > 32 && byte < 127) return String.fromCharCode(byte);
	return byte ? `‹${tokenString.slice(3, 5)}›` : tokenString;
}

/** @param {string} tokenString */
export function isSpecial(tokenString) {
	return /^<.+>$/.test(tokenString);
}

/** The words of a sentence, each put together from its tokens. @param {string[]} tokenStrings @param {number[][]} words @returns {string[]} */
export function joined(tokenStrings, words) {
	return words.map(([first = 0, last = 0]) => {
		const text = tokenStrings.slice(first, last + 1).map(signOf).join("");
		return text.startsWith("▁") ? text.slice(1) : text;
	});
}

/** A feature of the paper's positions, and what it is the sine or cosine of. @param {number} place @param {number} feature @param {number} width */
export function wave(place, feature, width) {
	const pair = feature - (feature % 2);
	const divisor = 10000 ** (pair / width);
	const angle = place / divisor;
	return { pair, divisor, angle, value: feature % 2 ? Math.cos(angle) : Math.sin(angle) };
}

/** The tokens of a sentence as they are read; its words say which tokens go on with one. @param {Side | null} side */
export function tokenLabels(side) {
	const first = new Set(side?.words.map(([start]) => start));
	return (side?.token_strings ?? []).map((tokenString, i) => (first.has(i) ? signOf(tokenString).replace(/^▁/, "") || "␣" : readable(tokenString)));
}
