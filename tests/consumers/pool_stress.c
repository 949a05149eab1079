/* Everything that may happen to the pool of threads: one scenario for each word given.
 *
 * The pool is part of this file, so that sanitizers see it and its inner functions can be called.
 */
#include "pool.c"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define CHECK(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #what); \
            _exit(1); \
        } \
    } while (0)

enum { PARTS = 16, TURNS = 2000, CALLERS = 6 };

struct sums {
    int64_t inputs[PARTS], results[PARTS], parts, times[PARTS];
};

/* Squares one of the inputs; no two parts write the same memory. */
static void square(void *context, int64_t part, int64_t parts) {
    struct sums *sums = context;
    if (part == 0) sums->parts = parts;
    sums->times[part]++;
    sums->results[part] = sums->inputs[part] * sums->inputs[part];
}

/* One region; its results are there when it returns. */
static int64_t region(int64_t wanted, int64_t seed) {
    struct sums sums = {0};
    for (int64_t part = 0; part < PARTS; part++) sums.inputs[part] = seed + part;
    kina$run(square, &sums, wanted);
    CHECK(1 <= sums.parts && sums.parts <= (wanted > 1 ? wanted : 1));
    for (int64_t part = 0; part < PARTS; part++) {
        CHECK(sums.times[part] == (part < sums.parts));
        int64_t input = seed + part;
        CHECK(sums.results[part] == (part < sums.parts ? input * input : 0));
    }
    return sums.parts;
}

static int threads_here(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    if (folder == NULL) return 0;
    for (struct dirent *entry; (entry = readdir(folder));) count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void parts(void) {
    CHECK(kina_set_threads(PARTS) == PARTS);
    for (int64_t wanted = -1; wanted <= PARTS; wanted++)
        CHECK(region(wanted, wanted) == (wanted < 1 ? 1 : wanted));
    CHECK(kina_set_threads(3) == 3);
    CHECK(region(PARTS, 1) == 3);
    CHECK(kina_set_threads(1) == 1);
    CHECK(region(PARTS, 1) == 1);
    CHECK(kina_set_threads(1 << 30) == MOST);
}

static void meet(void *context, int64_t part, int64_t parts) {
    _Atomic int64_t *here = context;
    (void)part;
    atomic_fetch_add(here, 1);
    while (*here < parts) usleep(10);
}

/* All parts at the same time: none ends before all have begun. */
static void together(void) {
    kina_set_threads(4);
    for (int turn = 0; turn < 20; turn++) {
        _Atomic int64_t here = 0;
        kina$run(meet, (void *)&here, 4);
        CHECK(here == 4);
    }
    CHECK(threads_here() == 0 || threads_here() >= 4);
}

static void *caller(void *argument) {
    int64_t seed = (int64_t)(intptr_t)argument, shared = 0;
    for (int64_t turn = 0; turn < TURNS; turn++) shared += region(1 + turn % 5, seed + turn) > 1;
    return (void *)(intptr_t)shared;
}

/* Many callers at once: one has the workers, the others run alone. */
static void callers(void) {
    pthread_t threads[CALLERS];
    int64_t shared = 0;
    kina_set_threads(4);
    for (intptr_t i = 0; i < CALLERS; i++)
        CHECK(pthread_create(&threads[i], NULL, caller, (void *)(i * 1000)) == 0);
    for (int i = 0; i < CALLERS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        shared += (intptr_t)result;
    }
    CHECK(shared > 0);
    CHECK(hired == 3);
    CHECK(region(4, 1) == 4);
}

static void asleep(void) {
    kina_set_threads(4);
    for (int turn = 0; turn < 20; turn++) {
        CHECK(region(4, turn) == 4);
        usleep(2000);
    }
}

static void inner(void *context, int64_t part, int64_t parts) {
    struct sums sums = {0};
    (void)part;
    kina$run(square, &sums, 4);
    atomic_fetch_add((_Atomic int64_t *)context, sums.parts * 100 + parts);
}

static void nested(void) {
    _Atomic int64_t total = 0;
    kina_set_threads(4);
    kina$run(inner, (void *)&total, 4);
    CHECK(total == 4 * 104);
}

static _Atomic int over;

static void *busy(void *argument) {
    (void)argument;
    while (!over) region(3, 1);
    return NULL;
}

/* A child has none of the threads, and makes its own; also while another thread used the pool. */
static void forks(void) {
    pthread_t other;
    kina_set_threads(3);
    region(3, 1);
    for (int turn = 0; turn < 40; turn++) {
        if (turn == 10) CHECK(pthread_create(&other, NULL, busy, NULL) == 0);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            if (turn % 2) exit(0);
            for (int64_t i = 0; i < 20; i++) CHECK(region(3, i) == 3);
            exit(threads_here() == 3 ? 0 : 2);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
    over = 1;
    pthread_join(other, NULL);
    region(3, 1);
}

/* What this limit leaves: nothing but the caller; then nothing for a while, and all again. */
static void limited(void) {
    struct rlimit all, none = {0, 0};
    kina_set_threads(3);
    CHECK(getrlimit(RLIMIT_AS, &all) == 0);
    none.rlim_max = all.rlim_max;
    CHECK(setrlimit(RLIMIT_AS, &none) == 0);
    CHECK(region(3, 1) == 1);
    CHECK(setrlimit(RLIMIT_AS, &all) == 0);
    for (int turn = 1; turn < DISCOURAGED; turn++) CHECK(region(3, turn) == 1);
    CHECK(region(3, 1) == 3);
}

static void read_settings(void *context, int64_t part, int64_t parts) {
    (void)parts;
    ((uint64_t *)context)[part] = arithmetic();
}

/* Workers round as their caller does, whatever it was that made them. */
static void settings(void) {
    uint64_t seen[4], usual = arithmetic();
    kina_set_threads(4);
    region(4, 1);
#if defined(__x86_64__)
    set_arithmetic(usual ^ 0xe000); /* the other rounding, subnormals flushed */
#endif
    for (int turn = 0; turn < 2; turn++) {
        uint64_t now_set = arithmetic();
        for (int i = 0; i < 100; i++) {
            kina$run(read_settings, seen, 4);
            for (int part = 0; part < 4; part++) CHECK(seen[part] == now_set);
        }
        set_arithmetic(usual);
    }
}

struct masks {
    _Atomic int64_t here;
    sigset_t masks[4];
};

static void read_mask(void *context, int64_t part, int64_t parts) {
    struct masks *masks = context;
    meet((void *)&masks->here, part, parts);
    pthread_sigmask(SIG_SETMASK, NULL, &masks->masks[part]);
}

/* Signals of the program stay with the program's threads. */
static void signals(void) {
    struct masks seen = {0};
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    kina_set_threads(4);
    kina$run(read_mask, &seen, 4);
    for (int part = 1; part < 4; part++) {
        CHECK(sigismember(&seen.masks[part], SIGINT));
        CHECK(!sigismember(&seen.masks[part], SIGSEGV));
    }
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    CHECK(sigismember(&after, SIGINT) == sigismember(&before, SIGINT));
}

static void *endless(void *argument) {
    (void)argument;
    for (;;) {
        region(4, 1);
        pthread_testcancel();
    }
    return NULL;
}

/* A cancelled caller leaves the pool to others. */
static void cancelled(void) {
    kina_set_threads(4);
    for (int turn = 0; turn < 20; turn++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, endless, NULL) == 0);
        usleep(500);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
        CHECK(region(4, turn) == 4);
    }
}

