/* Calls functions of a compiled library, on any machine: replay LIBRARY PLAN INPUTS RESULTS.

   PLAN has a line for each call: the function's symbol; the number of its sizes, and the sizes; the
   number of its inputs, and the bytes of each; the same for its results. INPUTS holds the inputs of
   all calls one after another, RESULTS takes the results in the same way. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
/* Without start-up code: all that is needed comes with Windows. */
void *LoadLibraryA(const char *name);
void *GetProcAddress(void *library, const char *name);
int _configure_narrow_argv(int mode);
#define dlopen(name, flags) LoadLibraryA(name)
#define dlsym GetProcAddress
#define dlerror() "the library does not load"

static int scan(FILE *file, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int found = __stdio_common_vfscanf(0, file, format, NULL, arguments);
    va_end(arguments);
    return found;
}
#define fscanf scan
#define fprintf(file, format, text) fwrite(text, 1, strlen(text), file)

#define main driver
int main(int argc, char **argv);
void start(void) {
    _configure_narrow_argv(1);
    exit(main(__argc, __argv));
}
#else
#include <dlfcn.h>
#endif

#define MOST 24

/* Sizes and pointers travel alike on x86-64 and aarch64, and what a function does not expect is
   ignored, so one type will do for all. */
typedef intptr_t word;
typedef int32_t function(
    word, word, word, word, word, word, word, word, word, word, word, word,
    word, word, word, word, word, word, word, word, word, word, word, word);

static void check(int fine, const char *what) {
    if (fine) return;
    fprintf(stderr, "replay: %s\n", what);
    exit(1);
}

static FILE *open_file(const char *name, const char *mode) {
    FILE *file = fopen(name, mode);
    check(file != NULL, name);
    return file;
}

static int64_t number(FILE *plan) {
    int64_t value;
    check(fscanf(plan, "%" SCNd64, &value) == 1, "a number is missing in the plan");
    return value;
}

static int64_t count(FILE *plan, int used) {
    int64_t value = number(plan);
    check(value >= 0 && value <= MOST - used, "too many arguments");
    return value;
}

/* A block of the size that the plan says: filled with the next input, or with what no result is. */
static word block(FILE *plan, FILE *inputs, size_t *bytes) {
    *bytes = (size_t)number(plan);
    void *start = malloc(*bytes);
    check(start != NULL, "no memory");
    if (inputs != NULL)
        check(fread(start, 1, *bytes, inputs) == *bytes, "the inputs end too early");
    else
        memset(start, 0xa5, *bytes);
    return (word)start;
}

static void replay(function *called, const char *symbol, FILE *plan, FILE *inputs, FILE *results) {
    word a[MOST] = {0};
    size_t bytes[MOST];
    int used = 0;
    for (int64_t left = count(plan, used); left > 0; left--) a[used++] = (word)number(plan);
    int first_input = used;
    for (int64_t left = count(plan, used); left > 0; left--, used++)
        a[used] = block(plan, inputs, &bytes[used]);
    int first_result = used;
    for (int64_t left = count(plan, used); left > 0; left--, used++)
        a[used] = block(plan, NULL, &bytes[used]);
    int32_t status = called(
        a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
        a[12], a[13], a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23]);
    check(status == 0, symbol);
    for (int i = first_result; i < used; i++)
        check(fwrite((void *)a[i], 1, bytes[i], results) == bytes[i], "a result is not written");
    for (int i = first_input; i < used; i++) free((void *)a[i]);
}

int main(int argc, char **argv) {
    check(argc == 5, "replay LIBRARY PLAN INPUTS RESULTS");
    void *library = dlopen(argv[1], RTLD_NOW);
    if (library == NULL) check(0, dlerror());
    FILE *plan = open_file(argv[2], "r");
    FILE *inputs = open_file(argv[3], "rb"), *results = open_file(argv[4], "wb");
    char symbol[256];
    while (fscanf(plan, "%255s", symbol) == 1) {
        void *found = dlsym(library, symbol);
        function *called;
        memcpy(&called, &found, sizeof called);
        check(called != NULL, symbol);
        replay(called, symbol, plan, inputs, results);
    }
    check(fclose(results) == 0, "the results are not written");
    return 0;
}
