/* What WebAssembly gives to `wasm.c`, on this machine. */
unsigned long pages(void);
unsigned long grow(unsigned long more);
#define __builtin_wasm_memory_size(index) pages()
#define __builtin_wasm_memory_grow(index, more) grow(more)
#define __asm__(name)
