// c = a bᵀ for matrices of half floats: a is m rows of k elements, b is n rows
// of k, c is m rows of n in float32. k is a multiple of 8.
//
// A block computes 64 by 64 elements, each of its four waves 32 by 32 of them.
// Pieces of 64 rows by 64 elements of a and b go through LDS. Products are of 16
// by 16 by 16: WMMA instructions where there are any (gfx11 and on), and dot2 on
// gfx1030. WMMA does not specify the order in which it sums.

#include "device.h"

constexpr int TILE = 64, STEP = 64, THREADS = 128;
constexpr int PITCH = STEP + 8; // of a row in LDS; moves rows to different banks
constexpr int FRAGMENT = 16;

#if defined(__GFX11__)
// All 16 elements of row lane%16, in both halves of the wave. Register i of a
// result is row 2*i + lane/16, column lane%16.
typedef half16 Fragment;
DEVICE Fragment fragment(const half *tile) { return *(const half16 *)(tile + lane() % 16 * PITCH); }
DEVICE int result_row(int i) { return 2 * i + lane() / 16; }
DEVICE float8 multiply(Fragment a, Fragment b, float8 c) { return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c); }
#elif defined(__GFX12__)
// Elements 8*(lane/16) and on of row lane%16. Register i of a result is row
// 8*(lane/16) + i, column lane%16.
typedef half8 Fragment;
DEVICE Fragment fragment(const half *tile) { return *(const half8 *)(tile + lane() % 16 * PITCH + lane() / 16 * 8); }
DEVICE int result_row(int i) { return lane() / 16 * 8 + i; }
DEVICE float8 multiply(Fragment a, Fragment b, float8 c) { return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c); }
#else
// The tile itself; results as on gfx12.
typedef const half *Fragment;
DEVICE Fragment fragment(const half *tile) { return tile; }
DEVICE int result_row(int i) { return lane() / 16 * 8 + i; }
DEVICE float8 multiply(Fragment a, Fragment b, float8 c) {
    for (int k = 0; k < FRAGMENT; k += 8) {
        half2 x[4], y[4];
        __builtin_memcpy(y, __builtin_assume_aligned(b + lane() % 16 * PITCH + k, 16), 16);
        for (int i = 0; i < 8; i++) {
            __builtin_memcpy(x, __builtin_assume_aligned(a + result_row(i) * PITCH + k, 16), 16);
            for (int j = 0; j < 4; j++)
                c[i] = __builtin_amdgcn_fdot2(x[j], y[j], c[i], false);
        }
    }
    return c;
}
#endif

// Copies 64 rows of 64 elements to LDS, zeros where the matrix ends. A thread
// copies eight elements at a time.
DEVICE void stage(half *tile, const half *matrix, int first, int rows, int at, int k) {
    for (int i = thread(); i < TILE * STEP / 8; i += THREADS) {
        int row = i / (STEP / 8), col = i % (STEP / 8) * 8;
        half8 x = 0;
        if (first + row < rows && at + col < k)
            x = *(const half8 *)(matrix + (long)(first + row) * k + at + col);
        *(half8 *)(tile + row * PITCH + col) = x;
    }
}

KERNEL(THREADS) gemm_f16(float *__restrict__ c, const half *__restrict__ a, const half *__restrict__ b, int m, int n, int k) {
    SHARED static half tile_a[TILE * PITCH] __attribute__((aligned(16)));
    SHARED static half tile_b[TILE * PITCH] __attribute__((aligned(16)));
    int row = block_y() * TILE, column = block_x() * TILE;
    int wave_row = wave() / 2 * 32, wave_column = wave() % 2 * 32;
    float8 sum[2][2] = {};
    for (int at = 0; at < k; at += STEP) {
        stage(tile_a, a, row, m, at, k);
        stage(tile_b, b, column, n, at, k);
        barrier();
#pragma clang loop unroll(disable) // the registers of more fragments would cost more than the loop
        for (int t = 0; t < STEP; t += FRAGMENT) {
            Fragment x[2], y[2];
            for (int i = 0; i < 2; i++) {
                x[i] = fragment(tile_a + (wave_row + FRAGMENT * i) * PITCH + t);
                y[i] = fragment(tile_b + (wave_column + FRAGMENT * i) * PITCH + t);
            }
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++)
                    sum[i][j] = multiply(x[i], y[j], sum[i][j]);
        }
        barrier();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int r = 0; r < 8; r++) {
                int to = row + wave_row + FRAGMENT * i + result_row(r);
                int col = column + wave_column + FRAGMENT * j + lane() % 16;
                if (to < m && col < n)
                    c[(long)to * n + col] = sum[i][j][r];
            }
}
