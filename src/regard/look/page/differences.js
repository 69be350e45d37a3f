/** What tells a model from the paper's, and two models from one another. */

/** What the model does otherwise than the paper's: the colour of the boxes it concerns, and what it is. @param {ModelConfig} config @returns {[tint: string, text: string][]} */
export function differences(config) {
	const { architecture, attention, norm, feed_forward: feed, num_heads: heads, position, biases, window: seen, queries_per_key: shared = 1 } = config;
	// A recurrent model has no box of the paper's figure.
	if (attention !== "scaled-dot") return [];
	const gate = feed.replace("gated-", "");
	const places = /** @type {Record<string, string>} */ ({
		rotary: "Each layer rotates queries and keys by their position.",
		relative: "Each head adds a number for the distance to its scores.",
	});
	/** @type {[unknown, string, string][]} */
	const all = [
		[architecture === "decoder-only", "", "No encoder, and no attention to one."],
		[architecture === "encoder-only", "", "No decoder."],
		[config.norm_placement === "pre", "norm", "The input of each sub-layer is normalised, not the sum."],
		[norm === "rms", "norm", "RMSNorm divides by the root mean square: no mean, no bias."],
		[norm === "batch", "norm", "Norms are over the batch."],
		[position !== "sinusoidal", "position", places[position] ?? `Positions are ${position}.`],
		[shared > 1, "attention", `${heads} heads of queries share ${heads / shared} of keys and values.`],
		[config.query_key_norm, "attention", "Queries and keys are normalised."],
		[seen, "attention", `A token sees the last ${seen} alone.`],
		[gate !== feed, "feed", `${gate === "silu" ? "SwiGLU: a" : "A"} third matrix, through ${gate}, is a gate of the hidden features.`],
		[gate === feed && feed !== "relu", "feed", `${feed} instead of ReLU.`],
		[biases === "none", "", "No biases."],
		[biases === "query-key-value", "", "Only queries, keys and values have biases."],
		[config.embedding_norm, "embedding", "The sum of embedding and position is normalised."],
		[!config.scaled_embedding, "embedding", "The embedding is not multiplied by √d."],
		[config.tied === "none", "linear", "The output has a table of its own."],
	];
	return all.flatMap(([holds, tint, text]) => (holds ? [/** @type {[string, string]} */ ([tint, text])] : []));
}
