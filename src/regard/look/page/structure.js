/** The structure of the trace: its sub-layers, and the input of each. */

import { joined, tokenLabels } from "./numbers.js";

/** Every sub-layer the trace knows, in the order it runs. @param {Doc} doc @returns {SubLayer[]} */
export function subLayers(doc) {
	const parts = Object.keys(doc.tensors).flatMap((name) => parsePath(name) ?? []);
	return parts.filter((part, i) => part.path !== parts[i - 1]?.path);
}

/** @param {Doc} doc @param {string} stack */
const inStack = (doc, stack) => subLayers(doc).filter((each) => each.stack === stack);

/** @param {Doc} doc @returns {SubLayer[]} */
export function attentions(doc) {
	return subLayers(doc).filter((each) => each.kind !== "feed_forward");
}

/** @param {string} path @returns {SubLayer | null} */
export function parsePath(path) {
	const match = /^(encoder|decoder)\.(?:layers\.(\d+)\.(self_attention|cross_attention|feed_forward)|attention)\b/.exec(path);
	if (!match) return null;
	return {
		path: match[0],
		stack: match[1] === "encoder" ? "encoder" : "decoder",
		layer: Number(match[2] ?? 0),
		kind: /** @type {SubLayer["kind"]} */ (match[3] ?? "cross_attention"),
	};
}

/** Whether the model reads and writes token by token, with cells. @param {Doc} doc */
export const isRecurrent = (doc) => "decoder.summary" in doc.tensors;

/** @param {Doc} doc @param {string} stack */
export function numLayers(doc, stack) {
	return Math.max(0, ...inStack(doc, stack).map((each) => each.layer + 1));
}

/** What the residual stream holds when it leaves a sub-layer. @param {Doc} doc @param {SubLayer} part @returns {string} */
function streamAfter(doc, part) {
	return `${part.path}.${doc.model.config.norm_placement === "pre" ? "residual" : "norm"}`;
}

/** What the residual stream holds when it enters a sub-layer: the x of LayerNorm(x + SubLayer(x)). @param {Doc} doc @param {SubLayer} part */
export function streamInto(doc, part) {
	const stack = inStack(doc, part.stack);
	const place = stack.findIndex((each) => each.path === part.path);
	const before = stack[place - 1];
	if (before) return streamAfter(doc, before);
	return part.stack === "encoder" ? "source.input" : "target.input";
}

/** What a stack hands on: the memory, or what the output's linear map reads. @param {Doc} doc @param {"encoder" | "decoder"} stack */
export function stackOutput(doc, stack) {
	for (const name of [`${stack}.final_norm`, `${stack}.readout.output`]) if (doc.tensors[name]) return name;
	const last = inStack(doc, stack).at(-1);
	if (last) return streamAfter(doc, last);
	return stack === "encoder" ? "source.input" : "target.input";
}

/** The vectors that a sub-layer's first linear maps read. @param {Doc} doc @param {SubLayer} part @param {"query" | "key" | "value" | "hidden" | "gate"} map */
export function readBy(doc, part, map) {
	if (part.kind === "cross_attention" && (map === "key" || map === "value")) return "memory";
	return doc.model.config.norm_placement === "pre" ? `${part.path}.norm` : streamInto(doc, part);
}

/** What a layer hands to the next. @param {Doc} doc @param {"encoder" | "decoder"} stack @param {number} layer */
export function layerOutput(doc, stack, layer) {
	const last = inStack(doc, stack).filter((each) => each.layer === layer).at(-1);
	return last ? streamAfter(doc, last) : "";
}

/** Whose words the rows (queries) and columns (keys) of an attention are. @param {Doc} doc @param {SubLayer} part @returns {{rows: Side, columns: Side}} */
export function sidesOf(doc, part) {
	const empty = { text: "", tokens: [], token_strings: [], words: [] };
	const source = doc.source ?? empty;
	const target = doc.target ?? empty;
	if (part.kind === "cross_attention") return { rows: target, columns: source };
	return part.stack === "encoder" ? { rows: source, columns: source } : { rows: target, columns: target };
}

/** The sentence whose positions are the rows of a tensor. @param {Doc} doc @param {string} name @returns {Side | null} */
export function sideOf(doc, name) {
	if (/^(source\.|encoder\.|memory)/.test(name)) return doc.source;
	if (/(cross_|decoder\.)attention\.(key|value)$/.test(name)) return doc.source;
	return doc.target ?? doc.source;
}

/** @param {SubLayer} part */
export function titleOf(part) {
	const kinds = {
		self_attention: part.stack === "encoder" ? "self-attention" : "masked self-attention",
		cross_attention: "cross-attention",
		feed_forward: "feed-forward",
	};
	return `${part.stack} layer ${part.layer + 1}, ${kinds[part.kind]}`;
}

/** Whose number this is, in words. @param {Doc} doc @param {Place} place */
export function describe(doc, place) {
	const { index } = place;
	const name = place.name.replace(/^grad:/, "");
	const [position = 0, column = 0] = index.slice(-2);
	const gradient = name === place.name ? "" : "gradient of ";
	if (name.includes(":")) return `${gradient}the weight at [${index.join(", ")}]${gradient ? "" : " after the step"}.`;
	const part = parsePath(name);
	const last = name.slice(name.lastIndexOf(".") + 1);
	const tokenString = tokenLabels(sideOf(doc, name))[position] ?? position;
	const isSquare = part && ["scores", "energies", "scaled", "masked", "weights"].includes(last);
	const where = isSquare
		? `“${tokenString}” → “${tokenLabels(sidesOf(doc, part).columns)[column] ?? column}”`
		: last === "position_bias"
			? `from position ${position} to position ${column}`
			: last === "logits" || last === "probabilities"
				? `token ${column} after “${tokenString}”`
				: `“${tokenString}”, feature ${column}`;
	const head = index.length === 3 ? `, head ${(index[0] ?? 0) + 1}` : "";
	return `${gradient}${part ? `${titleOf(part)}${head}, ` : ""}${last}: ${where}.`;
}

/** The name of a square of an attention; the bias of relative positions is the same in all layers. @param {SubLayer} part @param {string} last */
export function squareName({ stack, kind, path }, last) {
	return last === "position_bias" && kind === "self_attention" ? `${stack}.${last}` : `${path}.${last}`;
}

/** The words that are being written, and the positions that write each: one place before they are read. @param {Doc} doc */
export function writtenWords(doc) {
	const last = doc.output.length - 1;
	const words = (doc.target?.words ?? []).slice(1).map((span) => span.map((place) => place - 1));
	const spans = [...words, [last, last]];
	const tokenStrings = doc.output.map((each) => each.token_string);
	return { labels: joined(tokenStrings, spans), spans };
}

/** Why a key is hidden from a query, if it is. @param {Doc} doc @param {SubLayer} part @param {number} row @param {number} column @param {number} masked the score after the mask */
export function reasonHidden(doc, part, row, column, masked) {
	if (masked !== -Infinity) return null;
	const { rows, columns } = sidesOf(doc, part);
	if (columns.token_strings[column] === "<pad>") return "padding: this position only fills the row and holds no token";
	const rule = doc.hidden[part.kind === "cross_attention" ? "cross" : `${part.stack}.self`];
	if (rule === "future" || (rule === undefined && part.stack === "decoder" && column > row)) {
		return `future: when “${rows.token_strings[row]}” was read, “${columns.token_strings[column]}” had not been written yet`;
	}
	return rule ?? "hidden by the mask";
}
