/**
 * What the page of `regard serve` asks its server, answered by the engine in the browser: with this file in place of the
 * page's own server.js it is a translator without a server.
 */

import { Client } from "./client.js";

/** @typedef {{ text: string, source: string, target: string, alternatives?: number }} Question */

const CHARACTERS = 20_000;

/** The page asks for no key. */
export class Refused extends Error {
	/** @param {string} message */
	constructor(message) {
		super(message);
		this.status = 0;
	}
}

/** @type {Client} */
let client;
/** @type {{ name: string, source: string, target: string }[]} */
let models = [];

export function useKey() {}

export async function state() {
	const setup = await (await fetch("models.json")).json();
	client = Client.from(await (await fetch("engine.js")).text(), setup);
	models = setup.models.map((/** @type {any} */ { name, manifest }) => ({ name, source: manifest.source_language, target: manifest.target_language }));
	const names = new Intl.DisplayNames("en", { type: "language" });
	return {
		pairs: models.map(({ name, source, target }) => ({ source, target, model: name })),
		languages: Object.fromEntries(models.flatMap(({ source, target }) => [source, target]).map((code) => [code, names.of(code) ?? code])),
		chat: [],
		write: [],
		look: true,
		characters: CHARACTERS,
		files: [],
	};
}

/** Without a model that tells languages apart: the first model that writes the language. @param {{ source: string, target: string }} request */
function chosen({ source, target }) {
	const found = models.findIndex((each) => each.target === target && (source === "auto" || each.source === source));
	if (found < 0) throw new Refused(`No model here translates from ${source} to ${target}.`);
	return found;
}

/** @param {Question} request @param {AbortSignal} [signal] */
export async function translate(request, signal) {
	const model = chosen(request);
	const settings = request.alternatives ? { n_best: request.alternatives, beam: Math.max(4, request.alternatives) } : {};
	const found = await client.ask("api/translate", { model, text: request.text, settings });
	signal?.throwIfAborted();
	return {
		source: models[model]?.source ?? "",
		probability: null,
		text: found.text,
		sentences: found.sentences.map((/** @type {any} */ { given, start, sourceStart, candidates }) => ({
			source: given,
			source_start: sourceStart,
			start,
			targets: candidates.map((/** @type {any} */ { text, alignment }) => ({
				text,
				links: alignment.map((/** @type {any} */ { source, target }) => [...source, ...target]),
			})),
		})),
	};
}

/** @param {Question} request */
export async function look(request) {
	return `look.html#${new URLSearchParams({ text: request.text, model: String(chosen(request)) })}`;
}

export async function translateFile() {
	throw new Refused("Files are translated by `regard translate` or `regard serve`; paste their text here.");
}

/** @returns {Promise<Blob>} */
export async function download() {
	throw new Refused("There is nothing to save.");
}

/** @returns {AsyncGenerator<string>} */
export async function* stream() {
	yield "";
}
