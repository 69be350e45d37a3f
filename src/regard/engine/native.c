/* The encoder and one decoder step of an int8 translation model, for x86-64 with AVX2 and more.

   The formulas are those of `exchange/onnx.py`. Each row of activations has its own scale and its own sums, in an order
   that depends on nothing but its own length, so a sentence's numbers are the same alone and in any batch. Rows are
   tokens throughout. See docs/decisions/009-native-kernel.md. */

#include <immintrin.h>
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The compiler's options choose the instructions. V(add_ps) is the intrinsic for the widest vectors among them. */
#ifdef __AVX512VNNI__
#define V(name) _mm512_##name
#define VECTOR_OF(name) _mm512_##name##_si512
#define AS_FLOATS _mm512_castsi512_ps
#define AS_INTS _mm512_castps_si512
typedef __m512 Floats;
typedef __m512i Ints;
enum { LANES = 16, DEPTH = 4, VECTORS = 4 };
#else
#define V(name) _mm256_##name
#define VECTOR_OF(name) _mm256_##name##_si256
#define AS_FLOATS _mm256_castsi256_ps
#define AS_INTS _mm256_castps_si256
typedef __m256 Floats;
typedef __m256i Ints;
#ifdef __AVXVNNI__
enum { LANES = 8, DEPTH = 4, VECTORS = 2 };
#else
enum { LANES = 8, DEPTH = 2, VECTORS = 2 };
#endif
#endif

/* A quantized activation. AVX2 alone saturates sums of products of bytes, so there it has 16 bits. */
#if defined __AVX512VNNI__ || defined __AVXVNNI__
typedef uint8_t Level;
#else
typedef int16_t Level;
#endif

/* DEPTH: inputs multiplied at once; PANEL: outputs whose weights lie together; BLOCK: rows multiplied at once; GROUP: source
   tokens encoded together; AHEAD: prefetch distance in bytes where there is one block of rows; SPINS: pauses before a waiting
   thread sleeps, about 20 microseconds */
enum { PANEL = LANES * VECTORS, BLOCK = 6, GROUP = 192, AHEAD = 8192, MAX_THREADS = 64, SPINS = 400 };

typedef struct {
    int8_t *weight; /* [outputs / PANEL, inputs / DEPTH, PANEL, DEPTH] */
    int32_t *offset; /* 128 times the sum of each output's weights: activations are stored plus 128 */
    float *scale, *bias;
    int64_t inputs, outputs; /* outputs rounded up to whole panels */
} Linear;

typedef struct { const float *weight, *bias; } Norm;

typedef struct {
    Norm self_norm, cross_norm, norm;
    Linear self_input, self_output, query, memory, cross_output, hidden, output;
} Layer;

typedef struct {
    int64_t d_model, num_heads, d_ff, source_vocab, vocab, num_encoder, num_decoder, pre_norm, is_silu;
    double epsilon, times;
    const int8_t *source, *target; /* tables of embeddings */
    const float *source_scale, *target_scale, *frequencies;
    Layer *encoder, *decoder;
    Norm encoder_norm, decoder_norm;
    Linear scores;
} Model;

/* `native.py` writes these structures as rows of 8-byte numbers, in this order. Keys and values of the sources are
   [layer and key or value, sentence, head, key, feature], of the cache [layer and key or value, row, head, place, feature];
   a row of a step says which of both it reads. */
typedef struct {
    int64_t encodes, rows, length, sentences, num_keys, num_cached, capacity, position, count;
    int64_t *tokens, *lengths, *cache_rows, *source_rows; /* lengths of the sources */
    float *cross, *cache, *best_values, *log_probabilities, *attention;
    int64_t *best_tokens;
} Call;

/* Steps of a beam search in which no hypothesis ends. `taken` is their number. The arrays of what was chosen are
   [step, row]; `totals` has the totals before the first step in front. Rows of a source are neighbours. */
typedef struct {
    int64_t sources, most, eos, num_excluded, taken;
    const int64_t *slots, *excluded; /* number of rows of each source; tokens that no row may write */
    const double *floors; /* a source whose best total is no higher may be done */
    int64_t *alike; /* [row of the cache, row of the cache]: number of equal first places */
    int64_t *parents, *tokens, *rows; /* `rows` is scratch memory for one step's rows of the cache */
    double *totals;
    float *values;
} Beams;

typedef struct {
    float *sum, *wide, *context, *logits; /* shared by a team */
    float *x, *scale, *weights; /* each thread's own */
    Level *levels;
} Buffers;

struct Pool;
typedef struct {
    int id;
    pthread_t thread;
    struct Pool *pool;
    char *memory;
    size_t size;
    Buffers buffers;
} Worker;

typedef struct Pool {
    Model model;
    int threads, closing, by_part;
    int64_t job;
    Call *call;
    float *positions; /* [num_positions, d_model] */
    int64_t num_positions;
    pthread_mutex_t lock, one_call;
    pthread_cond_t wake;
    atomic_int arrived, turn, asleep;
    atomic_int taken, done; /* number of a call's parts that threads have begun and finished */
    Worker workers[MAX_THREADS];
} Pool;

typedef struct { int id, size; Pool *pool; } Team;

