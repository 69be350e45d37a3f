/** One head taken apart: queries, keys and values; scores, scaling, mask, softmax; mixture, W_O, sum, norm. */

import { attentions, parsePath, readBy, reasonHidden, sidesOf, streamInto, titleOf } from "./anatomy.js";
import { choice, element } from "./dom.js";
import { Cursor, matrix } from "./matrix.js";
import { pieceLabels, show } from "./numbers.js";
import { card, codeLink, lead } from "./parts.js";
import { headChoice } from "./strip.js";
import { extent } from "./tensor.js";

/** Which attention, as buttons: kind, layer, head. @param {App} app */
export function attentionChoice(app) {
	const known = attentions(app.doc);
	const here = parsePath(app.state.attention);
	const kinds = [...new Map(known.map((part) => [`${part.stack}.${part.kind}`, part])).entries()];
	const names = /** @type {Record<string, string>} */ ({
		"encoder.self_attention": "encoder self",
		"decoder.self_attention": "decoder masked self",
		"decoder.cross_attention": "cross",
	});
	const layers = known.filter((part) => part.stack === here?.stack && part.kind === here.kind);
	const numHeads = app.doc.tensors[`${app.state.attention}.weights`]?.shape[0] ?? 0;
	return element(
		"div",
		{ class: "choices" },
		choice(
			"attention",
			kinds.map(([value]) => ({ value, text: names[value] ?? value })),
			here ? `${here.stack}.${here.kind}` : "",
			(value) => {
				const options = known.filter((part) => `${part.stack}.${part.kind}` === value);
				const found = options.find((part) => part.layer === here?.layer) ?? options[0];
				if (found) app.go({ attention: found.path });
			},
		),
		choice(
			"layer",
			layers.map((part) => ({ value: part.path, text: String(part.layer + 1) })),
			app.state.attention,
			(value) => app.go({ attention: value }),
		),
		numHeads ? headChoice(app, numHeads) : null,
	);
}

/** @param {App} app @param {string} box @param {string} title @param {string} text @param {...HTMLElement} children */
function station(app, box, title, text, ...children) {
	const node = card([title, codeLink(app, box)], element("p", {}, text), ...children);
	node.id = `part-${box}`;
	return node;
}

/**
 * A band of one row a piece and one column a feature.
 * @param {App} app
 * @param {string} name
 * @param {{head?: number, role?: string, markedColumns?: [number, number], title?: string}} [extra]
 */
async function band(app, name, extra = {}) {
	const values = await app.tensor(name);
	const part = parsePath(name);
	const isHeads = values.shape.length === 3;
	const head = extra.head ?? 0;
	const isKeySide = /\.(key|value)$/.test(name);
	const sides = part ? sidesOf(app.doc, part) : null;
	const side = (isKeySide ? sides?.columns : sides?.rows) ?? app.doc.source;
	const isTargetRow = side === app.doc.target;
	return matrix({
		title: extra.title ?? name.slice(name.lastIndexOf(".") + 1),
		note: isHeads ? `${values.length(1)} × ${values.length(2)}` : `${values.length(0)} × ${values.length(1)}`,
		rows: pieceLabels(side),
		columns: values.length(values.shape.length - 1),
		value: (row, column) => values.at(isHeads ? [head, row, column] : [row, column]),
		place: (row, column) => ({ name, index: isHeads ? [head, row, column] : [row, column] }),
		scale: "signed",
		role: extra.role,
		markedColumns: extra.markedColumns,
		markedRow: isTargetRow ? app.state.step : app.state.token,
		rowHeight: 12,
		open: app.open,
	});
}

/**
 * The four squares that turn dot products into shares, with one cursor.
 * @param {App} app
 * @param {SubLayer} part
 * @returns {Promise<HTMLElement[]>}
 */
