/** NumPy's generator: PCG64, seeded by SeedSequence. The same seed draws the same numbers here as in `regard.decode.sampling`. */

const TWO_WORDS = (1n << 64n) - 1n;
const STATE = (1n << 128n) - 1n;
const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;
const POOL = 4;

/** A hash whose constant changes with every call. @param {number} constant @param {number} multiplier @returns {(value: number) => number} */
function hasher(constant, multiplier) {
	return (value) => {
		const mixed = value ^ constant;
		constant = Math.imul(constant, multiplier);
		const product = Math.imul(mixed, constant);
		return product ^ (product >>> 16);
	};
}

/** Four words of 64 bits from a seed of several numbers. @param {number[]} seed @returns {bigint[]} */
function seedWords(seed) {
	const entropy = seed.flatMap((number) => (number > 0xffffffff ? [number, number / 2 ** 32] : [number]));
	const hash = hasher(0x43b0d7e5, 0x931e8875);
	const pool = Array.from({ length: POOL }, (_, i) => hash(entropy[i] ?? 0));
	/** @param {number} place @param {number} value */
	const mix = (place, value) => {
		const mixed = Math.imul(0xca01f9dd, pool[place] ?? 0) - Math.imul(0x4973f715, hash(value));
		pool[place] = mixed ^ ((mixed | 0) >>> 16);
	};
	for (let from = 0; from < POOL; from++) for (let to = 0; to < POOL; to++) if (from !== to) mix(to, pool[from] ?? 0);
	for (const more of entropy.slice(POOL)) for (let to = 0; to < POOL; to++) mix(to, more);
	const write = hasher(0x8b51f9dd, 0x58f38ded);
	const words = Array.from({ length: 2 * POOL }, (_, i) => BigInt(write(pool[i % POOL] ?? 0) >>> 0));
	return Array.from({ length: POOL }, (_, i) => ((words[2 * i + 1] ?? 0n) << 32n) | (words[2 * i] ?? 0n));
}

/** Numbers in [0, 1), one a call. @param {number[]} seed whole numbers from 0 */
export function uniforms(seed) {
	const [a = 0n, b = 0n, c = 0n, d = 0n] = seedWords(seed);
	const increment = ((((c << 64n) | d) << 1n) | 1n) & STATE;
	let state = 0n;
	const step = () => (state = (state * MULTIPLIER + increment) & STATE);
	step();
	state = (state + ((a << 64n) | b)) & STATE;
	step();
	return () => {
		step();
		const folded = (state >> 64n) ^ (state & TWO_WORDS);
		const turn = state >> 122n;
		const word = ((folded >> turn) | (folded << (64n - turn))) & TWO_WORDS;
		return Number(word >> 11n) / 2 ** 53;
	};
}