/* Wait until a counter has changed from this value: spin first, then sleep. */
static void await(Pool *pool, atomic_int *counter, int value) {
    for (int spins = 0; spins < SPINS && atomic_load(counter) == value; spins++) _mm_pause();
    if (atomic_load(counter) != value) return;
    atomic_fetch_add(&pool->asleep, 1);
    while (atomic_load(counter) == value) syscall(SYS_futex, counter, FUTEX_WAIT_PRIVATE, value, 0, 0, 0);
    atomic_fetch_sub(&pool->asleep, 1);
}

/* Increment a counter and wake the threads that wait for it. */
static void advance(Pool *pool, atomic_int *counter) {
    atomic_fetch_add(counter, 1);
    if (atomic_load(&pool->asleep)) syscall(SYS_futex, counter, FUTEX_WAKE_PRIVATE, MAX_THREADS, 0, 0, 0);
}

/* Wait for the whole team. */
static void barrier(Team team) {
    if (team.size == 1) return;
    Pool *pool = team.pool;
    int turn = atomic_load(&pool->turn);
    if (atomic_fetch_add(&pool->arrived, 1) < team.size - 1) {
        await(pool, &pool->turn, turn);
    } else {
        atomic_store(&pool->arrived, 0);
        advance(pool, &pool->turn);
    }
}

static int64_t share(int64_t whole, int part, int parts) { return whole * part / parts; }

/* e^x for x <= 0, within two units in the last place; e^-87 for x below -87. */
static inline Floats exponential(Floats x) {
    const float terms[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f,
                           5.0000001201e-1f};
    x = V(max_ps)(x, V(set1_ps)(-87));
    Ints whole = V(cvtps_epi32)(V(mul_ps)(x, V(set1_ps)(1.44269504f)));
    Floats n = V(cvtepi32_ps)(whole);
    Floats r = V(fnmadd_ps)(n, V(set1_ps)(0.693359375f), x);
    r = V(fnmadd_ps)(n, V(set1_ps)(-2.12194440e-4f), r);
    Floats y = V(set1_ps)(terms[0]);
    for (int i = 1; i < 6; i++) y = V(fmadd_ps)(y, r, V(set1_ps)(terms[i]));
    y = V(add_ps)(V(fmadd_ps)(V(mul_ps)(r, r), y, r), V(set1_ps)(1));
    return AS_FLOATS(V(add_epi32)(AS_INTS(y), V(slli_epi32)(whole, 23)));
}

/* x / (1 + e^-x), from e^-|x|, which does not overflow. */
static inline Floats silu(Floats x) {
    Floats zero = V(setzero_ps)(), negative = V(sub_ps)(zero, x), size = V(max_ps)(x, negative);
    Floats rest = V(div_ps)(size, V(add_ps)(V(set1_ps)(1), exponential(V(min_ps)(x, negative))));
    return V(add_ps)(V(min_ps)(x, zero), rest);
}

