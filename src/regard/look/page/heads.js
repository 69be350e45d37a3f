/** Every head of every layer at a glance: one canvas for each kind of attention. */

import { colourAt, shareScale } from "./colours.js";
import { b, caption, cell, div, drawing, drawToWidth, element, filled, marks, span, tableRow, twin, walkable } from "./dom.js";
import { show, tokenLabels } from "./numbers.js";
import { lead, card } from "./parts.js";
import { attentions, sidesOf } from "./structure.js";
import { range } from "./tensor.js";

const LARGEST_THUMBNAIL = 132;
const MARGIN = { left: 26, top: 20, gap: 6 };

/** A head in one line: its mean entropy and its strongest link. @param {Tensor} weights @param {number} head */
function summary(weights, head) {
	const [numRows, numColumns] = [weights.length(1), weights.length(2)];
	let [entropy, row, column, strongest] = [0, 0, 0, -1];
	for (let i = 0; i < numRows; i++) {
		for (let j = 0; j < numColumns; j++) {
			const weight = weights.at([head, i, j]);
			if (weight > 0) entropy -= weight * Math.log2(weight);
			if (weight > strongest && numColumns > 1 && (i > 0 || j > 0)) [strongest, row, column] = [weight, i, j];
		}
	}
	return { entropy: entropy / numRows, row, column, strongest };
}

/** @param {CanvasRenderingContext2D} context @param {Tensor[]} layers @param {number} size side of a thumbnail in device pixels @param {number} height @param {number} gap */
function paintAtlas(context, layers, size, height, gap) {
	const numHeads = layers[0]?.length(0) ?? 0;
	const width = numHeads * (size + gap);
	const image = new ImageData(Math.max(1, width), Math.max(1, layers.length * (height + gap)));
	const pixels = new Uint32Array(image.data.buffer);
	const scale = shareScale();
	const colours = new Uint32Array(scale.table.buffer);
	layers.forEach((weights, layer) => {
		const [numRows, numColumns] = [weights.length(1), weights.length(2)];
		for (let head = 0; head < numHeads; head++) {
			for (let y = 0; y < height; y++) {
				const row = Math.floor((y * numRows) / height);
				const cells = weights.row(head, row);
				let pixel = (layer * (height + gap) + y) * width + head * (size + gap);
				for (let x = 0; x < size; x++) {
					const weight = cells[Math.floor((x * numColumns) / size)] ?? 0;
					pixels[pixel++] = colours[colourAt(scale, weight) / 4] ?? 0;
				}
			}
		}
	});
	context.canvas.width = image.width;
	context.canvas.height = image.height;
	context.putImageData(image, 0, 0);
}

