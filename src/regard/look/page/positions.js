/** How order enters: waves, their picture, their distances, and two simpler ideas measured against them. */

import { styleColour } from "./colours.js";
import { drawing, drawToWidth, element, legend, marks, table, tableRow } from "./dom.js";
import { matrix } from "./matrix.js";
import { pieceLabels, show } from "./numbers.js";
import { card, codeLink, lead } from "./parts.js";
import { distance } from "./tensor.js";

const BASE = 10000;
const SHORT = 6;
const LONG = 60;
const VERY_LONG = 600;

/** @param {number} position @param {number} feature @param {number} width */
function wave(position, feature, width) {
	const pair = feature - (feature % 2);
	const angle = position / BASE ** (pair / width);
	return feature % 2 ? Math.cos(angle) : Math.sin(angle);
}

/** @param {Tensor} traced @param {number} width */
function curves(traced, width) {
	const features = [0, 1, 2 * Math.floor(width / 24), 2 * Math.floor(width / 12), 2 * Math.floor(width / 6)].filter(
		(feature, i, all) => all.indexOf(feature) === i && feature < width,
	);
	const names = ["--query", "--key", "--value", "--decoder", "--soft"];
	const stage = element("div", { class: "curves" });
	drawToWidth(stage, (available) => {
		const height = 250;
		const last = Math.max(40, traced.length(0));
		/** @param {number} position */
		const x = (position) => 34 + (position / last) * (available - 44);
		/** @param {number} value */
		const y = (value) => height / 2 - value * (height / 2 - 24);
		const picture = drawing("svg", {
			width: available,
			height,
			role: "img",
			"aria-label": "Curves of the positional encoding over positions",
		});
		for (const value of [-1, 0, 1]) {
			picture.append(
				drawing("line", { class: "rule", x1: 34, x2: available - 8, y1: y(value), y2: y(value) }),
				drawing("text", { class: "axis", x: 28, y: y(value) + 4, "text-anchor": "end" }, value),
			);
		}
		for (let position = 0; position <= last; position += 10)
			picture.append(drawing("text", { class: "axis", x: x(position), y: height - 4, "text-anchor": "middle" }, position));
		features.forEach((feature, i) => {
			const colour = styleColour(names[i] ?? "--ink");
			const points = Array.from(
				{ length: last * 6 + 1 },
				(_, step) => `${x(step / 6).toFixed(1)} ${y(wave(step / 6, feature, width)).toFixed(1)}`,
			);
			picture.append(
				drawing("path", {
					d: `M${points.join("L")}`,
					fill: "none",
					stroke: colour,
					"stroke-width": 1.8,
					"stroke-dasharray": feature % 2 ? "6 3" : null,
				}),
			);
			for (let position = 0; position < traced.length(0); position++) {
				const value = traced.at([position, feature]);
				picture.append(
					drawing(
						"circle",
						{ cx: x(position), cy: y(value), r: 3.2, fill: colour, ...marks(value, { name: traced.name, index: [position, feature] }) },
						drawing("title", {}, `position ${position}, feature ${feature}: ${show(value)}`),
					),
				);
			}
		});
		stage.replaceChildren(picture);
	});

	return element(
		"div",
		{},
		stage,
		legend(features.map((feature, i) => [styleColour(names[i] ?? "--ink"), `feature ${feature} (${feature % 2 ? "cosine" : "sine"})`])),
	);
}

/** @param {Encoding} encoding @returns {{smallest: number, early: number, late: number, most: number, farther: number, repeats: boolean}} */
function measure(encoding) {
	let smallest = Infinity;
	const vectors = Array.from({ length: LONG }, (_, position) => encoding(position, LONG));
	for (let i = 0; i < LONG; i++) for (let j = 0; j < i; j++) smallest = Math.min(smallest, distance(vectors[i] ?? [], vectors[j] ?? []));
	/** @param {number} length */
	const largest = (length) => Math.max(...Array.from({ length }, (_, position) => Math.max(...encoding(position, length).map(Math.abs))));
	return {
		smallest,
		early: distance(encoding(1, SHORT), encoding(2, SHORT)),
		late: distance(encoding(1, LONG), encoding(2, LONG)),
		most: largest(LONG),
		farther: largest(VERY_LONG),
		repeats: vectors.every((vector, position) => distance(vector, encoding(position, LONG)) === 0),
	};
}

