/* Memory of a WebAssembly library, which has no libc: what lies behind the stack and the constants.
 *
 * Free blocks form a list in the order of their addresses; neighbours join. The first that is large
 * enough is taken, and the memory grows where there is none. No memory is an answer: NULL.
 */
typedef __SIZE_TYPE__ size;
typedef __UINT64_TYPE__ wide;

enum { HEAD = 16, PAGE = 65536 };

struct block {
    size bytes; /* with this head; a multiple of 16 */
    struct block *next;
};

extern unsigned char __heap_base;
static struct block *list;
static wide top; /* the end of all blocks; 0: not known yet */

/* Compiled functions ask for 64 bits of bytes. */
__attribute__((visibility("default"))) void *allocate(wide bytes) __asm__("malloc");
__attribute__((visibility("default"))) void release(void *memory) __asm__("free");

static int grown(wide end) {
    wide have = (wide)__builtin_wasm_memory_size(0) * PAGE;
    if (end <= have) return 1;
    return __builtin_wasm_memory_grow(0, (size)((end - have + PAGE - 1) / PAGE)) != (size)-1;
}

void *allocate(wide bytes) {
    if (bytes >= 0xffff0000u) return 0;
    wide need = (bytes + HEAD + 15) & ~(wide)15;
    for (struct block **at = &list; *at; at = &(*at)->next) {
        struct block *found = *at;
        if (found->bytes < need) continue;
        if (found->bytes - need < 2 * HEAD) {
            *at = found->next;
            return (char *)found + HEAD;
        }
        struct block *rest = (struct block *)((char *)found + (size)need);
        rest->bytes = found->bytes - (size)need;
        rest->next = found->next;
        found->bytes = (size)need;
        *at = rest;
        return (char *)found + HEAD;
    }
    if (top == 0) top = ((size)&__heap_base + 15) & ~(size)15;
    if (top + need > 0xffff0000u || !grown(top + need)) return 0;
    struct block *made = (struct block *)(size)top;
    made->bytes = (size)need;
    top += need;
    return (char *)made + HEAD;
}

static int joined(struct block *first, struct block *second) {
    if (!first || (char *)first + first->bytes != (char *)second) return 0;
    first->bytes += second->bytes;
    first->next = second->next;
    return 1;
}

void release(void *memory) {
    if (!memory) return;
    struct block *mine = (struct block *)((char *)memory - HEAD), *before = 0;
    struct block **at = &list;
    while (*at && *at < mine) at = &(before = *at)->next;
    mine->next = *at;
    *at = mine;
    if (mine->next) joined(mine, mine->next);
    joined(before, mine);
}