async function squares(app, part) {
	const { head } = app.state;
	const { rows, columns } = sidesOf(app.doc, part);
	const isTarget = rows === app.doc.target;
	const cursor = new Cursor(isTarget ? app.state.step : app.state.token, Math.min(app.state.token, columns.pieces.length - 1));
	const masked = app.has(`${part.path}.masked`) ? await app.tensor(`${part.path}.masked`) : null;
	const notes = /** @type {Record<string, string>} */ ({
		scores: "query · key",
		scaled: `÷ √${app.doc.model.config.d_model / app.doc.model.config.num_heads}`,
		masked: "hidden cells: −∞",
		weights: "each row sums to 1",
	});
	const names = ["scores", "scaled", "masked", "weights"].filter((name) => app.has(`${part.path}.${name}`));
	return Promise.all(
		names.map(async (last) => {
			const name = `${part.path}.${last}`;
			const values = await app.tensor(name);
			const [low, high] = extent(
				values.data.subarray(head * values.length(1) * values.length(2), (head + 1) * values.length(1) * values.length(2)),
			);
			const hides = (last === "masked" || last === "weights") && masked;
			return matrix({
				title: last,
				note: notes[last],
				rows: pieceLabels(rows),
				columns: pieceLabels(columns),
				value: (row, column) => values.at([head, row, column]),
				place: (row, column) => ({ name, index: [head, row, column] }),
				hidden: hides ? (row, column) => reasonHidden(app.doc, part, row, column, masked.at([head, row, column])) : undefined,
				scale: last === "weights" ? "share" : "signed",
				limit: last === "weights" ? undefined : Math.max(-low, high),
				markedRow: isTarget ? app.state.step : app.state.token,
				cursor,
				open: app.open,
			});
		}),
	);
}

/** @type {Panel} */
export const attentionPanel = {
	id: "attention",
	title: "Attention",
	keys: ["attention", "head", "step", "token"],
	fits: (app) => attentions(app.doc).length > 0,
	async draw(app) {
		const part = parsePath(app.state.attention);
		if (!part || part.kind === "feed_forward") {
			const first = attentions(app.doc)[0];
			if (first) app.go({ attention: first.path });
			return [];
		}
		const { path } = part;
		const { head } = app.state;
		const isPre = app.doc.model.config.norm_placement === "pre";
		const { d_model: width, num_heads: numHeads } = app.doc.model.config;
		const size = width / numHeads;
		/** @param {string} last */
		const has = (last) => app.has(`${path}.${last}`);
		const reads =
			part.kind === "cross_attention"
				? "Queries come from what is being written, keys and values from the memory of the source."
				: "Queries, keys and values are three views of the same words.";
		/** @type {HTMLElement[]} */
		const parts = [lead(`${titleOf(part)}, head ${head + 1} of ${numHeads}. ${reads}`), attentionChoice(app)];

		const norm = has("norm")
			? station(
					app,
					"norm",
					"Norm",
					`Each position is set to mean 0 and spread 1 over its own ${width} features, then stretched and shifted by learned gains and biases.`,
					await band(app, `${path}.norm`),
				)
			: null;
		if (isPre && norm) parts.push(norm);
		if (has("query")) {
			const bands = await Promise.all(["query", "key", "value"].map((name) => band(app, `${path}.${name}`, { head, role: name })));
			const text = `Three learned maps make ${size} numbers of each position for this head: what it looks for (query), what it offers to be found by (key), what it hands over (value). They read ${readBy(app.doc, part, "query")}${part.kind === "cross_attention" ? " and memory" : ""}.`;
			parts.push(station(app, "query", "Query, key, value", text, element("div", { class: "bands" }, ...bands)));
		}
		if (has("weights")) {
			const hiding =
				part.stack === "decoder" && part.kind === "self_attention"
					? " Hatched cells lie in the future of their row: the mask sets them to −∞, and the softmax makes exactly 0 of that."
					: " Nothing is hidden here: every key may be seen.";
			const text = `Rows ask, columns answer. Every query meets every key in a dot product; dividing by √d_k keeps the sums tame; the softmax turns each row into shares.${hiding}`;
			parts.push(
				station(app, "scores", "From scores to weights", text, element("div", { class: "squares" }, ...(await squares(app, part)))),
			);
		}
		if (has("context")) {
			parts.push(
				station(
					app,
					"context",
					"Weighted values",
					`Each row is a mixture of the values, by the weights above: ${size} numbers a position.`,
					await band(app, `${path}.context`, { head, role: "value" }),
				),
			);
		}
		if (has("concatenated")) {
			parts.push(
				station(
					app,
					"concatenated",
					"Heads side by side",
					`All ${numHeads} heads' mixtures in one row of ${width}; the framed part is this head's.`,
					await band(app, `${path}.concatenated`, { markedColumns: [head * size, (head + 1) * size] }),
				),
			);
		}
		if (has("output"))
			parts.push(
				station(app, "output", "Times W_O", "One more learned map lets the heads speak together.", await band(app, `${path}.output`)),
			);
		if (has("residual"))
			parts.push(
				station(
					app,
					"residual",
					"Add",
					`What came in (${streamInto(app.doc, part)}) plus what attention found: nothing that was known is lost.`,
					await band(app, `${path}.residual`),
				),
			);
		if (!isPre && norm) parts.push(norm);
		return parts;
	},
};

