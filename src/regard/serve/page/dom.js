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
	button.addEventListener("click", async () => {
		const label = button.textContent;
		await navigator.clipboard.writeText(text());
		button.textContent = "Copied";
		setTimeout(() => (button.textContent = label), 1200);
	});
}
