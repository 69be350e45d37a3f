/** The page's side of the engine: starts the worker, and asks it as one asks a server. */

/** @typedef {import("./worker.js").Setup} Setup */

export class Client {
	/** @param {string} script of the worker @param {Setup} setup */
	constructor(script, setup) {
		const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
		this.worker = new Worker(address);
		this.models = setup.models.map((each) => ({ name: each.name, task: each.manifest.task, language: each.manifest.source_language || each.manifest.target_language, step: each.template.model.step }));
		/** @type {Map<number, { resolve: (found: any) => void, reject: (error: Error) => void }>} */
		this.waiting = new Map();
		this.count = 0;
		this.worker.addEventListener("message", ({ data }) => {
			const waiting = this.waiting.get(data.id);
			this.waiting.delete(data.id);
			if ("error" in data) waiting?.reject(new Error(data.error));
			else waiting?.resolve(data.found);
		});
		this.worker.addEventListener("error", (event) => {
			for (const { reject } of this.waiting.values()) reject(new Error(`The engine of this page stopped: ${event.message}`));
		});
		this.worker.postMessage({ setup });
	}

	/** The engine over models that the page carries or can fetch. @param {string} script @param {any} setup @returns {Client} */
	static from(script, setup) {
		/** @param {any} file what is a relative address for the page is none for the worker */
		const place = (file) => {
			if (file.id) file.base64 = document.getElementById(file.id)?.textContent ?? "";
			if (file.url) file.url = new URL(file.url, location.href).href;
		};
		for (const { files } of setup.models) [files.weights, files.source, files.target, ...files.vocabularies].forEach(place);
		return new Client(script, setup);
	}

	/** @param {string} address @param {unknown} [body] @returns {Promise<any>} */
	ask(address, body) {
		const id = ++this.count;
		return new Promise((resolve, reject) => {
			this.waiting.set(id, { resolve, reject });
			this.worker.postMessage({ id, address, body });
		});
	}
}

/** The engine that this page carries, or null. @returns {Client | null} */
export function carriedEngine() {
	const script = document.getElementById("regard-engine")?.textContent;
	const setup = document.getElementById("regard-models")?.textContent;
	if (!script || !setup || typeof Worker !== "function") return null;
	return Client.from(script, JSON.parse(setup));
}