/** @type {Panel} */
export const feedForwardPanel = {
	id: "feed-forward",
	title: "Feed-forward",
	keys: ["attention", "step", "token"],
	fits: (app) => Object.keys(app.doc.tensors).some((name) => name.includes(".feed_forward.")),
	async draw(app) {
		const here = parsePath(app.state.attention);
		const stack = here?.stack ?? "encoder";
		const path = `${stack}.layers.${here?.layer ?? 0}.feed_forward`;
		const part = parsePath(path);
		if (!part) return [];
		const { config } = app.doc.model;
		const isPre = config.norm_placement === "pre";
		const active = app.has(`${path}.activated`) ? await shareActive(app, `${path}.activated`) : null;
		const texts = /** @type {Record<string, [string, string, string]>} */ ({
			norm: ["norm", "Norm", "Each position on its own scale."],
			hidden: [
				"hidden",
				"First map",
				`From ${config.d_model} features to ${config.d_ff}, at each position by itself: no word looks at another here.`,
			],
			gate: ["gate", "Gate", "A second projection that lets features through."],
			activated: ["activated", config.feed_forward === "relu" ? "ReLU" : "Activation", active ?? ""],
			output: ["feed_forward", "Second map", `Back from ${config.d_ff} to ${config.d_model}.`],
			residual: ["residual", "Add", `What came in (${streamInto(app.doc, part)}) plus what was found.`],
		});
		const order = isPre
			? ["norm", "hidden", "gate", "activated", "output", "residual"]
			: ["hidden", "gate", "activated", "output", "residual", "norm"];
		const cards = await Promise.all(
			order
				.filter((last) => app.has(`${path}.${last}`))
				.map(async (last) => {
					const [box, title, text] = texts[last] ?? ["", last, ""];
					const node = station(app, box, title, text, await band(app, `${path}.${last}`));
					node.id = `part-${last}`;
					return node;
				}),
		);
		const layers = attentions(app.doc).filter((each) => each.kind === "self_attention");
		return [
			lead(`${titleOf(part)}. After the words have looked at one another, each position works alone: the same two maps for all.`),
			element(
				"div",
				{ class: "choices" },
				choice(
					"layer",
					layers.map((each) => ({ value: each.path, text: `${each.stack} ${each.layer + 1}` })),
					`${stack}.layers.${part.layer}.self_attention`,
					(value) => app.go({ attention: value.replace("self_attention", "feed_forward") }),
				),
			),
			...cards,
		];
	},
};

/** @param {App} app @param {string} name @returns {Promise<string>} */
async function shareActive(app, name) {
	const { data } = await app.tensor(name);
	const active = data.reduce((sum, value) => sum + (value > 0 ? 1 : 0), 0);
	return `Negative features are cut to 0: ${show((100 * active) / data.length, 1)} % of them are on for this sentence.`;
}
