/* The threads of a compiled library; only libraries that use threads contain this file.
 *
 * kina$run(task, context, wanted) calls task(context, part, parts) once for each part from 0 to
 * parts - 1, and returns when all are done. The caller does part 0, worker n does part n; a part
 * whose worker has not begun when the caller is done with its own, the caller takes over. So
 * nobody waits for a thread that sleeps, that another program keeps off the CPU, or that a fork
 * has left behind. The number of parts never depends on any of that, except that a call without
 * workers has one part: where none can be made, where another thread is using them, in a task.
 *
 * Workers are made when they are first needed, wait for a while by looking and then sleep, and end
 * when the library is closed. They belong to one process: the child of a fork makes its own.
 */
#ifdef __linux__
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "limit.h"

/* The function that a program calls to set the number of threads. */
#ifndef KINA_SET_THREADS
#define KINA_SET_THREADS kina_set_threads
#endif

/* Weak: two libraries in one static link use the pool that the first brings along. */
#define INTERNAL __attribute__((weak, visibility("hidden")))
#define EXPORTED __attribute__((weak, visibility("default")))

typedef void kina_task(void *context, int64_t part, int64_t parts);
INTERNAL int64_t kina$threads(void);
INTERNAL int32_t kina$set_threads(int32_t count);
INTERNAL void kina$run(kina_task *task, void *context, int64_t wanted);
EXPORTED int32_t KINA_SET_THREADS(int32_t count);

enum {
    MOST = 256,          /* threads of a call */
    STACK = 256 << 10,   /* bytes of a worker's stack */
    PATIENCE = 50000,    /* nanoseconds of looking, about what it takes to wake a thread */
    LOOKS = 32,          /* between two looks at the clock */
    DISCOURAGED = 1000,  /* calls without a new attempt after no worker could be made */
};

/* ---- How many threads ---- */

static _Atomic int64_t limit, cpus; /* 0: not known yet */

static int64_t known_cpus(void) {
    int64_t count = atomic_load_explicit(&cpus, memory_order_relaxed);
    if (count == 0) atomic_store(&cpus, count = usable_cpus());
    return count;
}

static void set_limit(int64_t count) {
    if (count <= 0) count = threads_asked_for();
    if (count <= 0) count = known_cpus();
    atomic_store(&limit, count < MOST ? count : MOST);
}

/* The most threads that a call may use. */
int64_t kina$threads(void) {
    int64_t count = atomic_load_explicit(&limit, memory_order_relaxed);
    if (count != 0) return count;
    set_limit(0);
    return atomic_load(&limit);
}

int32_t kina$set_threads(int32_t count) {
    set_limit(count);
    return (int32_t)kina$threads();
}

int32_t KINA_SET_THREADS(int32_t count) { return kina$set_threads(count); }

/* ---- Rounding, and whether subnormals are kept: workers compute as their caller does ---- */

#if defined(__x86_64__)
enum { RAISED = 0x3f }; /* exceptions that were raised are no settings */
static uint64_t arithmetic(void) { return __builtin_ia32_stmxcsr() & ~(unsigned)RAISED; }
static void set_arithmetic(uint64_t settings) { __builtin_ia32_ldmxcsr((unsigned)settings); }
#elif defined(__aarch64__)
static uint64_t arithmetic(void) {
    uint64_t settings;
    __asm__ volatile("mrs %0, fpcr" : "=r"(settings));
    return settings;
}
static void set_arithmetic(uint64_t settings) { __asm__ volatile("msr fpcr, %0" : : "r"(settings)); }
#else
static uint64_t arithmetic(void) { return 0; }
static void set_arithmetic(uint64_t settings) { (void)settings; }
#endif

/* ---- Gates: one thread waits until a word is zero, or is not ---- */

struct gate {
    _Alignas(64) atomic_uint word;
    atomic_uint asleep;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void gate_init(struct gate *gate) {
    atomic_store(&gate->word, 0);
    atomic_store(&gate->asleep, 0);
    pthread_mutex_init(&gate->mutex, NULL);
    pthread_cond_init(&gate->changed, NULL);
}

static int is_up(struct gate *gate) { return atomic_load(&gate->word) != 0; }

/* Looks at the word for so long; returns whether it became what is wanted. */
static int seen(struct gate *gate, int up, int64_t patience) {
    int64_t end = 0, time = 0;
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (is_up(gate) == up) return 1;
            if (patience == 0) return 0;
            relax();
        }
        time = now();
        if (end == 0) end = time + patience;
    } while (time < end);
    return 0;
}

static void await(struct gate *gate, int up, int64_t patience) {
    if (seen(gate, up, patience)) return;
    pthread_mutex_lock(&gate->mutex);
    atomic_store(&gate->asleep, 1);
    while (is_up(gate) != up) pthread_cond_wait(&gate->changed, &gate->mutex);
    atomic_store(&gate->asleep, 0);
    pthread_mutex_unlock(&gate->mutex);
}

