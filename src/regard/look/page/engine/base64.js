/** Bytes that are carried as text. */

/** @param {string} text in base64 @returns {Uint8Array<ArrayBuffer>} */
export function bytesOf(text) {
	// Newer browsers do it themselves, in a fifth of the time.
	if ("fromBase64" in Uint8Array) return /** @type {any} */ (Uint8Array).fromBase64(text);
	const signs = atob(text);
	const bytes = new Uint8Array(signs.length);
	for (let i = 0; i < signs.length; i++) bytes[i] = signs.charCodeAt(i);
	return bytes;
}
