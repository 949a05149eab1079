/* The memory of a WebAssembly library: linear memory is an array here, at an address of 32 bits. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PAGE = 65536, PAGES = 256, HELD = 100, TURNS = 20000 };

unsigned char __heap_base[PAGES * PAGE] __attribute__((aligned(65536)));
void *allocate(uint64_t bytes);
void release(void *memory);

static unsigned long used = 4;
unsigned long pages(void) { return (uintptr_t)__heap_base / PAGE + used; }
unsigned long grow(unsigned long more) {
    if (used + more > PAGES) return (unsigned long)-1;
    unsigned long before = pages();
    used += more;
    return before;
}

static uint32_t seed = 1;
static uint32_t drawn(uint32_t below) { return (seed = seed * 1664525 + 1013904223) / 65536 % below; }

/* Whether a block holds what was written to it. */
static int intact(const unsigned char *block, size_t bytes, unsigned char mark) {
    for (size_t at = 0; at < bytes; at++)
        if (block[at] != mark) return 0;
    return 1;
}

int main(void) {
    static unsigned char *blocks[HELD];
    static size_t sizes[HELD];
    int refused = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t i = drawn(HELD);
        if (blocks[i] && !intact(blocks[i], sizes[i], (unsigned char)i)) return puts("overlap"), 1;
        release(blocks[i]);
        sizes[i] = drawn(turn % 50 ? 5000 : 60000) * (turn % 50 ? 1 : 60);
        blocks[i] = allocate(sizes[i]);
        refused += !blocks[i];
        if ((uintptr_t)blocks[i] % 16) return puts("misaligned"), 1;
        if (blocks[i]) memset(blocks[i], (int)i, sizes[i]);
    }
    if (allocate(UINT64_MAX) || allocate(UINT32_MAX) || allocate(PAGES * PAGE)) return 2;
    for (int i = 0; i < HELD; i++) release(blocks[i]);
    if (!allocate((used - 1) * PAGE - 16)) return puts("what is free does not join"), 1;
    printf("%d\n", refused);
    return 0;
}
