/** Positional encoding: its waves, their distances, and two simpler schemes measured by the same criteria. */

import { headStyle } from "./colours.js";
import { b, caption, cell, div, drawing, drawToWidth, element, legend, marks, p, table, tableRow, twin } from "./dom.js";
import { biasCards, rotaryCards } from "./distances.js";
import { matrix } from "./matrix.js";
import { show, tokenLabels, wave } from "./numbers.js";
import { band, card, codeLink, lead } from "./parts.js";
import { distance, range } from "./tensor.js";

/** @param {Tensor} traced @param {number} width */
function curves(traced, width) {
	const features = [0, 1, ...[24, 12, 6].map((share) => 2 * Math.floor(width / share))].filter(
		(feature, i, all) => all.indexOf(feature) === i && feature < width,
	);
	/** @param {number} i @returns {LineStyle} the cosine is dashed */
	const style = (i) => ({ ...headStyle(i), dash: features[i] === 1 ? [6, 3] : [] });
	const stage = div("curves");
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
				caption("axis", 28, y(value) + 4, show(value, 0), "end"),
			);
		}
		for (let position = 0; position <= last; position += 10) picture.append(caption("axis", x(position), height - 4, position));
		features.forEach((feature, i) => {
			const { colour, dash } = style(i);
			const points = range(last * 6 + 1).map((step) => `${x(step / 6).toFixed(1)} ${y(wave(step / 6, feature, width).value).toFixed(1)}`);
			const line = { fill: "none", stroke: colour, "stroke-width": 1.8, "stroke-dasharray": dash.join(" ") };
			picture.append(drawing("path", { d: `M${points.join("L")}`, ...line }));
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

	return div(
		"",
		stage,
		legend(features.map((feature, i) => [style(i), `feature ${feature} (${feature % 2 ? "cosine" : "sine"})`])),
		twin("the dots as a table", ["position", ...features.map((feature) => `feature ${feature}`)], () =>
			range(traced.length(0)).map((position) => {
				const cells = features.map((feature) => [position, feature]);
				return tableRow({}, position, ...cells.map((index) => cell(traced.at(index), { name: traced.name, index })));
			}),
		),
	);
}

/** The four criteria for positions, measured. @param {App} app */
function criteria(app) {
	const measured = app.doc.criteria ?? { schemes: [], rows: [] };
	const rows = measured.rows.map(({ criterion, answers }) => {
		const cells = answers.map(({ holds, text }) => element("td", { class: holds ? "holds" : "fails" }, b("", holds ? "✓ " : "✗ "), text));
		return tableRow({}, criterion, ...cells);
	});
	const found = table(["", ...measured.schemes], rows, "plain");
	found.id = "criteria";
	return found;
}

/** @type {Record<string, (app: App) => Promise<HTMLElement[]>>} */
const NOT_ADDED = { rotary: rotaryCards, relative: biasCards, alibi: biasCards };

/** @type {Panel} */
export const positionsPanel = {
	id: "positions",
	title: "Positions",
	keys: ["focus", "attention", "step", "token"],
	fits: (app) => app.has("source.position") || app.has("target.position") || NOT_ADDED[app.config.position] !== undefined,
	async draw(app) {
		const cards = NOT_ADDED[app.config.position];
		if (cards) return cards(app);
		const side = app.inFocus("position");
		const name = `${side}.position`;
		const traced = await app.tensor(name);
		const { position: kind, d_model: width } = app.config;
		const isWaves = kind === "sinusoidal";
		const places = range(traced.length(0));
		const apart = places.map((i) => places.map((j) => distance(traced.row(i), traced.row(j))));
		const numbers = places.map(String);
		const gaps = matrix({
			title: "distance between positions",
			note: "from the traced vectors",
			rows: numbers,
			columns: numbers,
			value: (row, column) => apart[row]?.[column] ?? NaN,
			scale: "share",
			limit: Math.max(...apart.flat()),
		});
		const gapText =
			isWaves && traced.length(0) > 6
				? `Neighbouring positions are equally far apart everywhere: ${show(apart[0]?.[1] ?? NaN)} between 0 and 1, ${show(apart[5]?.[6] ?? NaN)} between 5 and 6.`
				: "Distance between the vectors of two positions.";
		return [
			lead(
				"Attention alone ignores order: shuffled tokens would get the same weights. So every position has a vector of its own, which is added to the embedding of the token there. Positions count from 0, as in the paper's formula.",
			),
			card(
				["What is added", codeLink(app, "position")],
				p(
					"",
					isWaves
						? "Sine and cosine waves: short ones on the left, long ones on the right, as a clock counts seconds, minutes and hours."
						: `The position scheme of this model is “${kind}”.`,
				),
				await band(app, name, {
					title: name,
					rows: tokenLabels(app.doc[side]).map((tokenString, i) => `${i} ${tokenString}`),
					limit: isWaves ? 1 : undefined,
					markedRow: undefined,
					rowHeight: 14,
				}),
			),
			div(
				"columns",
				isWaves &&
					card(
						"A few features as curves",
						p("", "Lines: the formula at every position. Dots: the values of this sentence in the trace."),
						curves(traced, width),
					),
				card("Distances", p("", gapText), gaps),
			),
			card(
				"Why not a simpler scheme?",
				p("", "Two simpler schemes, computed and measured by the same four criteria."),
				criteria(app),
			),
		];
	},
};