/* Both halves of a vector, joined number by number. */
static inline __m128 join_halves(__m256 x, __m128 (*join)(__m128, __m128)) {
    return join(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
}

/* All numbers of a vector joined: their sum or their maximum. */
static inline __attribute__((always_inline)) float reduce(Floats x, __m128 (*join)(__m128, __m128)) {
#ifdef __AVX512VNNI__
    __m128 low = join_halves(_mm512_castps512_ps256(x), join), high = join_halves(_mm512_extractf32x8_ps(x, 1), join);
    __m128 four = join(low, high);
#else
    __m128 four = join_halves(x, join);
#endif
    four = join(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(join(four, _mm_shuffle_ps(four, four, 1)));
}

static inline __m128 sum_of(__m128 a, __m128 b) { return _mm_add_ps(a, b); }
static inline __m128 larger_of(__m128 a, __m128 b) { return _mm_max_ps(a, b); }

/* The largest of n numbers; n is a multiple of LANES. */
static float largest(const float *x, int64_t n) {
    Floats most = V(set1_ps)(-INFINITY);
    for (int64_t i = 0; i < n; i += LANES) most = V(max_ps)(most, V(loadu_ps)(x + i));
    return reduce(most, larger_of);
}

/* The sum of e^(x - most); its terms are stored in `to` unless that is null. */
static float exponentials(const float *x, float *to, int64_t n, float most) {
    Floats sum = V(setzero_ps)();
    for (int64_t i = 0; i < n; i += LANES) {
        Floats y = exponential(V(sub_ps)(V(loadu_ps)(x + i), V(set1_ps)(most)));
        sum = V(add_ps)(sum, y);
        if (to) V(storeu_ps)(to + i, y);
    }
    return reduce(sum, sum_of);
}

/* The dot products of a query with four keys. */
static inline __m128 dots(const float *q, const float *k[4], int64_t width) {
    Floats sum[4], pair[2];
    for (int j = 0; j < 4; j++) sum[j] = V(setzero_ps)();
    for (int64_t i = 0; i < width; i += LANES)
        for (int j = 0; j < 4; j++) sum[j] = V(fmadd_ps)(V(loadu_ps)(q + i), V(loadu_ps)(k[j] + i), sum[j]);
    for (int j = 0; j < 2; j++) {
        Floats a = sum[j], b = sum[j + 2];
        pair[j] = V(add_ps)(V(unpacklo_ps)(a, b), V(unpackhi_ps)(a, b));
    }
    Floats all = V(add_ps)(V(unpacklo_ps)(pair[0], pair[1]), V(unpackhi_ps)(pair[0], pair[1]));
#ifdef __AVX512VNNI__
    __m256 half = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
#else
    __m256 half = all;
#endif
    return join_halves(half, sum_of);
}

/* Equation 1 for one query; `weights` has room for whole vectors and holds the softmax afterwards. */
static void attend(const float *query, const float *key, const float *value, int64_t stride, int64_t num_keys,
                   int64_t width, float *weights, float *context) {
    int64_t filled = (num_keys + 15) & -16;
    float scale = 1 / sqrtf(width);
    for (int64_t i = 0; i < num_keys; i += 4) {
        const float *four[4]; /* the last key is repeated where fewer are left */
        for (int64_t j = 0; j < 4; j++) four[j] = key + (i + j < num_keys ? i + j : num_keys - 1) * stride;
        _mm_storeu_ps(weights + i, _mm_mul_ps(dots(query, four, width), _mm_set1_ps(scale)));
    }
    for (int64_t i = num_keys; i < filled; i++) weights[i] = -INFINITY;
    float sum = exponentials(weights, weights, filled, largest(weights, filled));
    for (int64_t i = 0; i < filled; i++) weights[i] /= sum;
    for (int64_t c = 0; c < width; c += LANES) {
        Floats even = V(setzero_ps)(), odd = even;
        int64_t i = 0;
        for (; i + 1 < num_keys; i += 2) {
            even = V(fmadd_ps)(V(set1_ps)(weights[i]), V(loadu_ps)(value + i * stride + c), even);
            odd = V(fmadd_ps)(V(set1_ps)(weights[i + 1]), V(loadu_ps)(value + (i + 1) * stride + c), odd);
        }
        if (i < num_keys) even = V(fmadd_ps)(V(set1_ps)(weights[i]), V(loadu_ps)(value + i * stride + c), even);
        V(storeu_ps)(context + c, V(add_ps)(even, odd));
    }
}

static void normalise(const float *x, Norm norm, int64_t width, float epsilon, float *to) {
    Floats sum = V(setzero_ps)(), squares = sum;
    for (int64_t i = 0; i < width; i += LANES) sum = V(add_ps)(sum, V(loadu_ps)(x + i));
    Floats mean = V(set1_ps)(reduce(sum, sum_of) / width);
    for (int64_t i = 0; i < width; i += LANES) {
        Floats centred = V(sub_ps)(V(loadu_ps)(x + i), mean);
        squares = V(fmadd_ps)(centred, centred, squares);
    }
    Floats factor = V(set1_ps)(1 / sqrtf(reduce(squares, sum_of) / width + epsilon));
    for (int64_t i = 0; i < width; i += LANES) {
        Floats y = V(mul_ps)(V(sub_ps)(V(loadu_ps)(x + i), mean), factor);
        y = V(fmadd_ps)(y, V(loadu_ps)(norm.weight + i), V(loadu_ps)(norm.bias + i));
        V(storeu_ps)(to + i, y);
    }
}

/* Scale each row by its largest value to levels around 128. A row of zeros has the scale 0. */
static void quantize(const float *x, int64_t rows, int64_t width, Level *levels, float *scale) {
    for (int64_t r = 0; r < rows; r++, x += width, levels += width) {
        Floats most = V(setzero_ps)();
        for (int64_t i = 0; i < width; i += LANES) most = V(max_ps)(most, V(andnot_ps)(V(set1_ps)(-0.0f), V(loadu_ps)(x + i)));
        float found = reduce(most, larger_of);
        scale[r] = found / 127;
        Floats factor = V(set1_ps)(found > 1e-30f ? 127 / found : 0);
        for (int64_t i = 0; i < width; i += LANES) {
            Ints whole = V(cvtps_epi32)(V(mul_ps)(V(loadu_ps)(x + i), factor));
            whole = V(add_epi32)(whole, V(set1_epi32)(128));
#ifdef __AVX512VNNI__
            _mm_storeu_si128((__m128i *)(levels + i), _mm512_cvtepi32_epi8(whole));
#else
            __m128i eight = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
            if (sizeof *levels == 1) _mm_storel_epi64((__m128i *)(levels + i), _mm_packus_epi16(eight, eight));
            else _mm_storeu_si128((__m128i *)(levels + i), eight);
#endif
        }
    }
}

enum { LINEAR, RELU, SILU };
typedef struct { float *values; const float *residual; int64_t stride; int function; } Target;

/* The weights from DEPTH inputs to one vector of outputs. */
static inline Ints weights_at(const int8_t *weight) {
#if defined __AVX512VNNI__ || defined __AVXVNNI__
    return VECTOR_OF(load)((const Ints *)weight);
#else
    return _mm256_cvtepi8_epi16(_mm_load_si128((const __m128i *)weight));
#endif
}

/* The sum plus the products of these inputs with these weights. */
static inline Ints add_products(Ints sum, Ints levels, Ints weights) {
#ifdef __AVX512VNNI__
    return _mm512_dpbusd_epi32(sum, levels, weights);
#elif defined __AVXVNNI__
    return _mm256_dpbusd_avx_epi32(sum, levels, weights);
#else
    return _mm256_add_epi32(sum, _mm256_madd_epi16(levels, weights));
#endif
}

/* The products of one block of rows with one panel. Weights are prefetched: a single block fetches its own panel AHEAD bytes
   before their use; of several blocks each fetches a share of the next panel, so that memory is read during all products. */
static inline __attribute__((always_inline)) void multiply(const int rows, const Linear *linear, int64_t panel, int64_t block, int64_t blocks,
                                                           const Level *levels, const float *row_scale, Target to) {
    Ints sums[BLOCK * VECTORS], found[BLOCK * VECTORS];
    int64_t inputs = linear->inputs, first = panel * PANEL;
    const int8_t *weight = linear->weight + first * inputs, *next = weight + PANEL * inputs + PANEL * inputs * block / blocks;
    int64_t apart = DEPTH * PANEL / blocks;
    /* GCC keeps the sums in registers only if every loop over them is unrolled in full: loops are short and not nested. */
#pragma GCC unroll 24
    for (int i = 0; i < rows * VECTORS; i++) sums[i] = VECTOR_OF(setzero)();
    for (int64_t k = 0; k < inputs; k += DEPTH, weight += DEPTH * PANEL) {
        Ints w[VECTORS], x = VECTOR_OF(setzero)();
        if (rows >= BLOCK / 2 && blocks > 1) _mm_prefetch(next, _MM_HINT_T1), next += apart; /* smaller blocks stand alone */
        else for (int i = 0; i < DEPTH * PANEL; i += 64) _mm_prefetch(weight + AHEAD + i, _MM_HINT_T0);
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; j++) {
            w[j] = weights_at(weight + DEPTH * LANES * j);
            if (rows < 4) __asm__("" : "+v"(w[j])); /* or GCC loads them again for each row */
        }
#pragma GCC unroll 24
        for (int i = 0; i < rows * VECTORS; i++) {
            int32_t some;
            memcpy(&some, levels + i / VECTORS * inputs + k, sizeof some);
            if (i % VECTORS == 0) x = V(set1_epi32)(some);
            sums[i] = add_products(sums[i], x, w[i % VECTORS]);
        }
    }
#pragma GCC unroll 24
    for (int i = 0; i < rows * VECTORS; i++) found[i] = sums[i];
    for (int i = 0; i < rows * VECTORS; i++) {
        int r = i / VECTORS;
        int64_t column = first + LANES * (i % VECTORS);
        Ints sum = V(sub_epi32)(found[i], VECTOR_OF(load)((const Ints *)(linear->offset + column)));
        Floats y = V(mul_ps)(V(cvtepi32_ps)(sum), V(set1_ps)(row_scale[r]));
        y = V(fmadd_ps)(y, V(load_ps)(linear->scale + column), V(load_ps)(linear->bias + column));
        if (to.function == RELU) y = V(max_ps)(y, V(setzero_ps)());
        if (to.function == SILU) y = silu(y);
        if (to.residual) y = V(add_ps)(y, V(loadu_ps)(to.residual + r * to.stride + column));
        V(storeu_ps)(to.values + r * to.stride + column, y);
    }
}

/* One thread's share of the outputs of a linear map, for all rows. */
static void apply(Team team, const Linear *linear, const Buffers *own, int64_t rows, Target to) {
    int64_t panels = linear->outputs / PANEL, last = share(panels, team.id + 1, team.size);
    int64_t blocks = (rows + BLOCK - 1) / BLOCK;
    for (int64_t panel = share(panels, team.id, team.size); panel < last; panel++)
        for (int64_t block = 0; block < blocks; block++) {
            int64_t row = rows * block / blocks, end = rows * (block + 1) / blocks;
            const Level *levels = own->levels + row * linear->inputs;
            const float *scale = own->scale + row;
            Target at = {to.values + row * to.stride, to.residual ? to.residual + row * to.stride : 0, to.stride, to.function};
            switch (end - row) {
                case 1: multiply(1, linear, panel, block, blocks, levels, scale, at); break;
                case 2: multiply(2, linear, panel, block, blocks, levels, scale, at); break;
                case 3: multiply(3, linear, panel, block, blocks, levels, scale, at); break;
                case 4: multiply(4, linear, panel, block, blocks, levels, scale, at); break;
                case 5: multiply(5, linear, panel, block, blocks, levels, scale, at); break;
                default: multiply(6, linear, panel, block, blocks, levels, scale, at);
            }
        }
}

/* The input of a sub-layer, as floats and quantized; every thread of a team computes its own copy. */
static void enter_sublayer(const Model *model, const Buffers *all, const Buffers *own, int64_t rows, const Norm *norm) {
    int64_t width = model->d_model;
    for (int64_t r = 0; r < rows; r++) {
        const float *x = all->sum + r * width;
        if (norm) normalise(x, *norm, width, model->epsilon, own->x + r * width);
        else memcpy(own->x + r * width, x, width * sizeof *x);
    }
    quantize(own->x, rows, width, own->levels, own->scale);
}

/* The linear map that ends a sub-layer, plus the residual. */
static void leave_sublayer(Team team, const Linear *linear, const Buffers *all, const Buffers *own, int64_t rows,
                  const float *inner) {
    const Model *model = &team.pool->model;
    quantize(inner, rows, linear->inputs, own->levels, own->scale);
    apply(team, linear, own, rows, (Target){all->sum, model->pre_norm ? all->sum : own->x, model->d_model, LINEAR});
    barrier(team);
}

static void feed_forward(Team team, const Layer *layer, const Norm *norm, const Buffers *all, const Buffers *own,
                         int64_t rows) {
    const Model *model = &team.pool->model;
    enter_sublayer(model, all, own, rows, norm);
    apply(team, &layer->hidden, own, rows, (Target){all->wide, 0, model->d_ff, model->is_silu ? SILU : RELU});
    barrier(team);
    leave_sublayer(team, &layer->output, all, own, rows, all->wide);
}

static void embed(const Pool *pool, int64_t token, int64_t position, int is_source, float *to) {
    const Model *model = &pool->model;
    const float *added = pool->positions + position * model->d_model;
    const int8_t *row = (is_source ? model->source : model->target) + token * model->d_model;
    float scale = (is_source ? model->source_scale : model->target_scale)[token] * (float)model->times;
    for (int64_t i = 0; i < model->d_model; i++) to[i] = row[i] * scale + added[i];
}

/* Encode the sentences first to last - 1, without padding, to the keys and values of every cross-attention. */
static void encode(Team team, const Call *call, const Buffers *all, const Buffers *own, int64_t first, int64_t last) {
    const Model *model = &team.pool->model;
    int64_t width = model->d_model, heads = model->num_heads, features = width / heads;
    int64_t starts[GROUP + 1], rows = 0;
    for (int64_t s = first; s < last; s++) starts[s - first] = rows, rows += call->lengths[s];
    starts[last - first] = rows;
    for (int64_t s = first; s < last; s++)
        for (int64_t i = team.id; i < call->lengths[s]; i += team.size)
            embed(team.pool, call->tokens[s * call->length + i], i, 1, all->sum + (starts[s - first] + i) * width);
    barrier(team);
    const Norm *before = 0;
    for (int64_t i = 0; i < model->num_encoder; i++) {
        const Layer *layer = model->encoder + i;
        enter_sublayer(model, all, own, rows, model->pre_norm ? &layer->self_norm : before);
        apply(team, &layer->self_input, own, rows, (Target){all->wide, 0, 3 * width, LINEAR});
        barrier(team);
        for (int64_t s = first; s < last; s++) {
            const float *keys = all->wide + starts[s - first] * 3 * width + width;
            int64_t units = call->lengths[s] * heads, end = share(units, team.id + 1, team.size);
            for (int64_t unit = share(units, team.id, team.size); unit < end; unit++) {
                int64_t row = starts[s - first] + unit / heads, at = unit % heads * features;
                attend(all->wide + row * 3 * width + at, keys + at, keys + width + at, 3 * width, call->lengths[s],
                       features, own->weights, all->context + row * width + at);
            }
        }
        barrier(team);
        leave_sublayer(team, &layer->self_output, all, own, rows, all->context);
        feed_forward(team, layer, model->pre_norm ? &layer->norm : &layer->self_norm, all, own, rows);
        before = &layer->norm;
    }
    enter_sublayer(model, all, own, rows, model->pre_norm ? &model->encoder_norm : before);
    for (int64_t i = 0; i < model->num_decoder; i++) {
        apply(team, &model->decoder[i].memory, own, rows, (Target){all->wide, 0, 2 * width, LINEAR});
        barrier(team);
        for (int64_t s = first; s < last; s++)
            for (int64_t k = team.id; k < call->lengths[s]; k += team.size)
                for (int64_t part = 0; part < 2 * heads; part++) {
                    int64_t place = (((2 * i + part / heads) * call->sentences + s) * heads + part % heads) * call->num_keys + k;
                    float *to = call->cross + place * features;
                    const float *from = all->wide + (starts[s - first] + k) * 2 * width + part * features;
                    memcpy(to, from, features * sizeof *to);
                }
        barrier(team);
    }
}

/* The log-probabilities of one row, all or the `count` best; `maxima` has room for one number for each block of 64. */
static void rank_tokens(const Model *model, const Call *call, float *x, int64_t row, float *maxima) {
    int64_t vocab = model->vocab, filled = model->scores.outputs, blocks = filled / 64;
    for (int64_t i = vocab; i < filled; i++) x[i] = -INFINITY;
    float most = largest(x, filled), rest = logf(exponentials(x, 0, filled, most));
    float *to = call->log_probabilities ? call->log_probabilities + row * vocab : x;
    for (int64_t i = 0; i < vocab; i++) {
        float value = x[i] - most - rest;
        to[i] = value == value ? value : -INFINITY; /* huge weights overflow to NaN, which no comparison finds again */
    }
    if (call->log_probabilities) return;
    int64_t whole = (blocks + 15) & -16;
    for (int64_t b = 0; b < whole; b++) maxima[b] = b < blocks ? largest(x + 64 * b, 64) : -INFINITY;
    for (int64_t rank = 0; rank < call->count; rank++) {
        float best = largest(maxima, whole);
        int64_t b = 0, i = 0;
        while (maxima[b] != best) b++;
        while (x[64 * b + i] != best) i++;
        call->best_values[row * call->count + rank] = best;
        call->best_tokens[row * call->count + rank] = 64 * b + i;
        x[64 * b + i] = -INFINITY;
        maxima[b] = largest(x + 64 * b, 64);
    }
}

/* Read the newest tokens of the rows first to last - 1, and compute the log-probabilities of the next ones. */
static void decode(Team team, const Call *call, const Buffers *all, const Buffers *own, int64_t first, int64_t last) {
    const Model *model = &team.pool->model;
    int64_t width = model->d_model, heads = model->num_heads, features = width / heads, length = call->length;
    int64_t start = first * length, rows = (last - first) * length, position = call->position;
    int64_t cached = call->num_cached * heads * call->capacity * features, read = call->num_keys * features;
    for (int64_t r = team.id; r < rows; r += team.size)
        embed(team.pool, call->tokens[start + r], position + r % length, 0, all->sum + r * width);
    barrier(team);
    const Norm *before = 0;
    for (int64_t i = 0; i < model->num_decoder; i++) {
        const Layer *layer = model->decoder + i;
        enter_sublayer(model, all, own, rows, model->pre_norm ? &layer->self_norm : before);
        apply(team, &layer->self_input, own, rows, (Target){all->wide, 0, 3 * width, LINEAR});
        barrier(team);
        int64_t units = rows / length * heads, end = share(units, team.id + 1, team.size);
        for (int64_t unit = share(units, team.id, team.size); unit < end; unit++) {
            int64_t place = (call->cache_rows[first + unit / heads] * heads + unit % heads) * call->capacity * features;
            float *keys = call->cache + 2 * i * cached + place, *values = keys + cached;
            for (int64_t t = 0; t < length; t++) {
                int64_t row = unit / heads * length + t, at = unit % heads * features, now = position + t;
                const float *from = all->wide + row * 3 * width + at;
                memcpy(keys + now * features, from + width, features * sizeof *keys);
                memcpy(values + now * features, from + 2 * width, features * sizeof *values);
                attend(from, keys, values, features, now + 1, features, own->weights, all->context + row * width + at);
            }
        }
        barrier(team);
        leave_sublayer(team, &layer->self_output, all, own, rows, all->context);
        enter_sublayer(model, all, own, rows, model->pre_norm ? &layer->cross_norm : &layer->self_norm);
        apply(team, &layer->query, own, rows, (Target){all->wide, 0, width, LINEAR});
        barrier(team);
        units = rows * heads, end = share(units, team.id + 1, team.size);
        for (int64_t unit = share(units, team.id, team.size); unit < end; unit++) {
            int64_t row = unit / heads, head = unit % heads, at = row * width + head * features;
            int64_t source = call->source_rows[first + row / length], num_keys = call->lengths[source];
            const float *keys = call->cross + ((2 * i * call->sentences + source) * heads + head) * read;
            attend(all->wide + at, keys, keys + call->sentences * heads * read, features, num_keys, features,
                   own->weights, all->context + at);
            if (!call->attention || i < model->num_decoder - 1) continue;
            float *to = call->attention + ((start + row) * heads + head) * call->num_keys;
            for (int64_t k = 0; k < call->num_keys; k++) to[k] = k < num_keys ? own->weights[k] : 0;
        }
        barrier(team);
        leave_sublayer(team, &layer->cross_output, all, own, rows, all->context);
        feed_forward(team, layer, model->pre_norm ? &layer->norm : &layer->cross_norm, all, own, rows);
        before = &layer->norm;
    }
    enter_sublayer(model, all, own, rows, model->pre_norm ? &model->decoder_norm : before);
    int64_t filled = model->scores.outputs;
    apply(team, &model->scores, own, rows, (Target){all->logits, 0, filled, LINEAR});
    barrier(team);
    for (int64_t r = team.id; r < rows; r += team.size)
        rank_tokens(model, call, all->logits + r * filled, start + r, own->weights);
}

static void run(Team team, const Call *call, const Buffers *all, const Buffers *own, int64_t first, int64_t last) {
    if (!call->encodes) {
        decode(team, call, all, own, first, last);
        return;
    }
    while (first < last) {
        int64_t end = first, tokens = 0;
        while (end < last && (tokens += call->lengths[end]) && (end == first || tokens <= GROUP)) end++;
        encode(team, call, all, own, first, end);
        first = end;
    }
}

/* One thread's work in a call: its share of every product, or one part of the rows after another until none is left. In the
   second case no thread waits for one that has not woken up yet. */
static void take_part(Worker *worker, int by_part) {
    Pool *pool = worker->pool;
    const Buffers *own = &worker->buffers;
    if (!by_part) {
        Team team = {worker->id, pool->threads, pool};
        run(team, pool->call, &pool->workers[0].buffers, own, 0, pool->call->rows);
        barrier(team);
        return;
    }
    for (int part; (part = atomic_fetch_add(&pool->taken, 1)) < pool->threads;) {
        int64_t first = share(pool->call->rows, part, pool->threads), last = share(pool->call->rows, part + 1, pool->threads);
        run((Team){0, 1, pool}, pool->call, own, own, first, last);
        advance(pool, &pool->done);
    }
    if (!worker->id)
        for (int done; (done = atomic_load(&pool->done)) < pool->threads;) await(pool, &pool->done, done);
}

static void *work(void *given) {
    Worker *worker = given;
    Pool *pool = worker->pool;
    for (int64_t seen = 0;;) {
        pthread_mutex_lock(&pool->lock);
        while (pool->job == seen && !pool->closing) pthread_cond_wait(&pool->wake, &pool->lock);
        seen = pool->job;
        int closing = pool->closing, by_part = pool->by_part;
        pthread_mutex_unlock(&pool->lock);
        if (closing) return 0;
        take_part(worker, by_part);
    }
}

/* Memory from a block whose free part begins at `end`. */
static void *allocate(char **end, size_t bytes) {
    char *here = *end;
    *end += (bytes + 127) & ~(size_t)63; /* with room for a whole last vector */
    return here;
}

/* Give a thread buffers of this size. Returns 0, or 1 without memory. */
static int reserve(Worker *worker, const Model *model, int64_t rows, int64_t keys, int logits) {
    Buffers *buffers = &worker->buffers;
    int64_t width = model->d_model, wide = model->d_ff > 3 * width ? model->d_ff : 3 * width;
    int64_t blocks = model->scores.outputs / 64;
    for (int pass = 0; pass < 2; pass++) {
        char *start = pass ? worker->memory : 0, *end = start;
        buffers->sum = allocate(&end, rows * width * 4);
        buffers->wide = allocate(&end, rows * wide * 4);
        buffers->context = allocate(&end, rows * width * 4);
        buffers->x = allocate(&end, rows * width * 4);
        buffers->levels = allocate(&end, rows * wide * sizeof(Level));
        buffers->scale = allocate(&end, rows * 4);
        buffers->weights = allocate(&end, (keys > blocks ? keys : blocks) * 4);
        buffers->logits = allocate(&end, logits ? rows * model->scores.outputs * 4 : 0);
        size_t size = end - start;
        if (pass || size <= worker->size) continue;
        free(worker->memory);
        worker->memory = aligned_alloc(64, size);
        worker->size = worker->memory ? size : 0;
        if (!worker->memory) return 1;
    }
    return 0;
}

/* Compute the sines and cosines below this position. Returns 0, or 1 without memory. */
static int tabulate_positions(Pool *pool, int64_t wanted) {
    int64_t width = pool->model.d_model, known = pool->num_positions;
    if (wanted <= known) return 0;
    float *table = realloc(pool->positions, 2 * wanted * width * sizeof *table);
    if (!table) return 1;
    for (int64_t i = known * width; i < 2 * wanted * width; i++) {
        float angle = i / width * pool->model.frequencies[i % width / 2];
        table[i] = i % 2 ? cosf(angle) : sinf(angle);
    }
    pool->positions = table;
    pool->num_positions = 2 * wanted;
    return 0;
}

/* Run a call. Returns 0, or 1 without memory or for a token outside the vocabulary. */
int regard_run(Pool *pool, Call *call) {
    pthread_mutex_lock(&pool->one_call);
    int64_t rows = call->rows * call->length, keys = call->num_keys;
    int by_part = pool->threads == 1 || (call->rows >= 2 * pool->threads && rows >= 4 * pool->threads);
    if (call->encodes && rows > GROUP) rows = call->length > GROUP ? call->length : GROUP;
    int64_t reached = call->length + (call->encodes ? 0 : call->position);
    if (reached > keys) keys = reached;
    int failed = tabulate_positions(pool, reached);
    int64_t vocab = call->encodes ? pool->model.source_vocab : pool->model.vocab;
    for (int64_t i = 0; i < call->rows * call->length; i++) failed |= call->tokens[i] < 0 || call->tokens[i] >= vocab;
    for (int i = 0; i < pool->threads; i++)
        failed |= reserve(pool->workers + i, &pool->model, rows, keys, !call->encodes && (by_part || !i));
    if (!failed) {
        pthread_mutex_lock(&pool->lock);
        pool->call = call;
        pool->by_part = by_part;
        atomic_store(&pool->done, 0);
        atomic_store(&pool->taken, by_part ? 0 : pool->threads);
        pool->job++;
        if (pool->threads > 1) pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
        take_part(pool->workers, by_part);
    }
    pthread_mutex_unlock(&pool->one_call);
    return failed;
}

static int is_excluded(const Beams *beams, int64_t token) {
    for (int64_t i = 0; i < beams->num_excluded; i++)
        if (beams->excluded[i] == token) return 1;
    return 0;
}

/* Choose the best continuations of each source as `BeamSearch._best_of` does, equal ones in the order of their rows.
   Returns 0 where the search in Python must decide: one of them ends, there are too few, or the source may be done. */
static int choose(const Call *call, const Beams *beams) {
    int64_t at = beams->taken * call->rows, *parents = beams->parents + at, *tokens = beams->tokens + at;
    const double *before = beams->totals + at;
    double *totals = beams->totals + at + call->rows;
    float *values = beams->values + at;
    for (int64_t source = 0, first = 0; source < beams->sources; first += beams->slots[source++]) {
        int64_t end = first + beams->slots[source], found = first;
        for (int64_t row = first; row < end; row++)
            for (int64_t i = row * call->count; i < (row + 1) * call->count; i++) {
                double total = before[row] + call->best_values[i];
                if (is_excluded(beams, call->best_tokens[i])) continue;
                if (total <= (found == end ? totals[end - 1] : -INFINITY)) break;
                int64_t place = found < end ? found++ : end - 1;
                for (; place > first && totals[place - 1] < total; place--) {
                    totals[place] = totals[place - 1], values[place] = values[place - 1];
                    parents[place] = parents[place - 1], tokens[place] = tokens[place - 1];
                }
                totals[place] = total, values[place] = call->best_values[i];
                parents[place] = row, tokens[place] = call->best_tokens[i];
            }
        if (found < end || totals[first] <= beams->floors[source]) return 0;
        for (int64_t row = first; row < end; row++)
            if (tokens[row] == beams->eos) return 0;
    }
    return 1;
}

/* Copy one row of the cache to another, from the first place where they differ. */
static void copy_row(const Model *model, const Call *call, const Beams *beams, int64_t from, int64_t to) {
    int64_t features = model->d_model / model->num_heads, line = call->capacity * features, cached = call->num_cached;
    int64_t *alike = beams->alike + from * cached, begin = alike[to], copied = call->position - begin;
    for (int64_t i = 0; i < 2 * model->num_decoder; i++)
        for (int64_t head = 0; head < model->num_heads; head++) {
            float *block = call->cache + (i * cached * model->num_heads + head) * line + begin * features;
            float *target = block + to * model->num_heads * line, *source = block + from * model->num_heads * line;
            memcpy(target, source, copied * features * sizeof *block);
        }
    int64_t itself = alike[from];
    for (int64_t row = 0; row < cached; row++) beams->alike[to * cached + row] = beams->alike[row * cached + to] = alike[row];
    alike[to] = beams->alike[to * cached + from] = call->position;
    beams->alike[to * cached + to] = itself;
}

/* The index of a value in array[first] to array[end - 1], or `end`. */
static int64_t place_of(const int64_t *array, int64_t first, int64_t end, int64_t value) {
    while (first < end && array[first] != value) first++;
    return first;
}

/* Give each chosen hypothesis a row of the cache, as `Cache.spread` does: the first child has its parent's, every other
   child that of a hypothesis without children. */
static void assign_rows(const Model *model, const Call *call, const Beams *beams) {
    const int64_t *parents = beams->parents + beams->taken * call->rows;
    memcpy(beams->rows, call->cache_rows, call->rows * sizeof *beams->rows);
    for (int64_t source = 0, first = 0; source < beams->sources; first += beams->slots[source++]) {
        int64_t end = first + beams->slots[source], childless = first;
        for (int64_t row = first; row < end; row++) {
            int64_t given = beams->rows[parents[row]];
            if (place_of(parents, first, row, parents[row]) < row) {
                while (place_of(parents, first, end, childless) < end) childless++;
                copy_row(model, call, beams, given, beams->rows[childless]);
                given = beams->rows[childless++];
            }
            call->cache_rows[row] = given;
        }
    }
}

/* Take steps until `choose` leaves one to Python, or `most` are taken; the last step's best tokens stay in the call.
   Returns what `regard_run` returns. */
int regard_search(Pool *pool, Call *call, Beams *beams) {
    for (beams->taken = 0;; beams->taken++) {
        if (regard_run(pool, call)) return 1;
        call->position++;
        if (beams->taken + 1 == beams->most || !choose(call, beams)) return 0;
        assign_rows(&pool->model, call, beams);
        memcpy(call->tokens, beams->tokens + beams->taken * call->rows, call->rows * sizeof *call->tokens);
    }
}

/* Pack weights [inputs, outputs], or [outputs, inputs], into the panels of a linear map, from its output `first` on. */
void regard_pack(Linear *to, const int8_t *from, int64_t outputs, int64_t first, int64_t by_row) {
    int64_t inputs = to->inputs;
    for (int64_t n = 0; n < outputs; n++) to->offset[first + n] = 0;
    for (int64_t begin = 0; begin < outputs; begin += PANEL) {
        int8_t *panel = to->weight + (first + begin) * inputs;
        int64_t columns = outputs - begin < PANEL ? outputs - begin : PANEL;
        for (int64_t k = 0; k < inputs; k++)
            for (int64_t n = 0; n < columns; n++) {
                int8_t w = by_row ? from[(begin + n) * inputs + k] : from[k * outputs + begin + n];
                panel[(k / DEPTH * PANEL + n) * DEPTH + k % DEPTH] = w;
                to->offset[first + begin + n] += 128 * w;
            }
    }
}

Pool *regard_open(const Model *model, int threads) {
    Pool *pool = calloc(1, sizeof *pool);
    if (!pool) return 0;
    pool->model = *model;
    pool->threads = threads < MAX_THREADS ? threads : MAX_THREADS;
    pthread_mutex_init(&pool->lock, 0);
    pthread_mutex_init(&pool->one_call, 0);
    pthread_cond_init(&pool->wake, 0);
    for (int i = 0; i < pool->threads; i++) {
        pool->workers[i].id = i;
        pool->workers[i].pool = pool;
        if (i && pthread_create(&pool->workers[i].thread, 0, work, pool->workers + i)) pool->threads = i;
    }
    return pool;
}

void regard_close(Pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->closing = 1;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->threads; i++) {
        if (i) pthread_join(pool->workers[i].thread, 0);
        free(pool->workers[i].memory);
    }
    free(pool->positions);
    free(pool);
}
