/** The words in view as points, and which pieces of the vocabulary lie near each of them. */

import { bar, drawing, drawToWidth, element, pressable } from "./dom.js";
import { extent } from "./tensor.js";
import { percent, readable, show } from "./numbers.js";
import { card, codeLink, lead, trouble } from "./parts.js";

/** @param {App} app @param {Plane} plane @returns {Dot[]} */
function dotsOf(app, plane) {
	return /** @type {const} */ (["source", "target"]).flatMap((side) =>
		plane[side].map(([x = 0, y = 0], position) => ({
			x,
			y,
			side,
			position,
			piece: app.doc[side]?.pieces[position] ?? "",
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
	const stage = element("div", { class: "scatter" });
	drawToWidth(stage, (width) => {
		const height = Math.min(440, Math.max(300, width * 0.75));
		const [left, right] = extent(dots.map((dot) => dot.x));
		const [bottom, top] = extent(dots.map((dot) => dot.y));
		/** @param {number} value */
		const x = (value) => 40 + ((value - left) / (right - left || 1)) * (width - 110);
		/** @param {number} value */
		const y = (value) => height - 24 - ((value - bottom) / (top - bottom || 1)) * (height - 48);
		const picture = drawing("svg", { width, height, role: "group", "aria-label": "The words' embeddings in a plane" });
		/** @type {Label[]} */
		const taken = dots.map((dot) => ({ x: x(dot.x) - 5, y: y(dot.y) + 4, size: 10 }));
		for (const dot of dots) {
			const at = { x: x(dot.x), y: y(dot.y) };
			const size = 10 + 7 * readable(dot.piece).length;
			const free = LABEL_PLACES.find(
				([dx, dy]) => !taken.some((other) => overlaps(other, { x: at.x + (dx < 0 ? dx - size : dx), y: at.y + dy, size })),
			);
			const [dx, dy] = free ?? [10, 4];
			taken.push({ x: at.x + (dx < 0 ? dx - size : dx), y: at.y + dy, size });
			picture.append(
				drawing(
					"g",
					{
						class: `dot ${dot.side}`,
						id: `dot-${dot.side}-${dot.position}`,
						"aria-label": `${dot.side} ${readable(dot.piece)}`,
						...pressable(() => choose(dot)),
					},
					dot.side === "source"
						? drawing("circle", { cx: at.x, cy: at.y, r: 5 })
						: drawing("rect", { x: at.x - 4.5, y: at.y - 4.5, width: 9, height: 9 }),
					drawing("text", { x: at.x + dx, y: at.y + dy, "text-anchor": dx < 0 ? "end" : "start" }, readable(dot.piece)),
				),
			);
		}
		stage.replaceChildren(picture);
	});
	return stage;
}

/** @type {Panel} */
export const embeddingPanel = {
	id: "embedding",
	title: "Words in space",
	keys: [],
	fits: (app) => app.has("source.embedding") || app.has("target.embedding"),
	async draw(app) {
		const plane = await app.data.plane(app.state.run);
		const dots = dotsOf(app, plane);
		const list = element("div", { id: "neighbours", "aria-live": "polite" });
		/** @param {Dot} dot */
		const choose = async (dot) => {
			for (const each of document.querySelectorAll(".dot.here")) each.classList.remove("here");
			document.getElementById(`dot-${dot.side}-${dot.position}`)?.classList.add("here");
			try {
				const near = await app.data.neighbours(dot.token, dot.side);
				list.replaceChildren(
					element("h3", {}, `Nearest to “${readable(dot.piece)}”`),
					element(
						"ol",
						{ class: "bars" },
						...near.map((each) => {
							return element(
								"li",
								{},
								element("b", {}, readable(each.piece)),
								element("span", { class: "track" }, bar(each.cosine)),
								element("span", { "data-role": "cosine", "data-index": each.token, "data-value": each.cosine }, show(each.cosine, 3)),
							);
						}),
					),
					element("p", { class: "note" }, "cosine of the angle between two rows of the table, over the whole vocabulary"),
				);
			} catch (error) {
				list.replaceChildren(trouble(error));
			}
		};
		const first = dots[Math.min(app.state.token, dots.length - 1)];
		if (first) choose(first);
		const [across = 0, up = 0] = plane.explained;
		return [
			lead(
				"Before any word has met another, each is a point in a space of meaning that training has laid out. This is that space, pressed flat onto the two directions in which the words in view differ most.",
			),
			element(
				"div",
				{ class: "columns" },
				card(
					["A plane through the space", codeLink(app, "embedding")],
					element(
						"p",
						{},
						`● source, ■ target. The plane keeps ${percent(across + up)} of the spread; a good deal lies in the other directions. Choose a point.`,
					),
					scatter(dots, choose),
				),
				element("section", { class: "card" }, list),
			),
		];
	},
};
