/**
 * The patterns and tables of the pipeline. Python writes them from its own (`regard.look.rules`), so that this page cannot
 * differ from `translate` by a rule that was changed in one place only.
 */

/** @type {any} by module and name */
export const rules = {};

/** @param {any} value @returns {any} with patterns in place of their texts */
function compiled(value) {
	if (Array.isArray(value)) return value.map(compiled);
	if (value === null || typeof value !== "object") return value;
	if (typeof value.pattern === "string") return new RegExp(value.pattern, "gu");
	return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, compiled(each)]));
}

/** @param {any} told what Python wrote */
export function learn(told) {
	Object.assign(rules, compiled(told));
}

/** @param {string} text @param {RegExp} pattern */
export const has = (text, pattern) => text.search(pattern) >= 0;

/** @param {string} text @param {RegExp} pattern @returns {RegExpExecArray | null} at the beginning of the text */
export function matchAtStart(text, pattern) {
	return new RegExp(pattern.source, "uy").exec(text);
}

/** @param {string} text */
export const isAlnum = (text) => /^[\p{L}\p{N}]+$/u.test(text);

/** @param {string} text @returns {[number, number]} how much white space it begins and ends with */
export function edges(text) {
	const start = text.length - text.replace(/^[\s\x1c-\x1f\x85]+/, "").length;
	return [start, text.slice(start).length - text.slice(start).replace(/[\s\x1c-\x1f\x85]+$/, "").length];
}

/** @param {string} text */
export function stripped(text) {
	const [before, after] = edges(text);
	return text.slice(before, text.length - after);
}
