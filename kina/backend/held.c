/* Memory that stays with a call; only libraries with a fold contain this file.
 *
 * Each layer of a fold wants the same temporaries as the one before it. Given back to the system
 * after each layer, they would come as new pages, which are zeroed and found one by one: a fifth of
 * the time of a layer. So between kina$hold() and kina$release() of a thread, what it gives back is
 * kept, and taken again by who wants as much. Nothing is kept when the last one releases.
 *
 * Whose memory it is stands in a table. Variables that threads have of their own would come from
 * malloc when a thread first uses them, and where there is no memory, the process would end. Calls
 * that find no place in the table keep nothing.
 */
#include <stddef.h>
#include <stdint.h>
#ifdef __wasm__
/* No libc, and a heap that takes 64 bits of bytes. */
void *allocate(uint64_t bytes) __asm__("malloc");
void release(void *memory) __asm__("free");
#define malloc allocate
#define free release
#else
#if !defined(__linux__) && !defined(_WIN32)
#include <pthread.h>
#endif
#include <stdlib.h>
#endif

/* Weak: two libraries in one static link use the functions that the first brings along. */
#define INTERNAL __attribute__((weak, visibility("hidden")))

INTERNAL void kina$hold(void);
INTERNAL void kina$release(void);
INTERNAL void *kina$take(int64_t bytes);
INTERNAL void kina$give(void *memory);

enum {
    LINE = 64,
    CALLS = 32, /* that keep memory at a time */
};

/* Lies before the memory, whose beginning is aligned. */
struct block {
    struct block *next;
    void *start; /* of what malloc gave */
    int64_t bytes;
};

struct held {
    uintptr_t thread; /* whose it is; 0: nobody's */
    int64_t depth;
    struct block *first, *last; /* in the order in which they were given back, and are wanted again */
} __attribute__((aligned(LINE)));
/* One for all that is weak here: it, too, may be that of another library. */
extern struct held kina$held[CALLS] __attribute__((visibility("hidden")));
__attribute__((weak)) struct held kina$held[CALLS];

/* What tells this thread from all others; nothing of libc is needed for it. 0 where nothing does. */
static uintptr_t this_thread(void) {
#if defined(__wasm__)
    return 1;
#elif defined(_WIN32)
    return 0;
#elif defined(__linux__) && defined(__x86_64__)
    uintptr_t pointer;
    __asm__("movq %%fs:0, %0" : "=r"(pointer));
    return pointer;
#elif defined(__linux__)
    return (uintptr_t)__builtin_thread_pointer();
#else
    return (uintptr_t)pthread_self();
#endif
}

static struct held *mine(void) {
    const uintptr_t self = this_thread();
    for (int i = 0; self && i < CALLS; i++)
        if (__atomic_load_n(&kina$held[i].thread, __ATOMIC_RELAXED) == self) return &kina$held[i];
    return NULL;
}

/* A place in the table for this thread, if there is one. */
static struct held *new_place(void) {
    const uintptr_t self = this_thread();
    for (int i = 0; self && i < CALLS; i++) {
        uintptr_t nobody = 0;
        if (__atomic_compare_exchange_n(&kina$held[i].thread, &nobody, self, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return &kina$held[i];
    }
    return NULL;
}

void kina$hold(void) {
    struct held *held = mine();
    if (!held) held = new_place();
    if (held) held->depth++;
}

void kina$release(void) {
    struct held *held = mine();
    if (!held || --held->depth > 0) return;
    for (struct block *block = held->first, *next; block; block = next) {
        next = block->next;
        free(block->start);
    }
    held->first = held->last = NULL;
    __atomic_store_n(&held->thread, 0, __ATOMIC_RELEASE);
}

static struct block *kept(struct held *held, int64_t bytes) {
    struct block *before = NULL, *block = held->first;
    while (block && block->bytes != bytes) before = block, block = block->next;
    if (!block) return NULL;
    *(before ? &before->next : &held->first) = block->next;
    if (held->last == block) held->last = before;
    return block;
}

/* NULL if there is no memory. */
void *kina$take(int64_t bytes) {
    struct held *held = mine();
    struct block *block = held ? kept(held, bytes) : NULL;
    if (block) return (char *)block + LINE;
    const size_t more = 2 * LINE - 1;
    if ((uint64_t)bytes > PTRDIFF_MAX - more) return NULL;
    char *start = malloc((size_t)bytes + more);
    if (!start) return NULL;
    char *memory = start + LINE;
    memory += -(uintptr_t)memory % LINE;
    block = (struct block *)(memory - LINE);
    block->start = start;
    block->bytes = bytes;
    return memory;
}

void kina$give(void *memory) {
    if (!memory) return;
    struct held *held = mine();
    struct block *block = (struct block *)((char *)memory - LINE);
    if (!held) {
        free(block->start);
        return;
    }
    block->next = NULL;
    if (held->last) held->last->next = block;
    else held->first = block;
    held->last = block;
}
