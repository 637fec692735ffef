// Kernels with planted faults, for tests of the emulator.

#include "device.h"

// Copies n elements; the caller lies about n.
KERNEL(64) copy(float *__restrict__ y, const float *__restrict__ x, int n) {
    int i = block_x() * 64 + thread();
    if (i < n)
        y[i] = x[i];
}

// Reverses each 64 elements through LDS, with a barrier or without: the waves
// read what the other one writes.
template <bool BARRIER> DEVICE void reverse(float *y, const float *x) {
    SHARED static float part[64];
    int i = block_x() * 64;
    part[thread()] = 0;
    barrier();
    part[thread()] = x[i + thread()];
    if constexpr (BARRIER)
        barrier();
    y[i + thread()] = part[63 - thread()];
}
KERNEL(64) reverse_right(float *__restrict__ y, const float *__restrict__ x) { reverse<true>(y, x); }
KERNEL(64) reverse_no_barrier(float *__restrict__ y, const float *__restrict__ x) { reverse<false>(y, x); }

// Reads LDS that only the first n threads have written.
KERNEL(64) reverse_part(float *__restrict__ y, const float *__restrict__ x, int n) {
    SHARED static float part[64];
    if (thread() < n)
        part[thread()] = x[thread()];
    barrier();
    y[thread()] = part[63 - thread()];
}
