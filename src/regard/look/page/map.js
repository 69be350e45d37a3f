/** The paper's Figure 1, drawn for the loaded model and always in sight: each box opens what it computes. */

import { numLayers, parsePath, subLayers } from "./anatomy.js";
import { button, drawing, element, pressable } from "./dom.js";

const BOX_WIDTH = 104;
const LEFT = 84;
const RIGHT = 226;

/** Boxes of a stack: sub-layer, text, top when there is a cross-attention below it, and when there is none. */
const STACK = /** @type {const} */ ([
	["self_attention", "Multi-Head|Attention", 356, 356],
	["cross_attention", "Multi-Head|Attention", 262, 262],
	["feed_forward", "Feed|Forward", 170, 262],
]);

/** @param {App} app @returns {Box[]} */
export function boxesOf(app) {
	/** @type {Box[]} */
	const boxes = [];
	const parts = subLayers(app.doc);
	for (const [stack, side, x] of /** @type {const} */ ([
		["encoder", "source", LEFT],
		["decoder", "target", RIGHT],
	])) {
		/** @param {string} id @param {string} text @param {string} tint @param {number} y @param {number} height @param {Box["opens"]} opens */
		const add = (id, text, tint, y, height, opens) => boxes.push({ id, text, tint, x, y, height, opens });
		const word = side === "source" ? "Input" : "Output";
		if (app.has(`${side}.embedding`)) add(`${side}.embedding`, `${word}|Embedding`, "embedding", 472, 36, () => ({ view: "embedding" }));
		if (app.has(`${side}.position`)) add(`${side}.position`, "+ position", "position", 440, 22, () => ({ view: "positions" }));
		const kinds = new Set(parts.filter((part) => part.stack === stack).map((part) => part.kind));
		for (const [kind, text, high, low] of STACK) {
			if (!kinds.has(kind)) continue;
			const y = kinds.has("cross_attention") ? high : low;
			const isFeed = kind === "feed_forward";
			/** @param {string} focus @returns {Box["opens"]} */
			const opens = (focus) => () => ({
				view: isFeed ? "feed-forward" : "attention",
				attention: `${stack}.layers.${app.layerOf(stack)}.${kind}`,
				focus,
			});
			const isMasked = stack === "decoder" && kind === "self_attention";
			if (app.has(`${stack}.layers.0.${kind}.residual`)) add(`${stack}.norm.${kind}`, "Add & Norm", "norm", y, 20, opens("residual"));
			add(
				`${stack}.${kind}`,
				isMasked ? "Masked Multi-|Head Attention" : text,
				isFeed ? "feed" : "attention",
				y + 23,
				36,
				opens(isFeed ? "hidden" : "query"),
			);
		}
		if (app.doc.output.length && stack === (app.doc.target ? "decoder" : "encoder")) {
			add("linear", "Linear", "linear", 112, 22, () => ({ view: "output", focus: "linear" }));
			add("softmax", "Softmax", "softmax", 78, 22, () => ({ view: "output", focus: "softmax" }));
		}
	}
	return boxes;
}

/** The box that the state stands at. @param {State} state */
export function boxInView(state) {
	const part = parsePath(state.attention);
	if (state.view === "attention" || state.view === "feed-forward") {
		if (!part) return "";
		const isNorm = state.focus === "residual" || state.focus === "norm";
		return `${part.stack}.${isNorm ? "norm." : ""}${part.kind}`;
	}
	if (state.view === "lines" || state.view === "heads") return part ? `${part.stack}.${part.kind}` : "";
	if (state.view === "embedding") return "source.embedding";
	if (state.view === "positions") return "source.position";
	if (state.view === "output") return state.focus === "linear" ? "linear" : "softmax";
	return "";
}

/** @param {App} app */
export function figureOne(app) {
	const boxes = boxesOf(app);
	const picture = drawing("svg", {
		class: "figure-one",
		viewBox: "0 0 310 548",
		role: "group",
		"aria-label": "Map of the model, Figure 1 of the paper",
	});
	picture.append(...stackFrames(app), ...arrows(app), ...boxes.map((box) => drawBox(app, box)), ...ends(app));
	return element(
		"div",
		{ class: "map" },
		miniature(app, boxes),
		element("details", { class: "whole", open: isWide() }, element("summary", {}, "the whole figure"), picture),
	);
}

/** @returns {boolean} whether the window has room for the figure at its side */
function isWide() {
	return matchMedia("(min-width: 861px)").matches;
}

/** The same boxes in one line, for a narrow window. @param {App} app @param {Box[]} boxes */
function miniature(app, boxes) {
	const inOrder = boxes.filter((box) => box.tint !== "norm").sort((a, b) => a.x - b.x || b.y - a.y);
	const here = boxInView(app.state).replace(".norm.", ".");
	const names = /** @type {Record<string, string>} */ ({
		embedding: "words",
		position: "+ place",
		attention: "attention",
		feed: "feed-fwd",
		linear: "linear",
		softmax: "softmax",
	});
	return element(
		"div",
		{ class: "miniature", role: "group", "aria-label": "Map of the model in one line" },
		...inOrder.map((box) => {
			const isCross = box.id.endsWith("cross_attention");
			const label = isCross ? "cross" : box.id === "decoder.self_attention" ? "masked" : (names[box.tint] ?? "");
			return button(
				{
					class: `mini ${box.tint}`,
					id: `mini-${box.id}`,
					"aria-current": here === box.id ? "true" : null,
					"aria-label": box.id,
					onclick: () => app.go(box.opens(app)),
				},
				label,
			);
		}),
	);
}