/** @param {App} app @param {string} title @param {SubLayer[]} parts one for each layer */
async function atlas(app, title, parts) {
	const layers = await Promise.all(parts.map((part) => app.tensor(`${part.path}.weights`)));
	const first = layers[0];
	const part = parts[0];
	if (!first || !part) return element("section");
	const sides = sidesOf(app.doc, part);
	const labels = { rows: tokenLabels(sides.rows), columns: tokenLabels(sides.columns) };
	const numHeads = first.length(0);
	const canvas = element("canvas", { tabindex: 0, role: "img", class: "atlas" });
	const overlay = drawing("svg", { class: "overlay", "aria-hidden": "true" });
	const frame = drawing("rect", { class: "frame" });
	const stage = div("matrix-stage", canvas, overlay);
	const readout = element("output", { class: "readout" });
	let [size, height] = [1, 1];
	const here = { layer: 0, head: 0 };

	const describe = () => {
		const weights = layers[here.layer];
		if (!weights) return;
		const { entropy, row, column, strongest } = summary(weights, here.head);
		const link = `${labels.rows[row]} → ${labels.columns[column]}`;
		readout.replaceChildren(
			b("", `layer ${here.layer + 1}, head ${here.head + 1}`),
			` strongest link ${link} `,
			element("b", marks(strongest, { name: weights.name, index: [here.head, row, column] }), show(strongest)),
			` · mean entropy ${show(entropy, 2)} bits`,
		);
		canvas.setAttribute("aria-label", `${title}: ${readout.textContent}. Enter opens this head.`);
		filled(frame, {
			x: MARGIN.left + here.head * (size + MARGIN.gap) - 1,
			y: MARGIN.top + here.layer * (height + MARGIN.gap) - 1,
			width: size + 2,
			height: height + 2,
		});
	};
	drawToWidth(stage, (width) => {
		size = Math.max(8, Math.min(LARGEST_THUMBNAIL, Math.floor((width - MARGIN.left) / numHeads) - MARGIN.gap));
		height = Math.max(8, Math.min(LARGEST_THUMBNAIL, Math.round((size * first.length(1)) / first.length(2))));
		const ratio = Math.max(1, Math.round(devicePixelRatio || 1));
		const context = canvas.getContext("2d");
		if (!context) return;
		paintAtlas(context, layers, size * ratio, height * ratio, MARGIN.gap * ratio);
		const place = { left: MARGIN.left, top: MARGIN.top, width: canvas.width / ratio, height: canvas.height / ratio };
		for (const [name, pixels] of Object.entries(place)) canvas.style.setProperty(name, `${pixels}px`);
		stage.style.height = `${MARGIN.top + canvas.height / ratio}px`;
		const heads = range(numHeads).map((head) =>
			caption("axis", MARGIN.left + head * (size + MARGIN.gap) + size / 2, 14, size > 44 ? `head ${head + 1}` : head + 1),
		);
		const names = layers.map((_, layer) => caption("label", 12, MARGIN.top + layer * (height + MARGIN.gap) + height / 2 + 4, layer + 1));
		overlay.replaceChildren(...heads, ...names, frame);
		describe();
	});

	walkable(canvas, {
		size: [layers.length, numHeads],
		at: () => [here.layer, here.head],
		under: (event) => {
			const box = canvas.getBoundingClientRect();
			const head = Math.min(numHeads - 1, Math.floor((event.clientX - box.left) / (size + MARGIN.gap)));
			return [Math.min(layers.length - 1, Math.floor((event.clientY - box.top) / (height + MARGIN.gap))), head];
		},
		move: ([layer, head]) => {
			Object.assign(here, { layer, head });
			describe();
		},
		open: () => app.go({ view: "attention", attention: parts[here.layer]?.path ?? "", head: here.head, focus: "scores" }),
	});

	return card(
		[title, span("note", `${layers.length} layers × ${numHeads} heads; rows ask, columns answer`)],
		stage,
		div("matrix-foot", readout, span("hint", "click or Enter: open the head")),
		summaryTable(labels.rows, labels.columns, layers),
	);
}

/** @param {string[]} rows @param {string[]} columns @param {Tensor[]} layers */
function summaryTable(rows, columns, layers) {
	return twin("the heads as a table", ["", "strongest link", "weight", "bits of choice"], () =>
		layers.flatMap((weights, layer) =>
			range(weights.length(0)).map((head) => {
				const { entropy, row, column, strongest } = summary(weights, head);
				return tableRow(
					{},
					`layer ${layer + 1}, head ${head + 1}`,
					`${rows[row]} → ${columns[column]}`,
					cell(strongest, { name: weights.name, index: [head, row, column] }),
					cell(entropy, null, show(entropy, 2)),
				);
			}),
		),
	);
}

/** @type {Panel} */
export const headsPanel = {
	id: "heads",
	title: "All heads",
	keys: [],
	fits: (app) => attentions(app.doc).some((part) => app.has(`${part.path}.weights`)),
	async draw(app) {
		const parts = attentions(app.doc).filter((part) => app.has(`${part.path}.weights`));
		const kinds = /** @type {const} */ ([
			["encoder", "self_attention", "Encoder self-attention"],
			["decoder", "self_attention", "Decoder masked self-attention"],
			["decoder", "cross_attention", "Cross-attention"],
		]);
		const drawn = await Promise.all(
			kinds.map(async ([stack, kind, title]) => {
				const found = parts.filter((part) => part.stack === stack && part.kind === kind);
				return found.length ? atlas(app, title, found) : null;
			}),
		);
		return [
			lead(
				"Every head of every layer. Some look at the neighbour, some at the end of the sentence, some at one word that matters.",
			),
			...drawn.filter((node) => node !== null),
		];
	},
};
