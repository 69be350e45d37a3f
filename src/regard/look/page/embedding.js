/** The embeddings of the sentence as points in a plane, and the nearest tokens of the vocabulary. */

import { b, bar, caption, cell, div, drawing, drawToWidth, element, p, pressable, section, span, tableRow, twin } from "./dom.js";
import { percent, readable, show } from "./numbers.js";
import { asking, card, codeLink, lead } from "./parts.js";
import { extent } from "./tensor.js";

/** @param {App} app @param {Plane} plane @returns {Dot[]} */
function dotsOf(app, plane) {
	return /** @type {const} */ (["source", "target"]).flatMap((side) =>
		plane[side].map(([x = 0, y = 0], position) => ({
			x,
			y,
			side,
			position,
			token_string: app.doc[side]?.token_strings[position] ?? "",
			token: app.doc[side]?.tokens[position] ?? 0,
		})),
	);
}

/** Where a label may stand beside its point, the best place first. @type {[number, number][]} */
const LABEL_PLACES = [10, -10].flatMap((dx) => [4, -9, 17, -22, 30, -35, 43].map((dy) => /** @type {[number, number]} */ ([dx, dy])));

/** @param {Label} one @param {Label} other */
function overlaps(one, other) {
	return one.x < other.x + other.size && other.x < one.x + one.size && Math.abs(one.y - other.y) < 12;
}

/** @param {Dot[]} dots @param {(dot: Dot) => void} choose */
function scatter(dots, choose) {
	const stage = div("scatter");
	drawToWidth(stage, (width) => {
		const height = Math.min(440, Math.max(300, width * 0.75));
		const [left, right] = extent(dots.map((dot) => dot.x));
		const [bottom, top] = extent(dots.map((dot) => dot.y));
		const points = dots.map((dot) => ({
			x: 40 + ((dot.x - left) / (right - left || 1)) * (width - 110),
			y: height - 24 - ((dot.y - bottom) / (top - bottom || 1)) * (height - 48),
		}));
		const picture = drawing("svg", { width, height, role: "group", "aria-label": "The words' embeddings in a plane" });
		/** @type {Label[]} */
		const taken = points.map(({ x, y }) => ({ x: x - 5, y: y + 4, size: 10 }));
		dots.forEach((dot, i) => {
			const { x = 0, y = 0 } = points[i] ?? {};
			const text = readable(dot.token_string);
			const size = 10 + 7 * text.length;
			/** @param {[number, number]} shift @returns {Label} */
			const label = ([dx, dy]) => ({ x: x + (dx < 0 ? dx - size : dx), y: y + dy, size });
			const shift = LABEL_PLACES.find((each) => !taken.some((other) => overlaps(other, label(each)))) ?? [10, 4];
			const [dx, dy] = shift;
			// The same token on both sides is one point with one name.
			const isNamed = !dots.slice(0, i).some((other) => other.token === dot.token && other.x === dot.x && other.y === dot.y);
			if (isNamed) taken.push(label(shift));
			picture.append(
				drawing(
					"g",
					{
						class: `dot ${dot.side}`,
						id: `dot-${dot.side}-${dot.position}`,
						"aria-label": `${dot.side} ${text}`,
						...pressable(() => choose(dot)),
					},
					dot.side === "source"
						? drawing("circle", { cx: x, cy: y, r: 6.5 })
						: drawing("rect", { x: x - 4, y: y - 4, width: 8, height: 8 }),
					isNamed && dy !== 4 && drawing("line", { class: "rule", x1: x, y1: y, x2: x + 0.8 * dx, y2: y + dy - 4 }),
					isNamed && caption("", x + dx, y + dy, text, dx < 0 ? "end" : "start"),
				),
			);
		});
		stage.replaceChildren(picture);
		const here = dots.find((dot) => dot.isChosen);
		if (here) choose(here);
	});
	return stage;
}

/** @param {Neighbour[]} near @param {Dot} dot */
function nearest(near, dot) {
	const items = near.map((each) =>
		element(
			"li",
			{},
			b("", readable(each.token_string)),
			span("track", bar(each.cosine)),
			element("span", { "data-role": "cosine", "data-index": each.token, "data-value": each.cosine }, show(each.cosine, 3)),
		),
	);
	return [
		element("h3", {}, `Nearest to “${readable(dot.token_string)}”`),
		element("ol", { class: "bars" }, ...items),
		p("note", "cosine of the angle between two rows of the table, over the whole vocabulary"),
	];
}

/** @type {Panel} */
export const embeddingPanel = {
	id: "embeddings",
	title: "Embeddings",
	keys: ["focus"],
	fits: (app) => app.has("source.embedding") || app.has("target.embedding"),
	async draw(app) {
		const plane = await app.data.plane(app.state.run);
		const dots = dotsOf(app, plane);
		const side = app.inFocus("embedding");
		const first = dots.find((dot) => dot.side === side && dot.position === app.state[side === "source" ? "token" : "step"]) ?? dots[0];
		if (first) first.isChosen = true;
		const list = element("div", { id: "neighbours", "aria-live": "polite" });
		const asks = asking(list);
		/** @param {Dot} dot */
		const choose = async (dot) => {
			for (const each of dots) {
				each.isChosen = each === dot;
				document.getElementById(`dot-${each.side}-${each.position}`)?.classList.toggle("here", each === dot);
			}
			await asks(() => app.data.neighbours(app.state.run, dot.token, dot.side), (found) => nearest(found, dot));
		};
		const [across = 0, up = 0] = plane.explained;
		return [
			lead(
				"Each token is a point in a space that training has arranged. Here it is projected onto the two directions in which the tokens of this sentence differ most (principal components).",
			),
			div(
				"columns",
				card(
					["Projection onto a plane", codeLink(app, "embedding")],
					p(
						"",
						`● source, ■ target. The plane holds ${percent(across + up)} of the variance; the rest lies in other directions. Choose a point.`,
					),
					scatter(dots, choose),
					twin("the points as a table", ["", "side", "across", "up"], () =>
						dots.map((dot) => tableRow({}, readable(dot.token_string), dot.side, cell(dot.x), cell(dot.y))),
					),
				),
				section("card", list),
			),
		];
	},
};
