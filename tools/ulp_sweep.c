/* Sweeps float32 inputs through kernels and compares with float64 libm. Built by ulp_sweep.py:
   ulp_sweep FUNCTION LOWEST LARGEST STRIDE THREADS LIBRARY...
   The first library is measured, the rest compared to it; inputs outside of the range become its
   ends. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096, MAX_LIBRARIES = 8 };
typedef void kernel(const float *, float *);

static kernel *kernels[MAX_LIBRARIES];
static double (*reference)(double);
static int libraries, threads;
static uint64_t stride;
static float lowest, largest;

typedef struct {
  int id;
  double worst;
  uint32_t worst_input;
  uint64_t inexact, wrong_special, different[MAX_LIBRARIES];
  uint32_t first_different[MAX_LIBRARIES];
} result;

static uint32_t bits_of(float x) { uint32_t u; memcpy(&u, &x, 4); return u; }
static float of_bits(uint32_t u) { float x; memcpy(&x, &u, 4); return x; }

/* The distance in units of the last place of a float32 near `exact`; infinity counts as 2^128. */
static double ulps(float y, double exact) {
  uint64_t u;
  memcpy(&u, &exact, 8);
  int exponent = (int)(u >> 52 & 0x7ff) - 1023;
  if (exponent < -126) exponent = -126;
  if (exponent > 127) exponent = 127;
  double clipped = fmin(exact, 0x1p128), value = isinf(y) ? copysign(0x1p128, y) : y;
  return fabs(value - clipped) * ldexp(1.0, 23 - exponent);
}

static void check(result *r, float x, float y) {
  double exact = reference(x);
  if (isnan(exact) || isinf(exact) || exact == 0) {
    int right = isnan(exact) ? isnan(y) : y == exact && !signbit(y) == !signbit(exact);
    if (!right && !r->wrong_special++) fprintf(stderr, "special: %a gives %a\n", x, y);
    return;
  }
  double error = ulps(y, exact);
  r->inexact += error > 0.5;
  if (!(error <= r->worst)) { r->worst = error; r->worst_input = bits_of(x); }
}

static void *sweep(void *argument) {
  result *r = argument;
  static _Thread_local float x[BLOCK], y[MAX_LIBRARIES][BLOCK];
  uint64_t count = ((uint64_t)1 << 32) / stride;
  for (uint64_t start = (uint64_t)r->id * BLOCK; start < count; start += (uint64_t)threads * BLOCK) {
    for (int i = 0; i < BLOCK; i++) {
      x[i] = of_bits((uint32_t)((start + i) * stride));
      if (x[i] < lowest) x[i] = lowest;
      if (x[i] > largest) x[i] = largest;
    }
    for (int k = 0; k < libraries; k++) kernels[k](x, y[k]);
    for (int i = 0; i < BLOCK; i++) check(r, x[i], y[0][i]);
    for (int k = 1; k < libraries; k++) {
      if (!memcmp(y[0], y[k], sizeof y[0])) continue;
      for (int i = 0; i < BLOCK; i++) {
        if (bits_of(y[0][i]) == bits_of(y[k][i]) || (isnan(y[0][i]) && isnan(y[k][i]))) continue;
        if (!r->different[k]++) r->first_different[k] = bits_of(x[i]);
      }
    }
  }
  return NULL;
}

static void merge(result *total, const result *part) {
  total->inexact += part->inexact;
  total->wrong_special += part->wrong_special;
  if (part->worst > total->worst) {
    total->worst = part->worst;
    total->worst_input = part->worst_input;
  }
  for (int k = 1; k < libraries; k++) {
    if (part->different[k]) total->first_different[k] = part->first_different[k];
    total->different[k] += part->different[k];
  }
}

static const struct { const char *name; double (*value)(double); } functions[] = {
  {"exp", exp}, {"log", log}, {"expm1", expm1}, {"log1p", log1p}, {"tanh", tanh}, {"erf", erf},
};

static double (*reference_of(const char *name))(double) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (!strcmp(functions[i].name, name)) return functions[i].value;
  return NULL;
}

int main(int argc, char **argv) {
  if (argc < 7 || argc - 6 > MAX_LIBRARIES) return 2;
  reference = reference_of(argv[1]);
  if (!reference) return 2;
  lowest = strtof(argv[2], NULL);
  largest = strtof(argv[3], NULL);
  stride = strtoull(argv[4], NULL, 0);
  threads = atoi(argv[5]);
  libraries = argc - 6;
  for (int k = 0; k < libraries; k++) {
    void *library = dlopen(argv[k + 6], RTLD_NOW);
    if (!library) { fprintf(stderr, "%s\n", dlerror()); return 2; }
    *(void **)&kernels[k] = dlsym(library, argv[1]);
  }
  pthread_t handles[64];
  static result parts[64];
  for (int i = 0; i < threads; i++) {
    parts[i].id = i;
    pthread_create(&handles[i], NULL, sweep, &parts[i]);
  }
  result total = {0};
  for (int i = 0; i < threads; i++) {
    pthread_join(handles[i], NULL);
    merge(&total, &parts[i]);
  }
  printf("worst %.4f %08x inexact %llu special %llu", total.worst, total.worst_input,
         (unsigned long long)total.inexact, (unsigned long long)total.wrong_special);
  for (int k = 1; k < libraries; k++)
    printf(" different %llu %08x", (unsigned long long)total.different[k], total.first_different[k]);
  printf("\n");
  return 0;
}
