/* Kina's loss from C: prints the loss of two rows, then the message of a check that fails. */
#include <stdio.h>

#include "libloss.h"

int main(void) {
    const float logits[2 * 4] = {0, 0, 0, 0, 1, 2, 3, 4};
    int64_t targets[2] = {0, 3};
    float loss[2];

    int32_t status = kina_nll(2, 4, logits, targets, loss);
    printf("%s: %.4f %.4f\n", kina_nll_message(status), loss[0], loss[1]);

    targets[1] = 4;
    status = kina_nll(2, 4, logits, targets, loss);
    printf("%s\n", kina_nll_message(status));
    return 0;
}
