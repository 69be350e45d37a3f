// Which way is meant.

export const AUTO = "auto";

/**
 * Ask for a translation. What is in the language that it was to become goes the other way, if its own was to be detected.
 * @template {{ source: string, target: string }} Request
 * @template {{ source: string }} Answer
 * @param {ServerState} state
 * @param {Request} request
 * @param {(request: Request) => Promise<Answer>} ask
 * @returns {Promise<{ found: Answer, target: string }>}
 */
export async function eitherWay(state, request, ask) {
	const found = await ask(request);
	const other = state.pairs.find((pair) => pair.source === found.source);
	if (request.source !== AUTO || found.source !== request.target || !other) return { found, target: request.target };
	const { source, target } = other;
	return { found: await ask({ ...request, source, target }), target };
}
