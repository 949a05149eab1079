/* Continues token ids that it reads, greedily: the library, a weights file, and C99.
 *
 *     kina build f32.kina -o libsmollm2.so
 *     cc -std=c99 -O2 chat.c -o chat -L. -lsmollm2 -lm -Wl,-rpath,'$ORIGIN'
 *     echo 504 3575 282 4649 314 | ./chat FILE.safetensors 32
 *
 * The library may be one of f32.kina or bf16.kina, and with -DI8 one of i8.kina. Capacity is that of
 * the caches: 2048 tokens, or the third argument. What is wrong is said on one line, and the status
 * is then 1.
 */

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libsmollm2.h"

enum { HEADS = 3, WIDTH = 64, HALF = WIDTH / 2, END_OF_TURN = 2, RANK = 4, BATCH = 256 };

static const char *file_name;

static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "chat: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

static void *room(uint64_t count, size_t size) {
    void *memory = count < SIZE_MAX / 2 / size ? calloc(count ? (size_t)count : 1, size) : NULL;
    if (!memory) fail("there is no memory for %llu elements", (unsigned long long)count);
    return memory;
}

/* The weights file: a header of JSON, of which this reads the little that safetensors has. */

static const char *const dtypes[] = {[1] = "I8", [2] = "BF16", [4] = "F32"}; /* by bytes */
static char *header, *data;
static uint64_t data_size;

static void damaged(void) { fail("%s: not a safetensors file, or a damaged one", file_name); }

static char *blank(char *at) {
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') at++;
    return at;
}

static char *expect(char *at, char wanted) {
    at = blank(at);
    if (*at != wanted) damaged();
    return at + 1;
}

static char *string(char *at, char **start, size_t *length) {
    *start = at = expect(at, '"');
    while (*at && *at != '"') at += at[0] == '\\' && at[1] ? 2 : 1;
    *length = (size_t)(at - *start);
    return expect(at, '"');
}

/* Past any value; brackets inside of strings do not count. */
static char *value(char *at) {
    int depth = 0;
    char *start;
    size_t length;
    do {
        at = blank(at);
        if (!*at) damaged();
        if (*at == '"') {
            at = string(at, &start, &length);
        } else if (strchr("{[", *at)) {
            depth++, at++;
        } else if (strchr("}]", *at)) {
            depth--, at++;
        } else {
            at++;
            while (*at && !strchr("\",:{}[]", *at)) at++;
        }
    } while (depth > 0 || (*(at = blank(at)) && !strchr(",}]", *at)));
    return at;
}

/* The value of a key in the object at `at`; NULL if there is none. */
static char *member(char *at, const char *key) {
    char *start;
    size_t length;
    at = blank(expect(at, '{'));
    while (*at != '}') {
        at = expect(string(at, &start, &length), ':');
        if (length == strlen(key) && !strncmp(start, key, length)) return blank(at);
        at = blank(value(at));
        if (*at == ',') at = blank(at + 1);
    }
    return NULL;
}

/* Up to `most` integers of a list; how many there are. */
static int integers(char *at, uint64_t *found, int most) {
    int count = 0;
    at = blank(expect(at, '['));
    while (*at != ']') {
        char *end;
        unsigned long long number = strtoull(at, &end, 10);
        if (end == at || *at == '-' || count == most) damaged();
        found[count++] = number;
        at = blank(end);
        if (*at == ',') at = blank(at + 1);
    }
    return count;
}

static void open_weights(void) {
    unsigned char length[8];
    uint64_t size = 0;
    long end;
    FILE *file = fopen(file_name, "rb");
    if (!file || fseek(file, 0, SEEK_END) || (end = ftell(file)) < 0) {
        fail("%s: cannot be read", file_name);
        return;
    }
    rewind(file);
    if (fread(length, 1, 8, file) != 8) damaged();
    for (int byte = 7; byte >= 0; byte--) size = size << 8 | length[byte];
    if (size > (uint64_t)end - 8) damaged();
    data_size = (uint64_t)end - 8 - size;
    header = room(size + 1, 1);
    data = room(data_size, 1);
    if (fread(header, 1, (size_t)size, file) != size) damaged();
    if (fread(data, 1, (size_t)data_size, file) != data_size) damaged();
    fclose(file);
}

/* A tensor of elements of so many bytes; a size of 0 is unknown, and set. */
static void *tensor(const char *name, int bytes, uint64_t *shape, int rank) {
    uint64_t sizes[RANK], place[2], size = (uint64_t)bytes;
    char *start, *entry = member(header, name);
    size_t length;
    if (!entry) fail("%s: there is no tensor %s: these are another model's", file_name, name);
    char *dtype = member(entry, "dtype"), *dims = member(entry, "shape");
    char *offsets = member(entry, "data_offsets");
    if (!dtype || !dims || !offsets) damaged();
    string(dtype, &start, &length);
    if (length != strlen(dtypes[bytes]) || strncmp(start, dtypes[bytes], length))
        fail("%s: tensor %s is %.*s, expected %s", file_name, name, (int)length, start,
             dtypes[bytes]);
    int fits = integers(dims, sizes, RANK) == rank;
    for (int axis = 0; fits && axis < rank; axis++) {
        if (!shape[axis]) shape[axis] = sizes[axis];
        fits = sizes[axis] == shape[axis] && sizes[axis] > 0 && size < UINT64_MAX / sizes[axis];
        size *= sizes[axis];
    }
    if (!fits) fail("%s: tensor %s has another shape than this model's", file_name, name);
    if (integers(offsets, place, 2) != 2 || place[0] > place[1] || place[1] - place[0] != size)
        damaged();
    if (place[1] > data_size)
        fail("%s: cut off: tensor %s ends at byte %llu of the data, of which there are %llu",
             file_name, name, (unsigned long long)place[1], (unsigned long long)data_size);
    return data + place[0];
}

