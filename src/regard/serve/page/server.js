// What is asked of the server, with the key where one is needed.

const KEY = "regard-key";

/** The server did not do what was asked, and says why. */
export class Refused extends Error {
	/** @param {string} message @param {number} status */
	constructor(message, status) {
		super(message);
		this.status = status;
	}
}

/** @param {string} key */
export function useKey(key) {
	sessionStorage.setItem(KEY, key);
}

/** @param {string} path @param {RequestInit} [request] @returns {Promise<Response>} */
async function ask(path, request = {}) {
	const headers = new Headers(request.headers);
	const key = sessionStorage.getItem(KEY);
	if (key) headers.set("Authorization", `Bearer ${key}`);
	let response;
	try {
		response = await fetch(path, { ...request, headers });
	} catch (error) {
		if (error instanceof DOMException && error.name === "AbortError") throw error;
		throw new Refused("The server cannot be reached.", 0);
	}
	if (response.ok) return response;
	const answer = await response.json().catch(() => null);
	const message = answer?.error?.message ?? answer?.error ?? `The server answered ${response.status}.`;
	throw new Refused(String(message), response.status);
}

/** @param {string} path @param {unknown} content @param {AbortSignal} [signal] @returns {Promise<Response>} */
function post(path, content, signal) {
	return ask(path, {
		method: "POST",
		headers: { "Content-Type": "application/json" },
		body: JSON.stringify(content),
		signal: signal ?? null,
	});
}

/** @returns {Promise<ServerState>} */
export async function state() {
	return (await ask("page/state")).json();
}

/**
 * @param {{ text: string, source: string, target: string, alternatives?: number }} request
 * @param {AbortSignal} [signal]
 * @returns {Promise<Translation>}
 */
export async function translate(request, signal) {
	return (await post("page/translate", request, signal)).json();
}

/**
 * @param {{ text: string, source: string, target: string } | { text: string, model: string }} request
 * @returns {Promise<string>} where its page is
 */
export async function look(request) {
	return (await (await post("page/look", request)).json()).url;
}

/**
 * @param {{ file: File, source: string, target: string }} request
 * @returns {Promise<{ path: string, source: string, sure: boolean }>} where it can be fetched, and its language
 */
export async function translateFile({ file, source, target }) {
	const form = new FormData();
	form.set("file", file);
	form.set("source", source);
	form.set("target", target);
	const answer = await (await ask("translate_file", { method: "POST", body: form })).json();
	const found = answer.detectedLanguage ?? { language: source };
	return { path: new URL(answer.translatedFileUrl).pathname, source: found.language, sure: !found.warning };
}

/** @param {string} path @returns {Promise<Blob>} */
export async function download(path) {
	return (await ask(path)).blob();
}

/**
 * The texts of a stream as they come.
 * @param {string} path
 * @param {object} request
 * @param {AbortSignal} signal
 * @param {(chunk: any) => void} [told] what else a part of the stream says
 * @returns {AsyncGenerator<string>}
 */
export async function* stream(path, request, signal, told) {
	const response = await post(path, { ...request, stream: true }, signal);
	if (!response.body) return;
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";
	for (;;) {
		const { done, value } = await reader.read();
		if (done) return;
		const events = (rest + value).split("\n\n");
		rest = events.pop() ?? "";
		for (const event of events) {
			const data = event.replace(/^data: /, "");
			if (data === "[DONE]") return;
			const chunk = JSON.parse(data);
			if (chunk.error) throw new Refused(chunk.error.message, 0);
			told?.(chunk);
			const choice = chunk.choices[0];
			yield choice?.delta?.content ?? choice?.text ?? "";
		}
	}
}
