/* Lets a trained StoryLM-0 go on with a text, with the library that Kina built and a weights file:
 *
 *     kina build storylm0_step.kina -o libstorylm0.so
 *     cc -std=c99 generate.c -o generate -L. -lstorylm0 -Wl,-rpath,'$ORIGIN'
 *     ./generate story.safetensors "The heron " 32            the most likely bytes
 *     ./generate story.safetensors "The heron " 32 0.8 7      drawn, with a temperature and a seed
 *
 * It prints the tokens that generate.py --ids prints.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libstorylm0.h"

#ifndef LAYERS
enum { LAYERS = 5, WIDTH = 128, HEADS = 4, COLUMNS = 32, HIDDEN = 512 };
#endif
enum { TOKENS = 256, CAPACITY = 512 };

static void fail(const char *path, const char *what) {
    fprintf(stderr, "generate: %s: %s\n", path, what);
    exit(1);
}

static void check(int32_t status, const char *message) {
    if (status != 0) {
        fail("error", message);
    }
}

static void *allocate(size_t size) {
    void *memory = calloc(size, 1);
    if (memory == NULL) {
        fail("error", "out of memory");
    }
    return memory;
}

/* A file of tensors: 8 bytes that say how long the header is, the header, the tensors. */
typedef struct {
    const char *path;
    char *header;
    unsigned char *data;
    uint64_t size; /* of `data` */
} File;

static File open_file(const char *path) {
    File file = {path, NULL, NULL, 0};
    unsigned char length[8];
    uint64_t header = 0;
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) {
        fail(path, "cannot be read");
    }
    if (fread(length, 1, 8, stream) != 8) {
        fail(path, "no file of tensors: it is too short");
    }
    for (int i = 7; i >= 0; i--) {
        header = header << 8 | length[i];
    }
    fseek(stream, 0, SEEK_END);
    long end = ftell(stream);
    if (end < 8 || header > (uint64_t)end - 8) {
        fail(path, "no file of tensors, or a part of one: its header does not end");
    }
    file.size = (uint64_t)end - 8 - header;
    file.header = allocate((size_t)header + 1);
    file.data = allocate((size_t)file.size + 1);
    fseek(stream, 8, SEEK_SET);
    if (fread(file.header, 1, (size_t)header, stream) != header ||
        fread(file.data, 1, (size_t)file.size, stream) != file.size) {
        fail(path, "cannot be read");
    }
    fclose(stream);
    return file;
}

/* Ends the program with what is wrong with a tensor. */
static void refuse(const File *file, const char *name, const char *what) {
    char message[160];
    snprintf(message, sizeof message, "%s %s", name, what);
    fail(file->path, message);
}

/* Where the header says `key` of the tensor whose entry this is; NULL if it does not. */
static const char *said(const char *entry, const char *key) {
    const char *end = strchr(entry, '}'), *found = strstr(entry, key);
    return end == NULL || found == NULL || found > end ? NULL : found + strlen(key);
}

/* The tensor of this name and shape; the shape ends with a 0. */
static const float *tensor(const File *file, const char *name, const size_t *shape) {
    char key[64], *next = NULL;
    unsigned long long first = 0, last = 0;
    size_t count = 1;
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *entry = strstr(file->header, key);
    const char *sizes = entry == NULL ? NULL : said(entry, "\"shape\":");
    const char *offsets = entry == NULL ? NULL : said(entry, "\"data_offsets\":");
    if (sizes == NULL || offsets == NULL || said(entry, "\"F32\"") == NULL ||
        sscanf(offsets, " [%llu , %llu ]", &first, &last) != 2) {
        refuse(file, name, "is missing, or no tensor of F32");
    }
    for (; *shape != 0; shape++) {
        sizes += strcspn(sizes, "[,]") + 1;
        if (strtoull(sizes, &next, 10) != *shape) {
            refuse(file, name, "has another shape: these are another model's weights");
        }
        count *= *shape;
        sizes = next;
    }
    if (*sizes != ']' || last < first || last - first != count * sizeof(float)) {
        refuse(file, name, "has another shape: these are another model's weights");
    }
    if (first % sizeof(float) != 0) {
        refuse(file, name, "does not lie where floats may lie");
    }
    if (last > file->size) {
        refuse(file, name, "is not there whole: a part of the file is missing");
    }
    return (const float *)(const void *)(file->data + first);
}

