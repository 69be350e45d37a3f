// Elements by their ids, and new ones; text is only ever set as text.

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export function get(id, kind) {
	const found = document.getElementById(id);
	if (!(found instanceof kind)) throw new Error(`the page has no ${id}`);
	return found;
}

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {{ text?: string, className?: string, [attribute: string]: string | undefined }} [options]
 * @param {...Node} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(tag, options = {}, ...children) {
	const element = document.createElement(tag);
	const { text, className, ...attributes } = options;
	if (text !== undefined) element.textContent = text;
	if (className) element.className = className;
	for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, value);
	element.append(...children);
	return element;
}

/** @param {HTMLElement} element @param {string} text shown when there is one */
export function say(element, text) {
	element.textContent = text;
	if (element.classList.contains("trouble")) element.hidden = !text;
}

/** @param {HTMLButtonElement} button @param {() => string} text what is copied */
export function copies(button, text) {
	const label = button.textContent;
	button.addEventListener("click", async () => {
		button.textContent = (await toClipboard(text())) ? "Copied" : "Not copied";
		setTimeout(() => (button.textContent = label), 1200);
	});
}

/** @param {string} text @returns {Promise<boolean>} whether it is there now */
async function toClipboard(text) {
	// Browsers have a clipboard only for this machine and over HTTPS; elsewhere the old way is left.
	if (navigator.clipboard)
		return navigator.clipboard.writeText(text).then(
			() => true,
			() => false,
		);
	const held = make("textarea", { className: "unseen", "aria-hidden": "true" });
	held.value = text;
	document.body.append(held);
	held.select();
	const done = document.execCommand("copy");
	held.remove();
	return done;
}

/** @param {string} id of a choice between models @param {string[]} models @returns {() => string} the chosen one */
export function chooser(id, models) {
	const select = get(id, HTMLSelectElement);
	select.append(...models.map((name) => make("option", { value: name, text: name })));
	select.hidden = models.length < 2;
	return () => select.value;
}
