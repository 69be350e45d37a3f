// Which way is meant.

export const AUTO = "auto";

/**
 * Ask for a translation. What is in the language that it was to become goes the other way, if its own was to be detected.
 * @template {{ source: string, target: string }} Wish
 * @template {{ source: string }} Answer
 * @param {ServerState} state
 * @param {Wish} wish
 * @param {(wish: Wish) => Promise<Answer>} ask
 * @returns {Promise<{ found: Answer, target: string }>}
 */
export async function eitherWay(state, wish, ask) {
	const found = await ask(wish);
	const other = state.pairs.find((pair) => pair.source === found.source);
	if (wish.source !== AUTO || found.source !== wish.target || !other) return { found, target: wish.target };
	const { source, target } = other;
	return { found: await ask({ ...wish, source, target }), target };
}
