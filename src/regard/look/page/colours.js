/**
 * Two colour scales that keep their order for every kind of colour vision: one for shares from nothing to
 * all, one for signed numbers with the background as zero.
 */

const CIVIDIS = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];
const SIGNED_LIGHT = ["#053f7a", "#2b73b5", "#79aed6", "#c3dbec", "#f7f5f1", "#f8d3a6", "#ee9e4f", "#c9641b", "#7f3608"];
const SIGNED_DARK = ["#a3d3ff", "#5aa5ea", "#2f6fb0", "#1f4468", "#1b1f27", "#5c3a1c", "#a35a1b", "#e58a35", "#ffc98a"];
const NUM_COLOURS = 256;

/** @param {string} hex @returns {number[]} */
function channels(hex) {
	return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

/** @param {string[]} stops @returns {Uint8ClampedArray} */
function tableOf(stops) {
	const colours = stops.map((hex) => [...channels(hex), 255]);
	return Uint8ClampedArray.from({ length: 4 * NUM_COLOURS }, (_, i) => {
		const place = (Math.floor(i / 4) / (NUM_COLOURS - 1)) * (colours.length - 1);
		const first = Math.min(Math.floor(place), colours.length - 2);
		const [from = 0, to = 0] = [colours[first]?.[i % 4], colours[first + 1]?.[i % 4]];
		return from + (to - from) * (place - first);
	});
}

const SHARE_TABLE = tableOf(CIVIDIS);
const SIGNED_TABLES = { light: tableOf(SIGNED_LIGHT), dark: tableOf(SIGNED_DARK) };

/** @returns {"light" | "dark"} */
export function currentTheme() {
	const chosen = document.documentElement.dataset["theme"];
	if (chosen === "light" || chosen === "dark") return chosen;
	return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** For shares between 0 and 1, or amounts up to another size. @returns {Scale} */
export function shareScale(high = 1) {
	return { table: SHARE_TABLE, low: 0, high: high || 1 };
}

/** @param {number} largest the size at which the scale is full @returns {Scale} */
export function signedScale(largest) {
	const limit = largest || 1;
	return { table: SIGNED_TABLES[currentTheme()], low: -limit, high: limit };
}

/** @param {Scale} scale @param {number} value @returns {number} where the colour begins in the scale's table */
export function colourAt(scale, value) {
	const share = (value - scale.low) / (scale.high - scale.low);
	return 4 * Math.max(0, Math.min(NUM_COLOURS - 1, Math.round(share * (NUM_COLOURS - 1))));
}

/** @param {Scale} scale @param {number} value */
export function cssColour(scale, value) {
	const start = colourAt(scale, value);
	return `rgb(${scale.table.subarray(start, start + 3).join(" ")})`;
}

/** Black or white, whichever is read better on a colour of the scale. @param {Scale} scale @param {number} value */
export function inkOn(scale, value) {
	const start = colourAt(scale, value);
	const [red = 0, green = 0, blue = 0] = scale.table.subarray(start, start + 3);
	return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#10131a" : "#ffffff";
}

/** Colours of the heads; a line's dash tells apart what a colour repeats. */
const HEAD_COLOURS = ["#00729f", "#d07b1c", "#a100f9", "#8e9197", "#d51944", "#de52ff"];
const HEAD_DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]];

/** @param {number} head @returns {LineStyle} */
export function headStyle(head) {
	return {
		colour: HEAD_COLOURS[head % HEAD_COLOURS.length] ?? "",
		dash: HEAD_DASHES[Math.floor(head / HEAD_COLOURS.length) % HEAD_DASHES.length] ?? [],
	};
}

/** A colour of the style sheet, for what is painted and not styled. @param {string} name such as --ink */
export function styleColour(name) {
	const probe = document.createElement("i");
	probe.style.color = `var(${name})`;
	document.body.append(probe);
	const { color } = getComputedStyle(probe);
	probe.remove();
	return color;
}
