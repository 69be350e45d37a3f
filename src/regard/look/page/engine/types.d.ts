/** The shapes that the engine's modules share; `tsc` reads it, a browser never does. */

/** Start and end of a part of a text. */
type Span = [number, number];

interface EngineConfig {
	architecture: string;
	source_vocab_size: number;
	target_vocab_size: number;
	num_encoder_layers: number;
	num_decoder_layers: number;
	d_model: number;
	d_ff: number;
	d_state: number;
	attention: string;
	num_heads: number;
	num_key_value_heads: number | null;
	query_key_norm: boolean;
	window: number | null;
	rotary_base: number;
	rotary_factor: number;
	rotary_length: number;
	position: string;
	max_positions: number;
	num_buckets: number;
	max_distance: number;
	scaled_embedding: boolean;
	norm: string;
	norm_epsilon: number;
	norm_placement: string;
	embedding_norm: boolean;
	feed_forward: string;
	tied: string;
	output_bias: boolean;
	output_transform: boolean;
	pad_id: number;
	bos_id: number;
	eos_id: number;
}

interface DecodeConfig {
	method: string;
	beam: number;
	length_penalty: number;
	coverage_penalty: number;
	n_best: number;
	max_length: number;
	min_length: number;
	no_repeat_ngram: number;
	temperature: number;
	top_k: number;
	top_p: number;
	presence_penalty: number;
	frequency_penalty: number;
	seed: number | null;
}

/** What an output must begin with and hold, in token ids. */
interface Constraints {
	prefix?: number[];
	required?: number[][];
}

/** One output of a search. */
interface Hypothesis {
	tokens: number[];
	score: number;
	log_probability: number;
	token_log_probabilities: number[];
	stop: "end" | "length";
	/** of each token over the source */
	attention: Float32Array[];
}

/** What a search saw at one step. */
interface StepRecord {
	beams: number[][];
	scores: number[];
	top_tokens: number[][];
	top_probabilities: number[][];
}