#define TENSOR(name, ...) tensor(file, name, (const size_t[]){__VA_ARGS__, 0})

static kina_Model read_model(const File *file) {
    kina_Model model;
    model.embedding = TENSOR("embedding", TOKENS, WIDTH);
    model.layers.attention_norm = TENSOR("layers.attention_norm", LAYERS, WIDTH);
    model.layers.qkv = TENSOR("layers.qkv", LAYERS, WIDTH, 3, HEADS, COLUMNS);
    model.layers.out = TENSOR("layers.out", LAYERS, HEADS, COLUMNS, WIDTH);
    model.layers.mlp_norm = TENSOR("layers.mlp_norm", LAYERS, WIDTH);
    model.layers.up = TENSOR("layers.up", LAYERS, WIDTH, HIDDEN);
    model.layers.down = TENSOR("layers.down", LAYERS, HIDDEN, WIDTH);
    model.norm = TENSOR("norm", WIDTH);
    model.head = TENSOR("head", WIDTH, TOKENS);
    return model;
}

/* How a token is chosen; without a temperature it is the most likely one. */
typedef struct {
    float temperature;
    int64_t seed;
} Sampling;

static int64_t choose(const float *logits, Sampling how, int64_t number) {
    float u[TOKENS];
    int64_t token = 0, seed[2];
    if (how.temperature == 0) {
        check(kina_greedy(1, 1, TOKENS, logits, &token), "greedy");
        return token;
    }
    seed[0] = how.seed;
    seed[1] = number * TOKENS / 4; /* random numbers come in blocks of four */
    check(kina_uniform(seed, u), "uniform");
    check(kina_sample(1, 1, TOKENS, logits, u, &how.temperature, &token), "sample");
    return token;
}

int main(int argc, char **argv) {
    const int drawn = argc == 6;
    if (argc != 4 && !drawn) {
        fprintf(stderr, "usage: generate WEIGHTS PROMPT SIZE [TEMPERATURE SEED]\n");
        return 2;
    }
    const int64_t length = (int64_t)strlen(argv[2]), size = atol(argv[3]);
    const Sampling how = {drawn ? strtof(argv[4], NULL) : 0, drawn ? atoll(argv[5]) : 0};
    if (length < 1 || size < 1 || (drawn && !(how.temperature > 0))) {
        fprintf(stderr, "generate: expected a prompt, at least one byte, a temperature > 0\n");
        return 2;
    }
    if (length + size > CAPACITY) {
        fprintf(stderr, "generate: the prompt and what follows do not fit into a cache of %d\n",
                (int)CAPACITY);
        return 1;
    }
    const File file = open_file(argv[1]);
    const kina_Model model = read_model(&file);
    const size_t cached = (size_t)LAYERS * HEADS * CAPACITY * COLUMNS * sizeof(float);
    float *keys = allocate(cached), *values = allocate(cached);
    /* The cache that a call writes is the one that it reads: only new rows are touched. */
    const kina_Cache cache = {keys, values};
    const kina_Cache_out written = {keys, values};
    float *logits = allocate((size_t)length * TOKENS * sizeof(float));
    int64_t *prompt = allocate((size_t)length * sizeof(int64_t)), at = 0;
    for (int64_t i = 0; i < length; i++) {
        prompt[i] = (unsigned char)argv[2][i];
    }
    int32_t status = kina_prefill(1, CAPACITY, length, &model, &cache, prompt, &at, &written, logits);
    check(status, kina_prefill_message(status));
    int64_t token = choose(logits + (length - 1) * TOKENS, how, 0);
    for (int64_t number = 1; number < size; number++) {
        printf("%d ", (int)token);
        at = length + number - 1;
        status = kina_step(CAPACITY, &model, &cache, &token, &at, &written, logits);
        check(status, kina_step_message(status));
        token = choose(logits, how, number);
    }
    printf("%d\n", (int)token);
    return 0;
}
