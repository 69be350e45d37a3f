/** The engine in a thread of its own. Its questions have the addresses of the server of `regard look`. */

import { bytesOf } from "./base64.js";
import { learn } from "./rules.js";
import { Session, Subject } from "./session.js";

/** @typedef {import("./session.js").About} About */
/** A file of a model: its content in base64, or where it is. @typedef {{ base64?: string, url?: string }} File */
/** @typedef {About & { files: { weights: File, source: File, target: File, vocabularies: File[] } }} Model */
/** @typedef {{ rules: any, models: Model[], first: any }} Setup */

const CACHE = "regard-models";

/** @param {File} file @returns {Promise<ArrayBuffer>} */
async function read({ base64, url }) {
	if (base64 !== undefined) return bytesOf(base64).buffer;
	// What was fetched once is kept, so that the page works without a network from then on.
	const cache = await globalThis.caches?.open(CACHE).catch(() => null);
	const known = await cache?.match(url ?? "");
	if (known) return known.arrayBuffer();
	const response = await fetch(url ?? "");
	if (!response.ok) throw new Error(`${url} cannot be fetched: ${response.status}`);
	await cache?.put(url ?? "", response.clone()).catch(() => undefined);
	return response.arrayBuffer();
}

/** @type {Setup} */
let setup;
/** @type {Map<number, Promise<Subject>>} */
const subjects = new Map();
/** @type {Session} */
let session;

/** @param {number} number @returns {Promise<Subject>} */
function subject(number) {
	let found = subjects.get(number);
	if (!found) {
		found = load(number);
		subjects.set(number, found);
		found.catch(() => subjects.delete(number));
	}
	return found;
}

/** @param {number} number */
async function load(number) {
	const model = setup.models[number];
	if (!model) throw new Error(`there is no model ${number} on this page`);
	const { files } = model;
	const [weights, source, target] = await Promise.all([read(files.weights), read(files.source), read(files.target)]);
	const vocabularies = await Promise.all(files.vocabularies.map(async (file) => JSON.parse(new TextDecoder().decode(await read(file)))));
	// The text of the weights is as large as they are, and no longer needed.
	if (files.weights.base64) files.weights.base64 = "";
	return new Subject(model, { weights, source, target, vocabularies });
}

/** @param {string} address @param {any} body @returns {Promise<any>} */
async function answer(address, body) {
	const { pathname, searchParams } = new URL(address, "http://page");
	const [, , question = "", ...rest] = pathname.split("/");
	/** @param {string} name */
	const number = (name) => Number(searchParams.get(name) ?? 0);
	const run = number("run");
	const row = searchParams.get("row");
	switch (question) {
		case "text":
			return session.text(body.model, body.text, body.settings);
		case "translate":
			return (await subject(body.model)).translator.translate(body.text, { ...setup.models[body.model]?.manifest.decode, ...body.settings });
		case "sentence":
			return session.sentence(run, number("number"));
		case "whatif": {
			const document = await session.whatif(body.run, body.edits);
			return { run: document.run, document };
		}
		case "tensor":
			return session.tensor(run, rest.join("/"), row === null ? undefined : Number(row));
		case "probability":
			return session.probability(run, number("step"), searchParams.get("text") ?? "");
		case "neighbours":
			return session.neighbours(run, number("token"), searchParams.get("side") === "source" ? "source" : "target");
		case "pca":
			return session.plane(run);
		case "effects":
			return session.effects(run, rest.join("/"));
		case "nearest":
			return session.nearest(body.run, body.passages);
		case "kernels":
			return (await subject(number("model"))).weights.memory.kernels ? "WebAssembly" : "JavaScript";
	}
	throw new Error(`there is nothing under ${address}`);
}

let last = Promise.resolve();

addEventListener("message", ({ data }) => {
	if (data.setup) {
		setup = data.setup;
		learn(setup.rules);
		session = new Session(subject, setup.first);
		// Read while the page is drawn; what must be fetched waits for the first question.
		if (setup.models[0]?.files.weights.base64) subject(0).catch(() => undefined);
		return;
	}
	// One at a time: runs are numbered in the order they are asked for.
	last = last.then(async () => {
		try {
			postMessage({ id: data.id, found: await answer(data.address, data.body) });
		} catch (error) {
			postMessage({ id: data.id, error: error instanceof Error ? error.message : String(error) });
		}
	});
});