static uint64_t vocabulary, layers;

/* A matrix of the model: its elements, and in I8 the scales of its outputs. */
#ifdef I8
#define READ(field, name, shape, rank, outputs)                          \
    do {                                                                 \
        w->field.values = tensor(name ".values", 1, shape, rank);        \
        uint64_t scales[] = {layers, outputs};                           \
        w->field.scale =                                                 \
            tensor(name ".scale", 4, scales + 3 - (rank), (rank) - 1);   \
    } while (0)
#else
#define READ(field, name, shape, rank, outputs) \
    w->field = tensor(name, sizeof *w->field, shape, rank)
#endif
#define MATRIX(field, inputs, outputs)                           \
    do {                                                         \
        uint64_t shape[] = {layers, inputs, outputs};            \
        READ(layers.field, "layers." #field, shape, 3, outputs); \
    } while (0)

static void read_model(kina_Model *w) {
    uint64_t embedding[] = {0, 576}, norms[] = {0, 576}, norm[] = {576};
    READ(embedding, "embedding", embedding, 2, embedding[0]);
    w->layers.attention_norm = tensor("layers.attention_norm", 4, norms, 2);
    w->layers.mlp_norm = tensor("layers.mlp_norm", 4, norms, 2);
    w->norm = tensor("norm", 4, norm, 1);
    vocabulary = embedding[0], layers = norms[0];
    MATRIX(qkv, 576, 960);
    MATRIX(o, 576, 576);
    MATRIX(gate_up, 576, 3072);
    MATRIX(down, 1536, 576);
}

/* One conversation. */

static kina_Model weights;
static kina_Caches_out caches;
static float *cosine, *sine, *logits;
static int64_t capacity, seen;

static void start(void) {
    uint64_t size = layers * HEADS * WIDTH * (uint64_t)capacity;
    caches.keys = room(size, sizeof(float));
    caches.values = room(size, sizeof(float));
    logits = room(vocabulary, sizeof(float));
    cosine = room((uint64_t)capacity * HALF, sizeof(float));
    sine = room((uint64_t)capacity * HALF, sizeof(float));
    for (int64_t at = 0; at < capacity * HALF; at++) {
        double angle = (double)(at / HALF) * pow(100000.0, -2.0 * (double)(at % HALF) / WIDTH);
        cosine[at] = (float)cos(angle);
        sine[at] = (float)sin(angle);
    }
}

/* The most probable token after these; of several, the one with the lowest number. */
static int64_t next(const int64_t *ids, int64_t count) {
    const kina_Caches before = {caches.keys, caches.values};
    const kina_Angles angles = {cosine, sine};
    const int64_t v = (int64_t)vocabulary, l = (int64_t)layers, end = seen + count;
    int32_t status;
    int64_t best = 0;
    if (count == 1) {
        status = kina_decode(v, l, capacity, end, ids, &weights, &before, &angles, logits, &caches);
        if (status) fail("%s", kina_decode_message(status));
    } else {
        status = kina_prefill(
            count, v, l, capacity, end, ids, &weights, &before, &angles, logits, &caches);
        if (status) fail("%s", kina_prefill_message(status));
    }
    seen = end;
    for (int64_t token = 1; token < v; token++)
        if (logits[token] > logits[best]) best = token;
    return best;
}

int main(int count, char **arguments) {
    int64_t *ids, length = 0, token = 0;
    long long id;
    int read;
    if (count < 3 || count > 4) fail("usage: chat FILE.safetensors COUNT [CAPACITY] < IDS");
    const long long wanted = atoll(arguments[2]);
    capacity = count > 3 ? atoll(arguments[3]) : 2048;
    if (wanted < 1 || capacity < 1 || capacity > 8192)
        fail("expected a count of 1 or more, and a capacity from 1 to 8192");
    file_name = arguments[1];
    open_weights();
    read_model(&weights);
    ids = room((uint64_t)capacity, sizeof *ids);
    while ((read = scanf("%lld", &id)) == 1) {
        if (length == capacity)
            fail("the prompt has more than %lld tokens, and the caches no room", (long long)capacity);
        ids[length++] = id;
    }
    if (read != EOF || length == 0) fail("expected the ids of one token or more");
    start();
    for (int64_t at = 0; at < length; at += BATCH)
        token = next(ids + at, length - at < BATCH ? length - at : BATCH);
    for (long long made = 1;; made++) {
        printf("%lld\n", (long long)token);
        fflush(stdout);
        if (token == END_OF_TURN || made == wanted || seen == capacity) return 0;
        token = next(&token, 1);
    }
}
