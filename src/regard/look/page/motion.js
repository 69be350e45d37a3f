/** Motion, for those who want it: a token's way through the figure while it is written, and a row times a column. */

import { styleColour } from "./colours.js";
import { caption, div, drawing, p } from "./dom.js";
import { boxesOf, columns, memoryHeight } from "./map.js";
import { Cursor, matrix } from "./matrix.js";
import { readable, show } from "./numbers.js";
import { total } from "./tensor.js";

const TRAVEL_MILLISECONDS = 950;
const MULTIPLY_MILLISECONDS = 1400;

const mayMove = () => !matchMedia("(prefers-reduced-motion: reduce)").matches;

/** The token that was written last goes up through the boxes that write the next. @param {App} app @param {HTMLElement} root */
export function travel(app, root) {
	const picture = root.querySelector(".figure-one");
	if (!picture || !mayMove()) return;
	const { encoder, decoder, top } = columns(app);
	const boxes = boxesOf(app);
	const [start, end] = [520, top + 60];
	/** @param {number} y when the token is there */
	const delay = (y) => ((start - y) / (start - end)) * TRAVEL_MILLISECONDS;
	/** @param {string} text @param {number[][]} way @param {number} duration */
	const send = (text, way, duration) => {
		const node = drawing("g", { class: "traveller", "aria-hidden": "true" }, drawing("circle", { r: 6 }), caption("", 10, 4, text, "start"));
		picture.append(node);
		const frames = way.map(([x, y]) => ({ transform: `translate(${x}px, ${y}px)` }));
		node.animate(frames, { duration }).onfinish = () => node.remove();
	};
	send(readable(app.doc.target?.token_strings[app.state.step] ?? ""), [[decoder, start], [decoder, end]], TRAVEL_MILLISECONDS);
	const cross = boxes.find((box) => box.id === "decoder.cross_attention");
	if (cross) {
		// The memory is there before: it only comes across.
		const [from, y] = [memoryHeight(app), cross.y + 18];
		send("", [[encoder, from], [154, from], [154, y], [decoder, y]], delay(y));
	}
	const lit = { strokeWidth: "4px", stroke: styleColour("--accent") };
	for (const box of boxes) {
		const rect = box.x === decoder && picture.querySelector(`[id="box-${box.id}"] rect`);
		if (rect) rect.animate([{}, lit, {}], { delay: delay(box.y + box.height), duration: 260 });
	}
}

/** A sum of products as a row times a column: the frame walks along and the sum grows. @param {Derivation} found @returns {HTMLElement | null} */
export function rowTimesColumn(found) {
	const { terms, columns: heads } = found;
	if (terms.length < 2 || terms.some((term) => term.operands.length !== 2)) return null;
	const rows = [0, 1].map((side) => terms.map((term) => term.operands[side]?.value ?? 0));
	rows.push(terms.map((term) => term.result));
	const cursor = new Cursor(2, terms.length - 1);
	const limit = Math.max(...rows.slice(0, 2).flat().map(Math.abs));
	const said = p("note");
	const tell = () => {
		said.textContent = `The first ${cursor.column + 1} of ${terms.length} products add up to ${show(total(rows[2]?.slice(0, cursor.column + 1) ?? []))}.`;
	};
	cursor.listeners.add(tell);
	tell();
	const figure = matrix({ title: "row × column", rows: heads.slice(1), columns: terms.length, value: (row, column) => rows[row]?.[column] ?? NaN, scale: "signed", limit, cursor, rowHeight: 18 });
	const begin = performance.now();
	const walk = () => {
		const share = (performance.now() - begin) / MULTIPLY_MILLISECONDS;
		cursor.move(2, Math.min(terms.length - 1, Math.floor(share * terms.length)));
		if (share < 1 && !figure.matches(":hover, :focus-within")) requestAnimationFrame(walk);
	};
	if (mayMove()) requestAnimationFrame(walk);
	return div("product", figure, said);
}
