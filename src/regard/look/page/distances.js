/** Positions that are not added: rotary ones turn queries and keys, others add a number for each distance. */

import { p } from "./dom.js";
import { matrix } from "./matrix.js";
import { show, tokenLabels } from "./numbers.js";
import { card, codeLink, lead } from "./parts.js";
import { attentions, parsePath } from "./structure.js";
import { range } from "./tensor.js";

const WHY = "Attention alone ignores order. This model adds nothing to the embedding: ";
const MAX_DISTANT = 40;
const MAX_ROWS = 24;

/** A row for each head and a column for each distance. @param {App} app @param {string} title @param {number[]} distances @param {number[][]} heads @param {(row: number, column: number) => Place | null} [place] */
function byDistance(app, title, distances, heads, place) {
	const limit = Math.max(...heads.flat().map(Math.abs));
	const columns = distances.map((each) => show(each, 0));
	const rows = heads.map((_, head) => `head ${head + 1}`);
	return matrix({ title, rows, columns, value: (row, column) => heads[row]?.[column] ?? NaN, scale: "signed", limit, rowHeight: 18, place, open: place && app.open });
}

/** @param {App} app @returns {Promise<HTMLElement[]>} */
export async function rotaryCards(app) {
	const known = attentions(app.doc).filter((part) => part.kind === "self_attention");
	const part = known.find((each) => each.path === app.state.attention) ?? known[0];
	if (!part) return [];
	const isEncoder = part.stack === "encoder";
	const tokens = tokenLabels(isEncoder ? app.doc.source : app.doc.target);
	const here = isEncoder ? app.state.token : app.state.step;
	const query = await app.tensor(`${part.path}.query`);
	const size = query.length(2);
	/** @param {number} pair */
	const speed = (pair) => app.config.rotary_frequencies?.[pair] ?? NaN;
	const distances = range(MAX_DISTANT + 1);
	const heads = range(query.length(0)).map((head) => {
		// The length of each pair, which turning does not change.
		const pairs = range(size / 2).map((i) => query.at([head, here, 2 * i]) ** 2 + query.at([head, here, 2 * i + 1]) ** 2);
		return distances.map((distance) => pairs.reduce((sum, each, i) => sum + each * Math.cos(distance * speed(i)), 0) / Math.sqrt(size));
	});
	return [
		lead(`${WHY}it turns each query and key by an angle that grows with the position. The product of two then depends on how far apart they are, not on where they stand.`),
		card(
			["Each pair of features turns like the hand of a clock", codeLink(app, "rotation")],
			p("", `Each pair of features turns by ${show(speed(0), 2)} radians from one position to the next in the first pair, by ${show(speed(size / 2 - 1), 6)} in the last: the left pairs turn fast, as a second hand does, the right ones hardly. The band shows the cosine of the angle.`),
			matrix({ title: "cosine of the angle", rows: tokens.slice(0, MAX_ROWS), columns: size / 2, value: (row, pair) => Math.cos(row * speed(pair)), scale: "signed", limit: 1, markedRow: here, rowHeight: 14 }),
		),
		card(
			"What the distance does to a score",
			p("", `The query of “${tokens[here]}” against a key with the same content, so many tokens away: the scaled score in each head of ${part.stack} layer ${part.layer + 1}, computed from the traced query. Most heads score near keys higher.`),
			byDistance(app, "score by distance", distances, heads),
		),
	];
}

/** @param {App} app @returns {Promise<HTMLElement[]>} */
export async function biasCards(app) {
	const stack = parsePath(app.state.attention)?.stack ?? "encoder";
	const bias = await app.tensor(app.has(`${stack}.position_bias`) ? `${stack}.position_bias` : "decoder.position_bias");
	const [isDecoder, columns] = [bias.name.startsWith("decoder"), bias.length(2)];
	const distances = range(isDecoder ? columns : 2 * columns - 1).map((i) => i - (columns - 1));
	/** @param {number} head @param {number} i */
	const index = (head, i) => [head, Math.max(0, -(distances[i] ?? 0)), Math.max(0, distances[i] ?? 0)];
	const heads = range(bias.length(0)).map((head) => distances.map((_, i) => bias.at(index(head, i))));
	const { num_buckets: buckets, max_distance: most } = app.config;
	const ways = isDecoder ? "It looks back only." : "Below 0 the key comes before the query, above 0 after it.";
	return [
		lead(`${WHY}to each score it adds a number that depends only on how far the key is from the query.`),
		card(
			["A number for each distance", codeLink(app, "position_bias")],
			p("", `${app.config.slopes ? "Each head takes off its slope times the distance" : `The ${isDecoder ? "decoder" : "encoder"} has ${buckets} learned numbers for each head. Near distances have one each, farther ones share, and all from ${most} on have the last`}, the same in every layer. A column is the position of the key minus that of the query. ${ways}`),
			byDistance(app, "number by distance", distances, heads, (head, i) => ({ name: bias.name, index: index(head, i) })),
		),
	];
}
