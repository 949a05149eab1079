/* Calls a library that `kina build` made, as any C program would. */
#include "nll.h"

#include <stdio.h>

int main(void) {
    static const float logits[2 * 3] = {1.0f, 2.0f, 3.0f, 0.0f, 0.0f, 0.0f};
    int64_t targets[2] = {2, 0};
    float loss[2];

    int32_t status = kina_nll(2, 3, logits, targets, loss);
    printf("%d %s %.6f %.6f\n", (int)status, kina_nll_message(status), loss[0], loss[1]);

    targets[1] = 3;
    status = kina_nll(2, 3, logits, targets, loss);
    printf("%d %s\n", (int)status, kina_nll_message(status));

    int32_t sum[1];
    uint8_t odd[1];
    status = kina_clash((const int32_t[]){4}, (const int32_t[]){5}, sum, odd);
    printf("%d %d %d\n", (int)status, (int)sum[0], (int)odd[0]);

    float minus[1];
    status = kina_scalar((const float[]){3.5f}, minus);
    printf("%d %.1f %s\n", (int)status, minus[0], kina_scalar_message_(77));
    return 0;
}