/* After a change of the word. Either the sleeper sees the change, or this its sleep. */
static void call(struct gate *gate) {
    if (!atomic_load(&gate->asleep)) return;
    pthread_mutex_lock(&gate->mutex);
    pthread_cond_signal(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
}

/* ---- Workers ---- */

enum { IDLE, OPEN, END }; /* the words of a worker's gate */

struct worker {
    struct gate gate;
    pthread_t thread;
};

/* Written by whoever holds the pool, while every worker is idle. */
static struct {
    kina_task *task;
    void *context;
    int64_t parts, patience;
    uint64_t arithmetic;
} job;

static struct worker workers[MOST]; /* number 0 is the caller */
static struct gate done;            /* counts the parts that others have to do */
static int64_t hired, discouraged;
static _Atomic uint64_t holder; /* of the pool: twice the process, and 1 while a call uses it */

static int claim(struct worker *worker) {
    unsigned open = OPEN;
    return atomic_compare_exchange_strong(&worker->gate.word, &open, IDLE);
}

static void *work(void *argument) {
    struct worker *me = argument;
    int64_t patience = PATIENCE;
    for (;;) {
        await(&me->gate, 1, patience);
        if (atomic_load(&me->gate.word) == END) return NULL;
        if (!claim(me)) continue;
        set_arithmetic(job.arithmetic);
        job.task(job.context, me - workers, job.parts);
        patience = job.patience;
        if (atomic_fetch_sub(&done.word, 1) == 1) call(&done);
    }
}

/* A thread that takes no signals of the program's, but for its own faults. */
static int create(struct worker *worker) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    sigset_t none, before;
    pthread_attr_t small;
    sigfillset(&none);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&none, faults[i]);
    pthread_sigmask(SIG_SETMASK, &none, &before);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    int failed = pthread_create(&worker->thread, &small, work, worker);
    /* Large thread-local variables of the program may not fit there. */
    if (failed == EINVAL) failed = pthread_create(&worker->thread, NULL, work, worker);
    pthread_attr_destroy(&small);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed;
}

/* Makes workers that are missing; returns how many of the wanted there are. */
static int64_t hire(int64_t wanted) {
    if (discouraged > 0) discouraged--;
    while (hired < wanted && discouraged == 0) {
        struct worker *next = &workers[hired + 1];
        gate_init(&next->gate);
        if (create(next)) hired++;
        else discouraged = DISCOURAGED;
    }
    return hired < wanted ? hired : wanted;
}

/* ---- The pool ---- */

/* Whether the caller may use the workers now; if so, nobody else may until it leaves. */
static int enter(void) {
    uint64_t ours = (uint64_t)getpid() << 1, was = atomic_load(&holder);
    if (was == (ours | 1)) return 0;
    if (!atomic_compare_exchange_strong(&holder, &was, ours | 1)) return 0;
    if (was != ours) { /* the first call of this process: after a fork, its parent's are gone */
        hired = discouraged = 0;
        gate_init(&done);
    }
    return 1;
}

static void leave(void) { atomic_fetch_sub(&holder, 1); }

static void share(kina_task *task, void *context, int64_t parts) {
    job.task = task;
    job.context = context;
    job.parts = parts;
    job.patience = parts <= known_cpus() ? PATIENCE : 0;
    job.arithmetic = arithmetic();
    atomic_store(&done.word, (unsigned)parts - 1);
    for (int64_t part = 1; part < parts; part++) {
        atomic_store(&workers[part].gate.word, OPEN);
        call(&workers[part].gate);
    }
    task(context, 0, parts);
    for (int64_t part = parts - 1; part > 0; part--) {
        if (!claim(&workers[part])) continue;
        task(context, part, parts);
        atomic_fetch_sub(&done.word, 1);
    }
    await(&done, 0, job.patience);
}

void kina$run(kina_task *task, void *context, int64_t wanted) {
    int cancellation;
    int64_t most = kina$threads();
    if (wanted > most) wanted = most;
    if (wanted < 2 || !enter()) {
        task(context, 0, 1);
        return;
    }
    /* A caller that is cancelled while it waits would leave workers with its memory. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    int64_t parts = 1 + hire(wanted - 1);
    if (parts > 1) share(task, context, parts);
    else task(context, 0, 1);
    leave();
    pthread_setcancelstate(cancellation, NULL);
}

/* The library is closed, or the process ends; who calls now, from another thread, runs alone. */
__attribute__((destructor)) static void dismiss(void) {
    if (!enter()) return; /* another thread computes while the process ends */
    for (int64_t i = 1; i <= hired; i++) {
        atomic_store(&workers[i].gate.word, END);
        call(&workers[i].gate);
    }
    for (int64_t i = 1; i <= hired; i++) pthread_join(workers[i].thread, NULL);
}