/* The process ends while a thread computes. */
static void exits(void) {
    pthread_t thread;
    kina_set_threads(4);
    CHECK(pthread_create(&thread, NULL, busy, NULL) == 0);
    usleep(2000);
}

static void *first_region(void *argument) {
    (void)argument;
    CHECK(region(PARTS, 1) >= 1);
    return NULL;
}

/* The first call may come from a thread with the least stack that there is. */
static void small_stack(void) {
    pthread_t thread;
    pthread_attr_t least;
    pthread_attr_init(&least);
    CHECK(pthread_attr_setstacksize(&least, 16 << 10) == 0);
    CHECK(pthread_create(&thread, &least, first_region, NULL) == 0);
    pthread_join(thread, NULL);
}

/* What the test compares with the limits that it made. */
static void numbers(void) {
    int64_t paid = quota(), none = INT64_MAX;
    printf("%lld ", paid == none ? 0 : (long long)paid);
    printf("%lld %lld\n", (long long)usable_cpus(), (long long)kina$threads());
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"parts", parts},       {"together", together}, {"callers", callers}, {"asleep", asleep},
    {"nested", nested},     {"forks", forks},       {"limited", limited}, {"settings", settings},
    {"signals", signals},   {"cancelled", cancelled}, {"exits", exits},   {"numbers", numbers},
    {"small_stack", small_stack},
};

int main(int count, char **names) {
    for (int i = 1; i < count; i++) {
        int known = 0;
        for (size_t s = 0; s < sizeof scenarios / sizeof *scenarios; s++) {
            if (strcmp(names[i], scenarios[s].name) != 0) continue;
            known = 1;
            scenarios[s].run();
        }
        CHECK(known);
    }
    return 0;
}
