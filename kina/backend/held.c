/* Memory that stays with a call; only libraries with a fold contain this file.
 *
 * Each layer of a fold wants the same temporaries as the one before it. Given back to the system
 * after each layer, they would come as new pages, which are zeroed and found one by one: a fifth of
 * the time of a layer. So between kina$hold() and kina$release() of a thread, what it gives back is
 * kept, and taken again by who wants as much. Nothing is kept when the last one releases.
 */
#include <stddef.h>
#include <stdint.h>
#ifdef __wasm__
/* One thread, no libc, and a heap that takes 64 bits of bytes. */
#define _Thread_local
void *allocate(uint64_t bytes) __asm__("malloc");
void release(void *memory) __asm__("free");
#define malloc allocate
#define free release
#else
#include <stdlib.h>
#endif

/* Weak: two libraries in one static link use the functions that the first brings along. */
#define INTERNAL __attribute__((weak, visibility("hidden")))

INTERNAL void kina$hold(void);
INTERNAL void kina$release(void);
INTERNAL void *kina$take(int64_t bytes);
INTERNAL void kina$give(void *memory);

enum { LINE = 64 };

/* Lies before the memory, whose beginning is aligned. */
struct block {
    struct block *next;
    void *start; /* of what malloc gave */
    int64_t bytes;
};

/* One for all that is weak here: it, too, may be that of another library. */
struct held {
    int64_t depth;
    struct block *first, *last; /* in the order in which they were given back, and are wanted again */
};
#ifdef _WIN32
/* What threads have of their own needs start-up code there: nothing is kept, and nothing is shared. */
static struct held kina$held;
void kina$hold(void) {}
void kina$release(void) {}
#else
extern _Thread_local struct held kina$held __attribute__((visibility("hidden")));
__attribute__((weak)) _Thread_local struct held kina$held;

void kina$hold(void) { kina$held.depth++; }

void kina$release(void) {
    struct held *held = &kina$held;
    if (--held->depth > 0) return;
    for (struct block *block = held->first, *next; block; block = next) {
        next = block->next;
        free(block->start);
    }
    held->first = held->last = NULL;
}
#endif

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
    struct block *block = kept(&kina$held, bytes);
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
    struct held *held = &kina$held;
    struct block *block = (struct block *)((char *)memory - LINE);
    if (held->depth == 0) {
        free(block->start);
        return;
    }
    block->next = NULL;
    if (held->last) held->last->next = block;
    else held->first = block;
    held->last = block;
}
