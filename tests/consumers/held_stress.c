/* What holds memory from call to call, used by more threads at once than it has places for. */
#include "held.c"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = CALLS + 8, TURNS = 200, LAYERS = 4, BLOCKS = 3 };

/* Layers of a fold within a fold; each fills what it has taken, and finds it as it left it. */
static int layers(int depth, unsigned char mark) {
    int wrong = 0;
    kina$hold();
    for (int layer = 0; layer < LAYERS; layer++) {
        unsigned char *taken[BLOCKS];
        for (int i = 0; i < BLOCKS; i++) {
            int64_t bytes = 100 * (i + 1) + depth;
            taken[i] = kina$take(bytes);
            if (!taken[i] || (uintptr_t)taken[i] % LINE) return 1;
            memset(taken[i], mark + i, (size_t)bytes);
        }
        if (depth > 0) wrong |= layers(depth - 1, mark + BLOCKS);
        for (int i = BLOCKS; i-- > 0;) {
            int64_t bytes = 100 * (i + 1) + depth;
            for (int64_t at = 0; at < bytes; at++) wrong |= taken[i][at] != (unsigned char)(mark + i);
            kina$give(taken[i]);
        }
    }
    kina$release();
    return wrong;
}

static void *call(void *argument) {
    int wrong = 0;
    for (int turn = 0; turn < TURNS; turn++) wrong |= layers(2, (unsigned char)(uintptr_t)argument);
    return (void *)(uintptr_t)wrong;
}

int main(void) {
    pthread_t threads[THREADS];
    int wrong = kina$take(-1) != NULL || kina$take(INT64_MAX) != NULL;
    kina$give(NULL);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, call, (void *)i)) return 2;
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong |= result != NULL;
    }
    for (int i = 0; i < CALLS; i++) wrong |= kina$held[i].thread != 0 || kina$held[i].first != NULL;
    if (wrong) puts("memory is not as it was left");
    return wrong;
}
