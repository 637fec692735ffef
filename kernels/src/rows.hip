// Operations on rows of float32, a block for each row.

#include "device.h"

constexpr int THREADS = 256, WAVES = THREADS / WAVE;

// y = x / sqrt(mean(x²) + eps) * weight
//
// Biao Zhang and Rico Sennrich, "Root Mean Square Layer Normalization", 2019.
KERNEL(THREADS) rms_norm(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ weight, float eps, int columns) {
    SHARED static float part[WAVES];
    long row = (long)block_x() * columns;
    float sum = 0;
    for (int i = thread(); i < columns; i += THREADS)
        sum = fma(x[row + i], x[row + i], sum);
    sum = join_block<Sum, WAVES>(sum, part);
    float scale = 1.0f / __builtin_sqrtf(sum / (float)columns + eps);
    for (int i = thread(); i < columns; i += THREADS)
        y[row + i] = x[row + i] * scale * weight[i];
}

// e^x for x from 0 down, the formula and the bits of internal/f32.Exp.
DEVICE float exp_negative(float x) {
    float t = fma(x, 0x1.715476p0f, 0x1.8p23f);
    float n = t - 0x1.8p23f;
    float r = fma(n, -0x1.62e43p-1f, x);
    r = fma(n, 0x1.05c61p-29f, r);
    float p = 0x1.6d10fep-10f;
    p = fma(p, r, 0x1.120b64p-7f);
    p = fma(p, r, 0x1.55551ap-5f);
    p = fma(p, r, 0x1.5554dep-3f);
    p = fma(p, r, 0x1p-1f);
    p = fma(p, r, 1);
    p = fma(p, r, 1);
    float y = number(bits(p) + (bits(t) << 23));
    if (x != x)
        y = x;
    return x < -86.5f ? 0 : y;
}

// y = exp(scale x - max) / sum of these
KERNEL(THREADS) softmax(float *__restrict__ y, const float *__restrict__ x, float scale, int columns) {
    SHARED static float part[WAVES];
    long row = (long)block_x() * columns;
    float most = Max::none;
    for (int i = thread(); i < columns; i += THREADS)
        most = Max::join(most, x[row + i] * scale);
    most = join_block<Max, WAVES>(most, part);
    float sum = 0;
    for (int i = thread(); i < columns; i += THREADS) {
        float e = exp_negative(x[row + i] * scale - most);
        y[row + i] = e;
        sum += e;
    }
    sum = join_block<Sum, WAVES>(sum, part);
    // Each thread reads what it has written itself.
    for (int i = thread(); i < columns; i += THREADS)
        y[row + i] = y[row + i] / sum;
}
