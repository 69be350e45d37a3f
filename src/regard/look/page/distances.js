/** Positions that are not added: rotary ones turn queries and keys, relative ones add a number for each distance. */

import { attentions, parsePath } from "./anatomy.js";
import { headStyle } from "./colours.js";
import { caption, cell, div, drawing, drawToWidth, element, legend, p, tableRow, twin } from "./dom.js";
import { show, tokenLabels, wave } from "./numbers.js";
import { card, codeLink, lead } from "./parts.js";
import { extent, range } from "./tensor.js";

/** A line for each head over the distance of the key. @param {string} label @param {number[]} distances @param {number[][]} heads @param {(head: number, i: number) => Place | undefined} [place] */
function chart(label, distances, heads, place) {
	const stage = div("curves");
	const [low, high] = extent(heads.flat());
	drawToWidth(stage, (width) => {
		const height = 260;
		const [first = 0, last = 1] = [distances[0], distances.at(-1)];
		/** @param {number} distance */
		const x = (distance) => 46 + ((distance - first) / (last - first || 1)) * (width - 60);
		/** @param {number} value */
		const y = (value) => 14 + ((high - value) / (high - low || 1)) * (height - 50);
		const picture = drawing("svg", { width, height, role: "img", "aria-label": label });
		for (const value of [low, 0, high].filter((each) => each >= low && each <= high))
			picture.append(drawing("line", { class: "rule", x1: 46, x2: width - 10, y1: y(value), y2: y(value) }), caption("axis", 42, y(value) + 4, show(value, 1), "end"));
		const step = Math.ceil(distances.length / 12);
		for (const distance of distances.filter((each) => each % step === 0)) picture.append(caption("axis", x(distance), height - 16, show(distance, 0)));
		picture.append(caption("axis", width / 2, height - 2, label));
		heads.forEach((values, head) => {
			const { colour, dash } = headStyle(head);
			const points = values.map((value, i) => `${x(distances[i] ?? 0).toFixed(1)} ${y(value).toFixed(1)}`);
			picture.append(drawing("path", { d: `M${points.join("L")}`, fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": dash.join(" ") }));
		});
		stage.replaceChildren(picture);
	});
	return div(
		"",
		stage,
		legend(heads.map((_, head) => [headStyle(head), `head ${head + 1}`])),
		twin("the lines as a table", ["distance", ...heads.map((_, head) => `head ${head + 1}`)], () =>
			distances.map((distance, i) => tableRow({}, distance, ...heads.map((values, head) => cell(values[i] ?? NaN, place?.(head, i))))),
		),
	);
}

const MOST_HANDS = 12;

/** The angle of a pair of features at the first positions, as hands of a clock. @param {string[]} tokens @param {number} pair first feature @param {number} size */
function clock(tokens, pair, size) {
	const hands = tokens.slice(0, MOST_HANDS).flatMap((token, position) => {
		const { angle } = wave(position, pair, size);
		const [x, y] = [70 + 48 * Math.cos(angle), 70 - 48 * Math.sin(angle)];
		const isFirst = position === 0;
		return [
			drawing("line", { class: isFirst ? "hand first" : "hand", x1: 70, y1: 70, x2: x, y2: y }, drawing("title", {}, `${token}: ${show(angle)} radians`)),
			caption("axis", 70 + 58 * Math.cos(angle), 74 - 58 * Math.sin(angle), position + 1),
		];
	});
	const title = `features ${pair} and ${pair + 1}`;
	return element("figure", {}, drawing("svg", { viewBox: "0 0 140 140", role: "img", "aria-label": `How far each token turns ${title}` }, drawing("circle", { class: "rule", cx: 70, cy: 70, r: 48, fill: "none" }), ...hands), element("figcaption", { class: "note" }, title));
}

/** @param {App} app @returns {SubLayer | undefined} the self-attention in view, or the first */
function selfAttention(app) {
	const known = attentions(app.doc).filter((part) => part.kind === "self_attention");
	return known.find((part) => part.path === app.state.attention) ?? known[0];
}

/** @param {App} app @returns {Promise<HTMLElement[]>} */
export async function rotaryCards(app) {
	const part = selfAttention(app);
	if (!part) return [];
	const side = part.stack === "encoder" ? app.doc.source : app.doc.target;
	const tokens = tokenLabels(side);
	const here = part.stack === "encoder" ? app.state.token : app.state.step;
	const query = await app.tensor(`${part.path}.query`);
	const size = query.length(2);
	const pairs = [0, 1 / 8, 1 / 4, 1 / 2].map((share) => 2 * Math.floor((share * size) / 2));
	const shown = pairs.filter((pair, i) => pairs.indexOf(pair) === i);
	const distances = range(41);
	const heads = range(query.length(0)).map((head) => {
		const row = query.row(head, here);
		// Turned alike, a query meets itself: what is left is the cosine of the difference.
		return distances.map((distance) => range(size / 2).reduce((sum, i) => sum + ((row[2 * i] ?? 0) ** 2 + (row[2 * i + 1] ?? 0) ** 2) * Math.cos(wave(distance, 2 * i, size).angle), 0) / Math.sqrt(size));
	});
	return [
		lead("Attention alone ignores order. This model adds nothing to the embedding: it turns each query and key by an angle that grows with the position. Two of them then agree by how far apart they are, not by where they stand."),
		card(
			["Each pair of features is a hand of a clock", codeLink(app, "rotation")],
			p("", `The numbers are those of the first tokens. Number 1 points right; each later token is turned further, by one radian in the first pair and more slowly in later ones. Feature pair i turns by (position / 10000^(2i / ${size})) radians.`),
			div("clocks", ...shown.map((pair) => clock(tokens, pair, size))),
			twin("the angles as a table", ["token", ...shown.map((pair) => `features ${pair}, ${pair + 1}`)], () =>
				tokens.map((token, position) => tableRow({}, token, ...shown.map((pair) => cell(wave(position, pair, size).angle)))),
			),
		),
		card(
			"What the distance does to a score",
			p("", `The query of “${tokens[here]}” against a key with the same content, so many tokens back: the scaled score in each head of ${part.stack} layer ${part.layer + 1}. It is computed from the traced query.`),
			chart("tokens between query and key", distances, heads),
		),
	];
}

/** @param {App} app @returns {Promise<HTMLElement[]>} */
export async function relativeCards(app) {
	const stack = parsePath(app.state.attention)?.stack ?? "encoder";
	const name = app.has(`${stack}.position_bias`) ? `${stack}.position_bias` : "decoder.position_bias";
	const bias = await app.tensor(name);
	const [rows, columns] = [bias.length(1), bias.length(2)];
	const isDecoder = name.startsWith("decoder");
	const distances = range(isDecoder ? columns : rows + columns - 1).map((i) => i - (columns - 1));
	/** @param {number} distance @returns {[number, number]} */
	const at = (distance) => (distance < 0 ? [-distance, 0] : [0, distance]);
	/** @param {number} head @param {number} i */
	const place = (head, i) => ({ name, index: [head, ...at(distances[i] ?? 0)] });
	const heads = range(bias.length(0)).map((head) => distances.map((distance) => bias.at([head, ...at(distance)])));
	const { num_buckets: buckets, max_distance: most } = app.config;
	return [
		lead("Attention alone ignores order. This model adds nothing to the embedding: to each score it adds a learned number that depends only on how far the key is from the query."),
		card(
			["A number for each distance", codeLink(app, "position_bias")],
			p("", `The ${isDecoder ? "decoder" : "encoder"} has ${buckets} numbers for each head, the same in every layer. Near distances have one each, farther ones share, and all from ${most} on have the last. ${isDecoder ? "It looks back only." : "Left of 0 the key comes before the query, right of 0 after it."}`),
			chart("position of the key minus position of the query", distances, heads, place),
		),
	];
}