/** @param {App} app @param {Box} box */
function drawBox(app, box) {
	const lines = box.text.split("|");
	const isHere = boxInView(app.state) === box.id;
	return drawing(
		"g",
		{
			class: `box ${box.tint} ${isHere ? "here" : ""}`,
			id: `box-${box.id}`,
			"aria-label": `${box.id.split(".")[0]}: ${lines.join(" ")}`,
			"aria-current": isHere ? "true" : null,
			...pressable(() => app.go(box.opens(app))),
		},
		drawing("rect", { x: box.x - BOX_WIDTH / 2, y: box.y, width: BOX_WIDTH, height: box.height, rx: 5 }),
		...lines.map((line, i) =>
			drawing("text", { x: box.x, y: box.y + box.height / 2 + 4 + (i - (lines.length - 1) / 2) * 13, "text-anchor": "middle" }, line),
		),
	);
}

/** The grey frames with N× and a button for each layer. @param {App} app */
function stackFrames(app) {
	const parts = [];
	for (const stack of /** @type {const} */ (["encoder", "decoder"])) {
		const layers = numLayers(app.doc, stack);
		if (!layers) continue;
		const isLeft = stack === "encoder";
		const x = (isLeft ? LEFT : RIGHT) - BOX_WIDTH / 2 - 8;
		const hasCross = numLayers(app.doc, "encoder") > 0 && !isLeft;
		const y = hasCross ? 160 : 252;
		parts.push(drawing("rect", { class: "stack", x, y, width: BOX_WIDTH + 16, height: 424 - y, rx: 10 }));
		const labelX = isLeft ? 12 : 299;
		parts.push(drawing("text", { class: "times", x: labelX, y: 440, "text-anchor": "middle" }, `${layers}×`));
		const step = Math.min(22, 320 / layers);
		for (let layer = 0; layer < layers; layer++) {
			const isHere = app.layerOf(stack) === layer;
			const choose = () => {
				const part = parsePath(app.state.attention);
				const kind = part?.stack === stack ? part.kind : "self_attention";
				const staysOpen = ["attention", "feed-forward", "lines", "heads"].includes(app.state.view);
				const view = kind === "feed_forward" ? "feed-forward" : "attention";
				app.go({ attention: `${stack}.layers.${layer}.${kind}`, view: staysOpen ? app.state.view : view });
			};
			parts.push(
				drawing(
					"g",
					{
						class: `layer-dot ${isHere ? "here" : ""}`,
						id: `layer-${stack}-${layer}`,
						"aria-label": `${stack} layer ${layer + 1}`,
						"aria-pressed": isHere ? "true" : "false",
						...pressable(choose),
					},
					drawing("circle", { cx: labelX, cy: 412 - layer * step, r: Math.min(9, step / 2 - 1) }),
					drawing("text", { x: labelX, y: 415.5 - layer * step, "text-anchor": "middle" }, layer + 1),
				),
			);
		}
	}
	return parts;
}

/** @param {App} app */
function arrows(app) {
	const parts = [];
	const hasEncoder = numLayers(app.doc, "encoder") > 0;
	const hasDecoder = numLayers(app.doc, "decoder") > 0;
	/** @param {string} d */
	const line = (d) => drawing("path", { class: "wire", d });
	if (hasEncoder) parts.push(line(`M${LEFT} 520V${hasDecoder ? 236 : 100}`));
	if (hasDecoder) parts.push(line(`M${RIGHT} 520V66`));
	if (hasEncoder && hasDecoder)
		parts.push(
			line(`M${LEFT} 244V230H154V303H${RIGHT - BOX_WIDTH / 2}`),
			drawing("text", { class: "axis", x: 119, y: 225, "text-anchor": "middle" }, "memory"),
		);
	// Around each sub-layer runs what it is added to.
	for (const box of boxesOf(app)) {
		if (box.tint !== "attention" && box.tint !== "feed") continue;
		const side = box.x === LEFT ? -1 : 1;
		const [below, edge, out] = [box.y + box.height + 9, box.x + (side * BOX_WIDTH) / 2, box.x + side * (BOX_WIDTH / 2 + 5)];
		parts.push(line(`M${box.x} ${below}H${out}V${box.y - 13}H${edge}`));
	}
	return parts;
}

/** @param {App} app */
function ends(app) {
	const parts = [];
	const { doc, state } = app;
	/** @param {string} text */
	const short = (text) => (text.length > 20 ? `${text.slice(0, 19)}…` : text);
	if (doc.source) parts.push(drawing("text", { class: "end", x: LEFT, y: 534, "text-anchor": "middle" }, short(doc.source.text)));
	if (doc.target) {
		const read = doc.target.pieces
			.slice(0, state.step + 1)
			.join("")
			.replaceAll("▁", " ");
		parts.push(
			drawing("text", { class: "end", x: RIGHT, y: 534, "text-anchor": "middle" }, read.length > 20 ? `…${read.slice(-19)}` : read),
		);
	}
	const written = doc.output[state.step];
	if (written) {
		const x = numLayers(doc, "decoder") ? RIGHT : LEFT;
		parts.push(
			drawing("text", { class: "written", x, y: 34, "text-anchor": "middle" }, written.piece.replaceAll("▁", "") || "␣"),
			drawing(
				"text",
				{ class: "axis", x, y: 54, "text-anchor": "middle", "data-value": written.probability },
				`${(100 * written.probability).toFixed(1)} %`,
			),
		);
	}
	return parts;
}
