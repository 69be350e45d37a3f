/** Motion, for those who want it: a token's way through the figure while it is written, and a row times a column. */

import { colourAt, signedScale, styleColour } from "./colours.js";
import { caption, div, drawing, element, p } from "./dom.js";
import { boxesOf, columns, memoryHeight } from "./map.js";
import { readable, show } from "./numbers.js";

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
	/** @param {string} text @param {Keyframe[]} way @param {KeyframeAnimationOptions} timing */
	const send = (text, way, timing) => {
		const node = drawing("g", { class: "traveller", "aria-hidden": "true" }, drawing("circle", { r: 6 }), caption("", 10, 4, text, "start"));
		picture.append(node);
		node.animate(way, { fill: "backwards", ...timing }).finished.then(() => node.remove(), () => node.remove());
	};
	/** @param {number} x @param {number} y @returns {Keyframe} */
	const at = (x, y) => ({ transform: `translate(${x}px, ${y}px)` });
	const read = readable(app.doc.target?.token_strings[app.state.step] ?? "");
	send(read, [at(decoder, start), at(decoder, end)], { duration: TRAVEL_MILLISECONDS });
	const cross = boxes.find((box) => box.id === "decoder.cross_attention");
	if (cross) {
		const y = cross.y + cross.height / 2;
		const height = memoryHeight(app);
		// The memory is there before: it only comes across.
		send("", [at(encoder, height), at(154, height), at(154, y), at(decoder, y)], { duration: delay(y) });
	}
	for (const box of boxes) {
		const rect = picture.querySelector(`[id="box-${box.id}"] rect`);
		if (box.x !== decoder || !rect) continue;
		const lit = { strokeWidth: "4px", stroke: styleColour("--accent") };
		rect.animate([{}, lit, {}], { delay: Math.max(0, delay(box.y + box.height)), duration: 260 });
	}
}

/** A sum of products as two rows of colours that are multiplied cell by cell; the slider stops at any of them. @param {Derivation} found @returns {HTMLElement | null} */
export function rowTimesColumn(found) {
	const { terms, columns: heads } = found;
	if (terms.length < 2 || terms.some((term) => term.operands.length !== 2)) return null;
	const rows = [0, 1].map((side) => terms.map((term) => term.operands[side]?.value ?? 0));
	rows.push(terms.map((term) => term.result));
	const canvas = element("canvas", { width: terms.length, height: rows.length, "aria-hidden": "true" });
	const image = new ImageData(terms.length, rows.length);
	rows.forEach((values, y) => {
		const scale = signedScale(Math.max(...values.map(Math.abs)));
		values.forEach((value, x) => {
			const from = colourAt(scale, value);
			image.data.set(scale.table.subarray(from, from + 4), 4 * (y * terms.length + x));
		});
	});
	canvas.getContext("2d")?.putImageData(image, 0, 0);
	const frame = element("i", { "aria-hidden": "true" });
	const said = p("note");
	/** @param {number} number of terms that are added */
	const draw = (number) => {
		const [last, sum] = [terms[number - 1], terms.slice(0, number).reduce((all, term) => all + term.result, 0)];
		frame.style.left = `${(100 * (number - 1)) / terms.length}%`;
		frame.style.width = `${100 / terms.length}%`;
		const [left, right] = (last?.operands ?? []).map((each) => show(each.value, 3));
		said.textContent = `${heads[0]} ${last?.label}: ${left} × ${right} = ${show(last?.result ?? 0, 3)}; the sum of ${number} so far ${show(sum)}`;
	};
	let isMoving = mayMove();
	const slider = element("input", { type: "range", min: 1, max: terms.length, value: terms.length, "aria-label": "how many products are added" });
	slider.addEventListener("input", () => {
		isMoving = false;
		draw(Number(slider.value));
	});
	draw(terms.length);
	const begin = performance.now();
	const move = () => {
		if (!isMoving || (performance.now() > begin + 100 && !slider.isConnected)) return;
		const share = Math.min(1, (performance.now() - begin) / MULTIPLY_MILLISECONDS);
		slider.value = String(Math.max(1, Math.round(share * terms.length)));
		draw(Number(slider.value));
		if (share < 1) requestAnimationFrame(move);
	};
	if (isMoving) requestAnimationFrame(move);
	const names = div("names", ...heads.slice(1).map((name) => element("span", {}, name)));
	return div("product", names, div("cells", canvas, frame), slider, said);
}
