// Products of a quantized matrix and a vector: y = W x.
//
// x is quantized in blocks of 32: x[i] = xd[i/32] * xq[i]. The products of the
// integers are summed exactly, and scaled in float32. Each wave computes one
// row; its lanes' sums are joined in a fixed order.

#include "device.h"

constexpr int ROWS = 4; // of a block: one for each wave

// A block of q8_0 has a half d, and 32 signed bytes. Four lanes share a block.
KERNEL(ROWS *WAVE)
matvec_q8_0(float *__restrict__ y, const uint8 *__restrict__ w, const int8 *__restrict__ xq, const float *__restrict__ xd, int rows,
            int columns) {
    constexpr int BLOCK = 34;
    int row = block_x() * ROWS + wave();
    if (row >= rows)
        return;
    int blocks = columns / 32, part = 8 * (lane() % 4);
    w += (long)row * blocks * BLOCK;
    float sum = 0;
    for (int b = lane() / 4; b < blocks; b += WAVE / 4) {
        const uint8 *p = w + (long)b * BLOCK;
        const uint8 *q = p + 2 + part, *x = (const uint8 *)xq + 32 * b + part;
        int dot = dot4(load4(q), load4(x), 0);
        dot = dot4(load4(q + 4), load4(x + 4), dot);
        sum = fma((float)*(const half *)p * xd[b], (float)dot, sum);
    }
    sum = join_wave<Sum>(sum);
    if (lane() == 0)
        y[row] = sum;
}

// A block of q4_K has halves d and dmin, eight scales and mins of 6 bits in 12
// bytes, and 128 bytes of two nibbles; 32 bytes are 64 elements, the first 32
// in the low nibbles. The wave takes a block at a time, each lane four bytes.
// Scales 0 to 3 are the low 6 bits of bytes 0 to 3, mins 0 to 3 those of bytes
// 4 to 7; 4 to 7 have their low 4 bits in bytes 8 to 11, and their upper two
// where the others leave off.
KERNEL(ROWS *WAVE)
matvec_q4_K(float *__restrict__ y, const uint8 *__restrict__ w, const int8 *__restrict__ xq, const float *__restrict__ xd, int rows,
            int columns) {
    constexpr int BLOCK = 144, ONES = 0x01010101;
    int row = block_x() * ROWS + wave();
    if (row >= rows)
        return;
    int blocks = columns / 256, group = lane() / 8;
    w += (long)row * blocks * BLOCK;
    float sum = 0;
    for (int b = 0; b < blocks; b++) {
        const uint8 *p = w + (long)b * BLOCK;
        uint4 head = *(const uint4 *)p; // the same in all lanes: a scalar load
        half2 d = __builtin_bit_cast(half2, head[0]);
        int q = *(const int *)(p + 16 + 4 * lane());
        const int8 *x = xq + 256 * b + 64 * group + 4 * (lane() % 8);
        float2 scale = *(const float2 *)(xd + 8 * b + 2 * group);
        for (int high = 0; high < 2; high++) {
            int shift = 16 * (group % 2) + 8 * high;
            uint32 s = head[1] >> shift, m = head[2] >> shift, rest = head[3] >> shift;
            s = group < 2 ? s & 63 : (rest & 15) | (s >> 2 & 48);
            m = group < 2 ? m & 63 : (rest >> 4 & 15) | (m >> 2 & 48);
            int v = *(const int *)(x + 32 * high);
            float t = (float)d[0] * (float)s * (float)dot4(q >> 4 * high & 0x0f0f0f0f, v, 0);
            t = fma(-((float)d[1] * (float)m), (float)dot4(ONES, v, 0), t);
            sum = fma(scale[high], t, sum);
        }
    }
    sum = join_wave<Sum>(sum);
    if (lane() == 0)
        y[row] = sum;
}
