/**
 * The shapes of what the page is given; nothing here runs.
 *
 * @typedef {object} ModelConfig
 * @property {string} architecture
 * @property {number} num_encoder_layers
 * @property {number} num_decoder_layers
 * @property {number} d_model
 * @property {number} d_ff
 * @property {number} num_heads
 * @property {number} source_vocab_size
 * @property {number} target_vocab_size
 * @property {string} position
 * @property {string} norm
 * @property {string} norm_placement
 * @property {boolean} embedding_norm
 * @property {string} feed_forward
 * @property {string} tied
 *
 * @typedef {object} Side one of the two sentences
 * @property {string} text
 * @property {number[]} tokens
 * @property {string[]} pieces
 * @property {number[][]} words first and last piece of each word
 *
 * @typedef {{token: number, piece: string, probability: number}} Candidate
 * @typedef {Candidate & {top: Candidate[]}} Written what one target position says comes next
 * @typedef {{tokens: number[], pieces: string[], score: number, parent: number | null}} Beam
 * @typedef {{beams: Beam[], top: Candidate[][]}} SearchStep
 *
 * @typedef {{kind: "head-off", attention: string, head: number}
 *   | {kind: "no-positions"}
 *   | {kind: "no-mask"}
 *   | {kind: "replace-word", index: number, text: string}
 *   | {kind: "force-next", step: number, text: string}
 *   | {kind: "edit-row", attention: string, head: number, row: number, weights: number[]}} Edit
 *
 * @typedef {object} RunDocument everything about one run but its arrays
 * @property {number} version
 * @property {number} run
 * @property {string} title
 * @property {{name: string, architecture: string, config: ModelConfig, num_parameters: number}} model
 * @property {Side | null} source
 * @property {Side | null} target
 * @property {Record<string, {shape: number[]}>} tensors
 * @property {Record<string, string | null>} hidden
 * @property {SearchStep[]} steps
 * @property {Written[]} output
 * @property {Record<string, number[]>} parameters
 * @property {Record<string, {file: string, line: number}>} code
 * @property {{edits: Edit[], original_text: string, text: string} | null} changes
 * @property {RunDocument | null} [compare]
 *
 * @typedef {{name: string, index: number[]}} Place one number: a tensor's name and where in it
 *
 * @typedef {{source: number[][], target: number[][], explained: number[]}} Plane
 * @typedef {{token: number, piece: string, cosine: number}} Neighbour
 *
 * @typedef {object} State what the page shows; every part is in the address
 * @property {number} run
 * @property {string} view
 * @property {string} attention path of the attention sub-layer in view
 * @property {number} head
 * @property {number} step the target position that is being written
 * @property {number} token the source position in view
 * @property {string} unit pieces or words
 * @property {string} heads which heads the lines show: one, layer, all
 * @property {number} threshold
 * @property {number} tour the step of the tour, -1 when nobody takes it
 * @property {Place | null} place the number whose arithmetic is open
 * @property {string} focus the part of a panel to bring into sight
 */

export {};