/** @param {number} width */
function criteria(width) {
	/** @type {[string, Encoding][]} */
	const encodings = [
		["sine and cosine", (position) => Array.from({ length: width }, (_, feature) => wave(position, feature, width))],
		["share of the sentence, 0 to 1", (position, length) => [position / (length - 1)]],
		["the plain number", (position) => [position]],
	];
	const measured = encodings.map(([, encoding]) => measure(encoding));
	/** @type {[string, (m: ReturnType<typeof measure>) => boolean, (m: ReturnType<typeof measure>) => string][]} */
	const tests = [
		["every position its own", (m) => m.smallest > 0, (m) => `closest two of ${LONG}: ${show(m.smallest, 3)} apart`],
		[
			"a step means the same in every sentence",
			(m) => m.early === m.late,
			(m) => `step 1→2: ${show(m.early, 3)} among ${SHORT} words, ${show(m.late, 3)} among ${LONG}`,
		],
		[
			"bounded, so longer sentences hold no surprise",
			(m) => m.farther <= m.most,
			(m) => `largest value: ${show(m.most, 1)} up to ${LONG}, ${show(m.farther, 1)} up to ${VERY_LONG}`,
		],
		["the same every time", (m) => m.repeats, (m) => (m.repeats ? "computed twice, equal" : "computed twice, different")],
	];
	const rows = tests.map(([name, holds, text]) => {
		const cells = measured.map((m) =>
			element("td", { class: holds(m) ? "holds" : "fails" }, element("b", {}, holds(m) ? "✓ " : "✗ "), text(m)),
		);
		return tableRow({}, name, ...cells);
	});
	const found = table(["", ...encodings.map(([name]) => name)], rows, "plain");
	found.id = "criteria";
	return found;
}

/** @type {Panel} */
export const positionsPanel = {
	id: "positions",
	title: "Positions",
	keys: [],
	fits: (app) => app.has("source.position") || app.has("target.position"),
	async draw(app) {
		const name = app.has("source.position") ? "source.position" : "target.position";
		const side = name.startsWith("source") ? app.doc.source : app.doc.target;
		const traced = await app.tensor(name);
		const { position: kind, d_model: width } = app.doc.model.config;
		const rows = pieceLabels(side).map((piece, i) => `${i} ${piece}`);
		const parts = [
			lead(
				"Attention alone sees a bag of words: shuffle them and each would find the same partners. So every place gets a vector of its own, added to whatever word stands there.",
			),
			card(
				["What is added", codeLink(app, "position")],
				element(
					"p",
					{},
					kind === "sinusoidal"
						? "Fast waves on the left, slow ones on the right: like the digits of a clock, seconds to years."
						: `This model's positions are of the kind “${kind}”.`,
				),
				matrix({
					title: name,
					note: `${traced.length(0)} × ${width}`,
					rows,
					columns: width,
					value: (row, column) => traced.at([row, column]),
					place: (row, column) => ({ name, index: [row, column] }),
					scale: "signed",
					limit: kind === "sinusoidal" ? 1 : undefined,
					rowHeight: 14,
					open: app.open,
				}),
			),
		];
		const numbers = Array.from({ length: traced.length(0) }, (_, i) => String(i));
		const gaps = matrix({
			title: "distance between positions",
			note: "from the traced vectors",
			rows: numbers,
			columns: numbers,
			value: (row, column) => distance(traced.row(row), traced.row(column)),
			scale: "signed",
		});
		const gapText =
			traced.length(0) > 6
				? `Neighbours are equally far apart wherever they stand: ${show(distance(traced.row(0), traced.row(1)))} between 0 and 1, ${show(distance(traced.row(5), traced.row(6)))} between 5 and 6.`
				: "How far apart the vectors of two places lie.";
		parts.push(
			element(
				"div",
				{ class: "columns" },
				kind === "sinusoidal"
					? card(
							"A few features as curves",
							element("p", {}, "Lines: the formula at every place. Dots: this sentence's traced values."),
							curves(traced, width),
						)
					: null,
				card("Near and far", element("p", {}, gapText), gaps),
			),
			card(
				"Why not something simpler?",
				element("p", {}, "Two ideas come first to mind. Here they are, computed and held against what one wants of positions."),
				criteria(width),
			),
		);
		return parts;
	},
};
